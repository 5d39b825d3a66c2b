"""`FmuPlant`: somebody else's cooling model as a plant: a functional mock-up unit (FMI 2 or 3, co-simulation).

A mapping says which of its variables mean what; see ``docs/models/cooling.md``. Its own communication step and the
twin's are reconciled: a step of the twin is divided into whole steps of the unit.
"""

from __future__ import annotations

import math
import platform
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.cooling.plant import Controls, PlantHistory
from twin_gym.errors import OptionError, TwinGymError, suggest
from twin_gym.kernels.cooling import CONTROL, OUTPUT
from twin_gym.system_schema import load_yaml

Floats = npt.NDArray[np.float64]

KELVIN = 273.15
_SCALES = {
    "": (1.0, 0.0),
    "degC": (1.0, 0.0),
    "K": (1.0, -KELVIN),
    "W": (1.0, 0.0),
    "kW": (1e3, 0.0),
    "MW": (1e6, 0.0),
    "kg/s": (1.0, 0.0),
    "gpm": (0.0630902 * 0.998, 0.0),
    "1": (1.0, 0.0),
}
"""Units of an FMU's variables: ours = scale * theirs + shift."""


class FmuError(TwinGymError):
    """An FMU that can't be used, or that failed."""


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU and its unit.

    Attributes
    ----------
    name : str
        Its name in the model description; ``{i}`` stands for the number of the CDU.
    unit : str
        One of degC, K, W, kW, MW, kg/s, gpm, 1.
    """

    name: str
    unit: str = ""


@dataclass(frozen=True)
class FmuMapping:
    """Which variables of an FMU mean what.

    Attributes
    ----------
    heat : Variable
        Input: electric power of what a CDU cools; named with ``{i}``, or one for all CDUs together.
    wet_bulb : Variable
        Input.
    controls : mapping of str to Variable
        Inputs, by the names of `Controls`.
    outputs : mapping of str to Variable
        By the names of the native plant's columns (``supply``, ``tower_return``, ``cooling_power`` ...), and
        ``cdu_supply``, ``cdu_return``, ``cdu_flow`` with ``{i}``.
    first : int
        Number of the first CDU in names with ``{i}``.
    step : float
        Communication step of the FMU, s.
    start : float
        Its time when a run begins, s.
    settle : float
        How long it runs under constant heat and weather before a run begins, s.
    """

    heat: Variable
    wet_bulb: Variable
    controls: Mapping[str, Variable] = field(default_factory=dict)
    outputs: Mapping[str, Variable] = field(default_factory=dict)
    first: int = 1
    step: float = 15.0
    start: float = 0.0
    settle: float = 0.0

    @classmethod
    def load(cls, path: str | Path) -> FmuMapping:
        """Read a mapping from a YAML file: ``heat``, ``wet_bulb``, ``controls``, ``outputs``, and the numbers.

        Raises
        ------
        FmuError
            If a key is unknown or missing, or a unit is.
        """
        data, _ = load_yaml(Path(path))
        known = list(cls.__dataclass_fields__)
        for key in data:
            if key not in known:
                raise FmuError(f"{path}: {key!r} is no key of an FMU's mapping.{suggest(str(key), known)}")
        for key in ("heat", "wet_bulb", "outputs"):
            if key not in data:
                raise FmuError(f"{path}: {key!r} is missing; name the FMU's variable.")
        parsed: dict[str, Any] = dict(data)
        for key in ("heat", "wet_bulb"):
            parsed[key] = _variable(data[key], f"{path}: {key}")
        for key, names in (("controls", CONTROL.names or ()), ("outputs", (*(OUTPUT.names or ()), *_PER_CDU))):
            parsed[key] = {}
            for name, value in (data.get(key) or {}).items():
                if name not in names:
                    raise FmuError(f"{path}: {key} has no {name!r}.{suggest(str(name), list(names))}")
                parsed[key][name] = _variable(value, f"{path}: {key}.{name}")
        return cls(**parsed)


_PER_CDU = ("cdu_supply", "cdu_return", "cdu_flow")


def _variable(value: Any, where: str) -> Variable:
    variable = Variable(**value) if isinstance(value, Mapping) else Variable(str(value))
    if variable.unit not in _SCALES:
        raise FmuError(f"{where} has unit {variable.unit!r}.{suggest(variable.unit, [u for u in _SCALES if u])}")
    return variable


class FmuPlant:
    """An FMU in a plant's place, with the face of `Plant`.

    Parameters
    ----------
    path : path
        The ``.fmu`` file.
    mapping : FmuMapping or path
        Which of its variables mean what.
    cdus : int
        CDUs.

    Raises
    ------
    FmuError
        If fmpy is not installed, or the file is no FMU, none for co-simulation, none for this platform, or lacks a
        variable.
    """

    def __init__(self, path: str | Path, mapping: FmuMapping | str | Path, cdus: int) -> None:
        try:
            import fmpy
        except ImportError:
            raise FmuError("FMUs need the package fmpy: pip install 'twin-gym[fmu]'.") from None
        self.mapping = mapping if isinstance(mapping, FmuMapping) else FmuMapping.load(mapping)
        self.path, self.cdus = Path(path), cdus
        if not self.path.is_file():
            raise FmuError(f"there is no FMU {path}; check the path.")
        try:
            self._description = fmpy.read_model_description(str(path), validate=False)
        except Exception as error:
            raise FmuError(f"{path} is no FMU that can be read ({' '.join(str(error).split())[:200]}).") from None
        if self._description.coSimulation is None:
            raise FmuError(f"{path} is not made for co-simulation; export it so.")
        self._known = {variable.name: variable for variable in self._description.modelVariables}
        self._folder = tempfile.mkdtemp(prefix="twin_gym-fmu-")
        self._clean = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        fmpy.extract(str(path), unzipdir=self._folder)
        self._check_platform(fmpy)
        m = self.mapping
        self._heat = self._references(m.heat, "heat")
        self._wet_bulb = self._references(m.wet_bulb, "wet_bulb")
        self._controls = {name: self._references(variable, f"controls.{name}") for name, variable in m.controls.items()}
        self._outputs = {name: self._references(variable, f"outputs.{name}") for name, variable in m.outputs.items()}
        self._slave: Any = None
        self._time = m.start

    def _check_platform(self, fmpy: Any) -> None:
        tuples = {"fmi2": fmpy.platform, "fmi3": getattr(fmpy, "platform_tuple", fmpy.platform)}
        wanted = tuples["fmi3" if self._description.fmiVersion.startswith("3") else "fmi2"]
        here = sorted(folder.name for folder in (Path(self._folder) / "binaries").glob("*"))
        if wanted not in here:
            raise FmuError(
                f"{self.path} holds no binary for this platform, {wanted} ({platform.machine()}); "
                f"it has {', '.join(here) or 'none'}."
            )

    def _references(self, variable: Variable, key: str) -> list[int]:
        """Return the value references of a mapped variable, one or one for each CDU."""
        names = [variable.name]
        if "{i}" in variable.name:
            names = [variable.name.replace("{i}", str(self.mapping.first + i)) for i in range(self.cdus)]
        for name in names:
            if name not in self._known:
                raise FmuError(
                    f"{self.path} has no variable {name!r}, which the mapping names as {key}."
                    f"{suggest(name, list(self._known)[:5000])}"
                )
        return [self._known[name].valueReference for name in names]

    @property
    def can_snapshot(self) -> bool:
        """Whether the FMU can give and take back its state."""
        return bool(self._description.coSimulation.canGetAndSetFMUstate)

    # ------------------------------------------------------------------------------------------------ running

    def reset(self, heat: npt.ArrayLike, wet_bulb: float) -> None:
        """Begin anew and let the FMU settle under constant heat and weather for the mapping's ``settle`` seconds."""
        self._start()
        heat = np.asarray(heat, np.float64).reshape(self.cdus)
        steps = math.ceil(self.mapping.settle / self.mapping.step)
        for _ in range(steps):
            self._set(heat, wet_bulb, None)
            self._do_step(self.mapping.step)

    def _start(self) -> None:
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        if self._slave is not None:
            self._stop()
        version3 = self._description.fmiVersion.startswith("3")
        make = FMU3Slave if version3 else FMU2Slave
        try:
            self._slave = make(
                guid=self._description.guid,
                unzipDirectory=self._folder,
                modelIdentifier=self._description.coSimulation.modelIdentifier,
                instanceName="plant",
            )
            self._slave.instantiate()
            if version3:
                self._slave.enterInitializationMode(startTime=self.mapping.start)
            else:
                self._slave.setupExperiment(startTime=self.mapping.start)
                self._slave.enterInitializationMode()
            self._slave.exitInitializationMode()
        except Exception as error:
            self._slave = None
            raise FmuError(f"{self.path} can't be started ({' '.join(str(error).split())[:200]}).") from None
        self._time = self.mapping.start

    def _stop(self) -> None:
        with suppress(Exception):
            self._slave.terminate()
        with suppress(Exception):
            self._slave.freeInstance()
        self._slave = None

    def _set(self, heat: Floats, wet_bulb: float, controls: Controls | None) -> None:
        scale, shift = _SCALES[self.mapping.heat.unit]
        watts = heat if len(self._heat) > 1 or self.cdus == 1 else [heat.sum()]
        self._write(self._heat, [(value - shift) / scale for value in watts])
        scale, shift = _SCALES[self.mapping.wet_bulb.unit]
        self._write(self._wet_bulb, [(wet_bulb - shift) / scale] * len(self._wet_bulb))
        for name, references in self._controls.items():
            value = None if controls is None else getattr(controls, name)
            if value is not None:
                scale, shift = _SCALES[self.mapping.controls[name].unit]
                self._write(references, [(value - shift) / scale] * len(references))

    def _write(self, references: list[int], values: list[float]) -> None:
        values = [float(value) for value in values]
        if self._description.fmiVersion.startswith("3"):
            self._slave.setFloat64(references, values)
        else:
            self._slave.setReal(references, values)

    def _read(self, references: list[int]) -> list[float]:
        read = self._slave.getFloat64 if self._description.fmiVersion.startswith("3") else self._slave.getReal
        return list(read(references))

    def _do_step(self, seconds: float) -> None:
        try:
            self._slave.doStep(currentCommunicationPoint=self._time, communicationStepSize=seconds)
        except Exception as error:
            raise FmuError(f"{self.path} failed at {self._time:g} s ({' '.join(str(error).split())[:200]}).") from None
        self._time += seconds

    def step(
        self, heat: npt.ArrayLike, wet_bulb: float, seconds: float, controls: Controls | None = None
    ) -> PlantHistory:
        """Let the FMU work for a time; return what it did, one step."""
        return self.run(np.asarray(heat, np.float64).reshape(1, self.cdus), np.array([wet_bulb]), seconds, controls)

    def run(
        self, heat: npt.ArrayLike, wet_bulb: npt.ArrayLike, step: float = 15.0, controls: Controls | None = None
    ) -> PlantHistory:
        """Let the FMU work for T steps; see `Plant.run`. What it has no variable for is NaN.

        Raises
        ------
        OptionError
            If `step` is no whole multiple of the FMU's own step.
        FmuError
            If the FMU fails.
        """
        heat, weather = np.asarray(heat, np.float64), np.asarray(wet_bulb, np.float64)
        if heat.shape != (len(weather), self.cdus):
            raise OptionError(f"heat must hold {len(weather)} rows of {self.cdus} CDUs, not {heat.shape}.")
        parts = round(step / self.mapping.step)
        if parts < 1 or abs(parts * self.mapping.step - step) > 1e-9 * step:
            raise OptionError(
                f"step={step:g} s is no whole multiple of the FMU's own step of {self.mapping.step:g} s; "
                "choose another resolution, or another step in the mapping."
            )
        if self._slave is None:
            self._start()
        out = np.full(len(weather), np.nan, OUTPUT)
        cdus = {name: np.full((len(weather), self.cdus), np.nan) for name in _PER_CDU}
        for t in range(len(weather)):
            self._set(heat[t], float(weather[t]), controls)
            for _ in range(parts):
                self._do_step(self.mapping.step)
            for name, references in self._outputs.items():
                scale, shift = _SCALES[self.mapping.outputs[name].unit]
                values = scale * np.array(self._read(references)) + shift
                if name in cdus:
                    cdus[name][t] = values
                else:
                    out[t][name] = values.sum() if name.endswith(("power", "flow")) else values.mean()
        return PlantHistory(None, float(step), out, cdus["cdu_supply"], cdus["cdu_return"], cdus["cdu_flow"])

    # ------------------------------------------------------------------------------------------------ copying

    def snapshot(self) -> tuple[Any, float]:
        """Keep the present state.

        Raises
        ------
        FmuError
            If the FMU can't give its state.
        """
        if not self.can_snapshot:
            raise FmuError(
                f"{self.path} can't give its state (canGetAndSetFMUstate is false); a twin with it can't fork."
            )
        if self._slave is None:
            self._start()
        get = getattr(self._slave, "getFMUState", None) or self._slave.getFMUstate
        return get(), self._time

    def restore(self, snapshot: tuple[Any, float]) -> None:
        """Go back to a state that was kept."""
        state, self._time = snapshot
        put = getattr(self._slave, "setFMUState", None) or self._slave.setFMUstate
        put(state)

    def close(self) -> None:
        """Free the FMU and its files."""
        if self._slave is not None:
            self._stop()
        self._clean()
