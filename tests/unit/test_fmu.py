"""FMUs in the native plant's place: built here from C, with and without get/set state, FMI 2 and 3."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.cooling import Controls
from twin_gym.cooling.fmu import FmuError, FmuMapping, FmuPlant, Variable
from twin_gym.errors import OptionError

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
if shutil.which("gcc") is None:
    pytest.skip("gcc is needed to build the FMUs", allow_module_level=True)

SOURCE = Path(__file__).resolve().parents[1] / "fmu" / "plant.c"
HEADERS = Path(fmpy.__file__).parent / "c-code"
FLAGS = {"fmi2": [], "bare": ["-DNO_STATE"], "fmi3": ["-DFMI3"]}
NAMES = {1: "heat_1", 2: "heat_2", 3: "heat_3", 4: "wet_bulb", 5: "wish", 11: "t_1", 12: "t_2", 13: "t_3", 14: "power"}
MAPPING = FmuMapping(
    heat=Variable("heat_{i}", "W"),
    wet_bulb=Variable("wet_bulb", "K"),
    controls={"cdu_set": Variable("wish", "K")},
    outputs={"cdu_return": Variable("t_{i}", "K"), "cooling_power": Variable("power", "kW")},
    step=5.0,
)


def description(kind: str) -> str:
    """The model description, for FMI 2 or 3."""
    variables = []
    for reference, name in NAMES.items():
        causality = "input" if reference < 10 else "output"
        start = ' start="0"' if causality == "input" else ""
        if kind == "fmi3":
            variables.append(f'<Float64 name="{name}" valueReference="{reference}" causality="{causality}"{start}/>')
        else:
            variables.append(
                f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}"><Real{start}/>'
                "</ScalarVariable>"
            )
    if kind == "fmi3":
        outputs = "".join(f'<Output valueReference="{r}"/>' for r in NAMES if r > 10)
        return (
            '<fmiModelDescription fmiVersion="3.0" modelName="plant" instantiationToken="plant">'
            '<CoSimulation modelIdentifier="plant" canGetAndSetFMUState="true"/>'
            f"<ModelVariables>{''.join(variables)}</ModelVariables><ModelStructure>{outputs}</ModelStructure>"
            "</fmiModelDescription>"
        )
    state = "true" if kind == "fmi2" else "false"
    outputs = "".join(f'<Unknown index="{i + 1}"/>' for i, r in enumerate(NAMES) if r > 10)
    return (
        '<fmiModelDescription fmiVersion="2.0" modelName="plant" guid="plant">'
        f'<CoSimulation modelIdentifier="plant" canGetAndSetFMUstate="{state}"/>'
        f"<ModelVariables>{''.join(variables)}</ModelVariables>"
        f"<ModelStructure><Outputs>{outputs}</Outputs></ModelStructure></fmiModelDescription>"
    )


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, made = tmp_path_factory.mktemp("fmu"), {}
    for kind, flags in FLAGS.items():
        library, rest = folder / f"{kind}.so", folder / f"{kind}-rest.c"
        # a unit must have every function of the standard; what the plant does not need fails
        header = (HEADERS / f"{'fmi3' if kind == 'fmi3' else 'fmi2'}Functions.h").read_text()
        names = re.findall(r"^\s*FMI\d_Export\s+\w+TYPE\s+(\w+);", header, re.MULTILINE)
        rest.write_text("".join(f"__attribute__((weak)) int {name}(void) {{ return 3; }}\n" for name in names))
        options = ["-O1", "-shared", "-fPIC", *flags, f"-I{HEADERS}"]
        subprocess.run(["gcc", *options, str(SOURCE), str(rest), "-o", str(library)], check=True)
        made[kind] = folder / f"{kind}.fmu"
        place = fmpy.platform_tuple if kind == "fmi3" else fmpy.platform
        with zipfile.ZipFile(made[kind], "w") as archive:
            archive.writestr("modelDescription.xml", description(kind))
            archive.write(library, f"binaries/{place}/plant{fmpy.sharedLibraryExtension}")
    return made


def truth(heat: np.ndarray, wet_bulb: np.ndarray, parts: int, wish: float = -1e9) -> tuple[np.ndarray, np.ndarray]:
    """What the C code does, in Python: temperatures [degC] and power [W] at the end of each step."""
    temperature, temperatures, powers = np.full(3, 20.0), [], []
    for row, weather in zip(heat, wet_bulb, strict=True):
        for _ in range(parts):
            cooled = 5e4 * (temperature - max(wish, weather))
            temperature = temperature + 5.0 * (row - cooled) / 4e6
        temperatures.append(temperature)
        powers.append(0.05 * cooled.sum())
    return np.array(temperatures), np.array(powers)


HEAT = np.random.default_rng(0).uniform(1e5, 9e5, (40, 3))
WEATHER = np.linspace(5.0, 15.0, 40)


@pytest.mark.parametrize("kind", FLAGS)
def test_units_steps_and_names_are_reconciled(kind, fmus):
    plant = FmuPlant(fmus[kind], MAPPING, 3)
    plant.reset(np.zeros(3), 10.0)
    history = plant.run(HEAT, WEATHER, step=15.0)
    temperatures, powers = truth(HEAT, WEATHER, parts=3)
    np.testing.assert_allclose(history.returns, temperatures, rtol=1e-9)
    np.testing.assert_allclose(history.cooling_power, powers, rtol=1e-9)
    assert np.isnan(history.supply).all()  # it has no such variable
    plant.close()


@pytest.mark.parametrize("kind", ["fmi2", "fmi3"])
def test_a_state_is_kept_and_given_back(kind, fmus):
    plant = FmuPlant(fmus[kind], MAPPING, 3)
    plant.reset(np.zeros(3), 10.0)
    plant.run(HEAT[:20], WEATHER[:20])
    kept = plant.snapshot()
    first = plant.run(HEAT[20:], WEATHER[20:]).returns
    plant.restore(kept)
    np.testing.assert_array_equal(plant.run(HEAT[20:], WEATHER[20:]).returns, first)
    plant.close()


def test_one_without_a_state_says_so_and_begins_anew_all_the_same(fmus):
    plant = FmuPlant(fmus["bare"], MAPPING, 3)
    plant.reset(np.zeros(3), 10.0)
    first = plant.run(HEAT, WEATHER).returns
    with pytest.raises(FmuError, match="can't fork"):
        plant.snapshot()
    plant.reset(np.zeros(3), 10.0)  # one instance for each process: the old one is freed before
    np.testing.assert_array_equal(plant.run(HEAT, WEATHER).returns, first)
    plant.close()


def test_an_operators_wish_reaches_it(fmus):
    plant = FmuPlant(fmus["fmi2"], MAPPING, 3)
    plant.reset(np.zeros(3), 10.0)
    history = plant.run(HEAT, WEATHER, 15.0, Controls(cdu_set=25.0))
    np.testing.assert_allclose(history.returns, truth(HEAT, WEATHER, 3, wish=25.0)[0], rtol=1e-9)
    plant.close()


def test_it_settles_before_a_run(fmus):
    plant = FmuPlant(fmus["fmi2"], FmuMapping(**{**vars(MAPPING), "settle": 7200.0}), 3)
    plant.reset(np.full(3, 5e5), 10.0)
    assert plant.step(np.full(3, 5e5), 10.0, 5.0).returns[0] == pytest.approx([20.0, 20.0, 20.0])  # 10 + 5e5 / 5e4
    plant.close()


def test_a_mapping_in_a_file(fmus, tmp_path):
    text = (
        "heat: {name: 'heat_{i}', unit: W}\nwet_bulb: {name: wet_bulb, unit: K}\n"
        "outputs:\n  cdu_return: {name: 't_{i}', unit: K}\n  cooling_power: {name: power, unit: kW}\nstep: 5.0\n"
    )
    (tmp_path / "mapping.yaml").write_text(text)
    plant = FmuPlant(fmus["fmi2"], tmp_path / "mapping.yaml", 3)
    plant.reset(np.zeros(3), 10.0)
    np.testing.assert_allclose(plant.run(HEAT, WEATHER).returns, truth(HEAT, WEATHER, 3)[0], rtol=1e-9)
    plant.close()
    for wrong, message in (
        (text.replace("step:", "stepp:"), "Did you mean 'step'"),
        (text.replace("unit: kW", "unit: horsepower"), "unit 'horsepower'"),
        (text.replace("cooling_power", "coling_power"), "Did you mean 'cooling_power'"),
        (text.replace("wet_bulb: {name: wet_bulb, unit: K}\n", ""), "'wet_bulb' is missing"),
    ):
        (tmp_path / "wrong.yaml").write_text(wrong)
        with pytest.raises(FmuError, match=message):
            FmuMapping.load(tmp_path / "wrong.yaml")


def test_a_facility_is_cooled_by_it(fmus):
    data = tg.System.uniform(nodes=6).to_dict()
    (part,) = data["partitions"].values()
    part["topology"] |= {"cdus": 3, "racks_per_cdu": 1, "nodes_per_rack": 2, "chassis_per_rack": 1}
    system = tg.System.from_dict(data)
    log = tg.Workload.build(id=[1], submit=[0], runtime=[3600], requested_time=[3600], nodes=[6])
    plant = FmuPlant(fmus["fmi2"], MAPPING, 3)
    facility = tg.operate(tg.simulate(system, log), system, plant=plant, weather=10.0, resolution=60)
    _, powers = truth(np.repeat(facility.power.heat()[:1], 60, axis=0), np.full(60, 10.0), parts=12)
    np.testing.assert_allclose(facility.table["cooling"], powers, rtol=1e-9)
    assert facility.summary["pue"] > 1.0
    assert "primary_pumps" not in facility.plant.frame()
    plant.close()


def test_mistakes_are_one_sentence(fmus, tmp_path):
    with pytest.raises(FmuError, match="no FMU"):
        FmuPlant(tmp_path / "none.fmu", MAPPING, 3)
    (tmp_path / "text.fmu").write_text("no archive")
    with pytest.raises(FmuError, match="can be read"):
        FmuPlant(tmp_path / "text.fmu", MAPPING, 3)
    with pytest.raises(FmuError, match="'heat_4', which the mapping names as heat"):
        FmuPlant(fmus["fmi2"], MAPPING, 4)
    other = FmuMapping(**{**vars(MAPPING), "outputs": {"supply": Variable("t_0", "K")}})
    with pytest.raises(FmuError, match=r"'t_0'.*outputs\.supply"):
        FmuPlant(fmus["fmi2"], other, 3)
    with zipfile.ZipFile(tmp_path / "elsewhere.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", description("fmi2"))
        archive.writestr("binaries/win64/plant.dll", b"")
    with pytest.raises(FmuError, match=r"no binary for this platform.*win64"):
        FmuPlant(tmp_path / "elsewhere.fmu", MAPPING, 3)
    plant = FmuPlant(fmus["fmi2"], MAPPING, 3)
    with pytest.raises(OptionError, match="no whole multiple"):
        plant.run(HEAT, WEATHER, step=7.0)
    plant.reset(np.zeros(3), 10.0)
    with pytest.raises(FmuError, match="failed at"):
        plant.run(np.full((3000, 3), 9e6), np.full(3000, 10.0))
    plant.close()
