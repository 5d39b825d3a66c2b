"""Writes the native plant as an FMU: FMI 2.0, co-simulation, C source and a binary for this platform inside."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from twin_gym.cooling.fmu import FmuError, FmuMapping, Variable
from twin_gym.cooling.plant import Plant, unit_of
from twin_gym.kernels.cooling import CONTROL, MEMORY, OUTPUT, PARAMETERS

AUTOMATIC = -1000.0
"""A control at or below this leaves the plant's own controls alone."""
_MODEL = "twin_gym_plant"
_PER_CDU = (("heat", 1_000_000), ("cdu_supply", 2_000_000), ("cdu_return", 3_000_000), ("cdu_flow", 4_000_000))


def export_fmu(plant: Plant, path: str | Path, wet_bulb: float = 15.0) -> Path:
    """Write a plant, in its present state, as an FMU.

    Parameters
    ----------
    plant : Plant
        Its parameters and the state in which the FMU begins.
    path : path
        The file to write, ``.fmu``.
    wet_bulb : float
        What the FMU takes it to be until somebody sets it, degC.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FmuError
        If fmpy (whose FMI headers are used) or a C compiler is missing, or the file can't be written.
    """
    try:
        import fmpy
    except ImportError:
        raise FmuError("writing an FMU needs the package fmpy: pip install 'twin-gym[fmu]'.") from None
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise FmuError("writing an FMU needs a C compiler: install gcc.")
    source = files("twin_gym.cooling").joinpath("plant.c").read_text(encoding="utf-8")
    body = _header(plant, wet_bulb)
    guid = hashlib.sha256((source + body).encode()).hexdigest()[:32]
    header = f'#define GUID "{guid}"\n{body}'
    target = Path(path)
    with tempfile.TemporaryDirectory(prefix="twin_gym-export-") as name:
        folder = Path(name)
        (folder / "plant.c").write_text(source, encoding="utf-8")
        (folder / "parameters.h").write_text(header, encoding="utf-8")
        headers = Path(fmpy.__file__).parent / "c-code"
        library = folder / f"{_MODEL}{fmpy.sharedLibraryExtension}"
        # -ffp-contract=off: no fused multiplications, which would round otherwise than the native plant
        options = ["-O2", "-std=c99", "-ffp-contract=off", "-shared", "-fPIC", f"-I{headers}", f"-I{folder}"]
        done = subprocess.run(
            [compiler, *options, str(folder / "plant.c"), "-o", str(library), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise FmuError(f"the C compiler failed: {' '.join(done.stderr.split())[:300]}")
        try:
            with zipfile.ZipFile(folder / "unit.fmu", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("modelDescription.xml", _description(plant, guid))
                archive.write(library, f"binaries/{fmpy.platform}/{library.name}")
                for item in ("plant.c", "parameters.h"):
                    archive.write(folder / item, f"sources/{item}")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / "unit.fmu", target)
        except OSError as error:
            raise FmuError(f"{path} can't be written: {error.strerror or error}.") from None
    return target


def mapping_of(step: float) -> FmuMapping:
    """Return what the variables of an exported plant mean, for `FmuPlant`.

    Parameters
    ----------
    step : float
        Communication step, s.
    """
    outputs = {name: Variable(name) for name in OUTPUT.names or ()}
    outputs |= {name: Variable(f"{name}_{{i}}") for name, _ in _PER_CDU[1:]}
    controls = {name: Variable(f"ask_{name}") for name in CONTROL.names or ()}
    return FmuMapping(Variable("heat_{i}", "W"), Variable("wet_bulb", "degC"), controls, outputs, first=0, step=step)


def _number(value: float) -> str:
    return "HUGE_VAL" if np.isinf(value) else repr(float(value))


def _row(values: np.ndarray) -> str:
    return "{" + ", ".join(_number(value) for value in values) + "}"


def _header(plant: Plant, wet_bulb: float) -> str:
    """Return the parameters and the present state as C definitions."""
    parameters, state = plant.parameters, plant.snapshot()
    lines = [f"#define CDUS {plant.cdus}", f"#define P_step {_number(plant.longest_step)}"]
    lines += [f"#define P_{name} {_number(parameters[name])}" for name in PARAMETERS.names or ()]
    for name in MEMORY.names or ():
        value = state.memory[0][name]
        lines.append(f"#define S_{name} {_row(value) if np.ndim(value) else _number(value)}")
    lines += [f"#define S_loop {_row(state.loop)}", f"#define S_valves {_row(state.valves)}"]
    return "\n".join([*lines, f"#define S_wet_bulb {_number(wet_bulb)}"]) + "\n"


def _description(plant: Plant, guid: str) -> str:
    """Return the model description."""
    variables, outputs = [], []

    def add(name: str, reference: int, causality: str, unit: str, start: float | None = None) -> None:
        attributes = (
            f"name={quoteattr(name)} valueReference={quoteattr(str(reference))} causality={quoteattr(causality)}"
        )
        begin = "" if start is None else f" start={quoteattr(repr(start))}"
        initial = "" if start is not None else ' initial="exact"'
        begin = begin or ' start="0.0"'
        variables.append(
            f"<ScalarVariable {attributes}{initial}><Real unit={quoteattr(unit)}{begin}/></ScalarVariable>"
        )
        if causality == "output":
            outputs.append(len(variables))

    add("wet_bulb", 0, "input", "degC", 15.0)
    for k, name in enumerate(CONTROL.names or ()):
        add(f"ask_{name}", 1 + k, "input", unit_of(name), AUTOMATIC)
    for i in range(plant.cdus):
        add(f"heat_{i}", _PER_CDU[0][1] + i, "input", "W", 0.0)
    for k, name in enumerate(OUTPUT.names or ()):
        add(name, 10 + k, "output", unit_of(name))
    for name, first in _PER_CDU[1:]:
        for i in range(plant.cdus):
            add(f"{name}_{i}", first + i, "output", unit_of(name))
    units = sorted({unit_of(name) for name in (*(OUTPUT.names or ()), "heat")} | {"degC", "1"})
    listed = "".join(f"<Unit name={quoteattr(unit)}/>" for unit in units)
    unknown = "".join(f'<Unknown index="{index}"/>' for index in outputs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="2.0" modelName="twin_gym cooling plant" guid="{guid}" '
        'generationTool="twin_gym" variableNamingConvention="flat">'
        f'<CoSimulation modelIdentifier="{_MODEL}" canHandleVariableCommunicationStepSize="true" '
        'canGetAndSetFMUstate="true" canSerializeFMUstate="true">'
        '<SourceFiles><File name="plant.c"/></SourceFiles></CoSimulation>'
        f"<UnitDefinitions>{listed}</UnitDefinitions><ModelVariables>{''.join(variables)}</ModelVariables>"
        f"<ModelStructure><Outputs>{unknown}</Outputs></ModelStructure>"
        "</fmiModelDescription>\n"
    )
