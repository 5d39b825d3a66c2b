"""`twin-gym demo`: what twin_gym does, in one minute and without any file; `make demo` runs it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from twin_gym.commands import compare, evolve
from twin_gym.commands.tables import console
from twin_gym.commands.words import Parser

_NODES, _JOBS = 32, 50  # few enough to see every job in a Gantt chart
_SEARCH = ["generations=60"]
_POLICIES = "policies=[fcfs,sjf,saf,wfp3,f1]"


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    parser = Parser(
        name,
        "Make a synthetic job log (the model of Lublin and Feitelson), reschedule it under five policies with and\n"
        "without EASY backfill, print the comparison and draw it; then search a priority function that does better\n"
        "(if cma is installed). Nothing is needed, nothing is downloaded.",
        "  twin-gym demo\n  twin-gym demo --out /tmp/demo",
    )
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="directory to write (default: runs/demo)")
    out_dir: Path = parser.parse_args(words).out
    out = console()
    command = [_POLICIES, "backfills=[none,easy]"]
    out.print(
        "A synthetic log of 10,000 jobs, which ask for 80 % of a machine of 256 nodes, under five policies:\n"
        f"  twin-gym compare {' '.join(command)}\n",
        markup=False,
        highlight=False,
    )
    compare.run("compare", [*command, f"out={out_dir}", "overwrite=true"])
    _draw_schedules(out_dir / "figures")
    if find_spec("cma") is not None:
        out.print(
            "\nA priority function, searched on the first 70 % of the log and held against policies on later windows:\n"
            f"  twin-gym evolve {' '.join(_SEARCH)}\n",
            markup=False,
            highlight=False,
        )
        evolve.run("evolve", [*_SEARCH, f"out={out_dir / 'learned'}", "overwrite=true"])
    out.print("\nPictures")
    for picture in (*sorted((out_dir / "figures").glob("*.png")), *sorted(out_dir.glob("learned/*.png"))):
        out.print(f"  {picture}", markup=False, highlight=False, soft_wrap=True)
    out.print(
        "\nNext\n"
        "  twin-gym simulate policy=sjf backfill=easy           one run, with everything about every job\n"
        "  twin-gym compare workload=LOG.swf.gz                 the same with a log of yours\n"
        "  twin-gym --help",
        markup=False,
        highlight=False,
    )
    return 0


def _draw_schedules(folder: Path) -> None:
    """Draw who ran when, without and with EASY backfill, for a log that is small enough to be seen."""
    from twin_gym import plots
    from twin_gym.datasets import load
    from twin_gym.simulate import simulate
    from twin_gym.system import System

    workload = load(
        "synthetic", model="uniform", jobs=_JOBS, capacity=_NODES, load=0.9, max_runtime=6 * 3600, requests=1.5
    )
    for backfill in ("none", "easy"):
        result = simulate(System.uniform(_NODES), workload, "fcfs", backfill, placement="contiguous")
        plots.gantt(result).savefig(folder / f"gantt-fcfs-{backfill}.png")
