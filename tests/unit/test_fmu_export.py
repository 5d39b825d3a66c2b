"""The native plant as an FMU, run through fmpy against the native plant."""

from __future__ import annotations

import shutil
import zipfile

import numpy as np
import pytest

import twin_gym as tg
from twin_gym import cli
from twin_gym.cooling import Controls, Plant
from twin_gym.cooling.export import export_fmu, mapping_of
from twin_gym.cooling.fmu import FmuError, FmuPlant
from twin_gym.kernels.cooling import OUTPUT

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed to build the FMU")


def swinging(cdus: int, megawatts: float, steps: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    levels = np.interp(np.arange(steps), np.linspace(0, steps - 1, 20), rng.uniform(0.2, 1.0, 20))
    heat = levels[:, None] * rng.uniform(0.8, 1.2, (steps, cdus)) * megawatts * 1e6 / cdus
    return heat, np.linspace(2.0, 24.0, steps)


@needs_compiler
@pytest.mark.parametrize(("name", "megawatts"), [("frontier", 28.0), ("fugaku", 25.0), ("adastra", 0.8)])
def test_trajectories_are_those_of_the_native_plant(name, megawatts, tmp_path):
    from fmpy.validation import validate_fmu

    system = tg.System.load(name)
    native = Plant(system.cooling, system.cdus)
    heat, weather = swinging(system.cdus, megawatts)
    native.reset(heat[0], weather[0])
    path = export_fmu(native, tmp_path / "plant.fmu")
    assert validate_fmu(str(path)) == []
    unit = FmuPlant(path, mapping_of(60.0), system.cdus)
    for controls in (None, Controls(tower_set=18.0, primary_flow=250.0), Controls(fan=0.6, cdu_set=33.0)):
        expected = native.run(heat, weather, 60.0, controls)
        found = unit.run(heat, weather, 60.0, controls)
        for column in OUTPUT.names:
            np.testing.assert_allclose(
                found.steps[column], expected.steps[column], rtol=1e-6, atol=1e-6, err_msg=column
            )
        for column in ("supplies", "returns", "flows"):
            np.testing.assert_allclose(getattr(found, column), getattr(expected, column), rtol=1e-6)
        if controls is None:
            assert len(np.unique(expected.steps["cells"])) > 1 or name == "adastra"
        native.restore(state := native.snapshot())
        assert state is not None
        unit.reset(heat[0], weather[0])
        native.reset(heat[0], weather[0])
    kept = unit.snapshot()
    first = unit.run(heat[:50], weather[:50], 60.0).cooling_power
    unit.restore(kept)
    np.testing.assert_array_equal(unit.run(heat[:50], weather[:50], 60.0).cooling_power, first)
    unit.close()


@needs_compiler
def test_the_source_is_inside(tmp_path):
    system = tg.System.load("adastra")
    path = export_fmu(Plant(system.cooling, system.cdus), tmp_path / "deep" / "plant.fmu")
    names = zipfile.ZipFile(path).namelist()
    assert {"modelDescription.xml", "sources/plant.c", "sources/parameters.h"} < set(names)


@needs_compiler
def test_the_command_line_writes_one(tmp_path, capsys):
    target = str(tmp_path / "plant.fmu")
    assert cli.main(["export-fmu", "adastra", target]) == 0
    assert "written to" in capsys.readouterr().out
    for words, sentence in (
        (["adastra", target], "exists already"),
        (["uniform", str(tmp_path / "b.fmu")], "describes no cooling plant"),
        (["adastra", "plant.zip"], "must end in .fmu"),
        (["adastr", str(tmp_path / "c.fmu")], "Did you mean 'adastra'"),
    ):
        assert cli.main(["export-fmu", *words]) == 2
        assert sentence in capsys.readouterr().err


def test_without_a_compiler_that_is_told(tmp_path, monkeypatch):
    system = tg.System.load("adastra")
    plant = Plant(system.cooling, system.cdus)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FmuError, match="install gcc"):
        export_fmu(plant, tmp_path / "plant.fmu")
