"""`twin-gym policies` and `twin-gym systems`: what there is to choose from."""

from __future__ import annotations

from twin_gym.commands.tables import console, table
from twin_gym.commands.words import Parser

_BACKFILLS = {
    "none": ("nothing overtakes the head of the queue", ""),
    "firstfit": ("whatever fits starts; the head may starve", ""),
    "easy": (
        "a job may overtake if it does not delay the first `depth` waiting jobs",
        "Lifka 1995; Mu'alem, Feitelson, TPDS 2001",
    ),
    "conservative": ("a job may overtake if it delays no job before it", "Mu'alem, Feitelson, TPDS 2001"),
}


def run(name: str, words: list[str]) -> int:
    """Print one of the two lists."""
    return _policies(words) if name == "policies" else _systems(words)


def _policies(words: list[str]) -> int:
    parser = Parser(
        "policies",
        "The ordering policies (policy=NAME) and backfill modes (backfill=NAME), with formulas and sources.",
        "  twin-gym policies\n  twin-gym policies | grep -i slurm\n  twin-gym simulate policy=wfp3 backfill=easy",
    )
    parser.parse_args(words)
    from twin_gym.policies import TABLE

    orders = table("Ordering policies: the job with the largest score is first")
    orders.add_column("policy", style="bold")
    orders.add_column("score")
    orders.add_column("moves", justify="center")
    orders.add_column("source", style="dim")
    for policy in TABLE.values():
        orders.add_row(policy.name, policy.formula, "yes" if policy.moves else "", policy.source)
    out = console()
    out.print(orders)
    out.print(
        "w wait so far [s], t requested walltime [s], n requested nodes, s submit time since the first submit [s],\n"
        "z longest wait in the queue [s], l shortest request in the queue [s]; moves: the order changes with time.\n",
        highlight=False,
        markup=False,
    )
    modes = table("Backfill modes")
    modes.add_column("backfill", style="bold")
    modes.add_column("what may overtake")
    modes.add_column("source", style="dim")
    for mode, (rule, source) in _BACKFILLS.items():
        modes.add_row(mode, rule, source)
    out.print(modes)
    return 0


def _systems(words: list[str]) -> int:
    parser = Parser(
        "systems",
        "The machines that are described already (system=NAME).",
        "  twin-gym systems\n  twin-gym simulate system=frontier\n  twin-gym simulate system.nodes=256",
    )
    parser.parse_args(words)
    from twin_gym.system import System

    systems = table("Systems")
    systems.add_column("system", style="bold")
    systems.add_column("nodes", justify="right")
    for system in map(System.load, System.names()):
        systems.add_row(system.name, f"{system.nodes:,}")
    console().print(systems)
    return 0
