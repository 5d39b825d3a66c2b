"""`twin-gym export-fmu SYSTEM FILE`: a system's native cooling plant as an FMU."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from twin_gym.commands.tables import console
from twin_gym.commands.words import Parser
from twin_gym.errors import OptionError


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    parser = Parser(
        name,
        "Write a system's cooling plant as an FMU: FMI 2.0, co-simulation, C source and a binary for this platform.\n"
        "It begins at rest under the given power and weather. Needs gcc and twin-gym[fmu].",
        "  twin-gym export-fmu frontier frontier.fmu\n"
        "  twin-gym export-fmu mine.yaml plant.fmu --megawatts 2.5 --wet-bulb 18",
    )
    parser.add_argument("system", help="one of `twin-gym systems`, or a YAML file")
    parser.add_argument("target", help="the file to write")
    parser.add_argument("--megawatts", type=float, help="power of the machine at the beginning (half the design)")
    parser.add_argument("--wet-bulb", type=float, default=15.0, help="at the beginning, degC (15)")
    parser.add_argument("--overwrite", action="store_true", help="replace the target if it exists")
    given = parser.parse_args(words)
    if not given.target.endswith(".fmu"):
        raise OptionError(f"{given.target} must end in .fmu.")
    if Path(given.target).exists() and not given.overwrite:
        raise OptionError(f"{given.target} exists already; name another file, or add --overwrite.")
    from twin_gym.cooling import Plant
    from twin_gym.cooling.export import export_fmu
    from twin_gym.system import System

    system = System.load(given.system)
    if system.cooling is None:
        raise OptionError(f"{system.name} describes no cooling plant; choose another system.")
    watts = 1e6 * given.megawatts if given.megawatts is not None else system.cooling.design_power_w / 2
    plant = Plant(system.cooling, system.cdus)
    plant.reset(np.full(system.cdus, watts / system.cdus), given.wet_bulb)
    path = export_fmu(plant, given.target, given.wet_bulb)
    console().print(f"{system.name}'s plant with {system.cdus} CDUs written to {path}", markup=False, soft_wrap=True)
    return 0
