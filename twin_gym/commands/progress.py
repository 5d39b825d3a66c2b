"""A progress bar on the terminal for whatever reports (done, of all); silent where nobody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from twin_gym.commands.tables import amount, console
from twin_gym.commands.times import clock_of

if TYPE_CHECKING:
    from twin_gym.twin import Twin

Report = Callable[[int, int], None]


@contextmanager
def bar(text: str, *, wanted: bool = True) -> Iterator[Report | None]:
    """Show a progress bar on stderr while the block runs; it vanishes afterwards.

    Parameters
    ----------
    text : str
        What is going on.
    wanted : bool
        False: show nothing.

    Yields
    ------
    callable or None
        To be called with (done, all); None where stderr is no terminal.
    """
    out = console(stderr=True)
    if not (wanted and out.is_terminal):
        yield None
        return
    from rich.progress import Progress

    with Progress(console=out, transient=True) as display:
        task = display.add_task(text, total=None)
        yield lambda done, total: display.update(task, completed=done, total=total)


@contextmanager
def live(
    text: str, *, idle_w: float = 0.0, pue: Callable[[Twin], float] | None = None, wanted: bool = True
) -> Iterator[dict[str, Any]]:
    """Show a run while it goes on: progress and time left, and below them the state of the twin.

    Parameters
    ----------
    text : str
        What is going on.
    idle_w : float
        What the idle machine draws, W, for the power of a twin that follows it.
    pue : callable, optional
        Returns the PUE of a twin.
    wanted : bool
        False: show nothing.

    Yields
    ------
    dict
        ``progress`` and ``watch`` for `twin_gym.simulate`; empty where stderr is no terminal.
    """
    out = console(stderr=True)
    if not (wanted and out.is_terminal):
        yield {}
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=out, transient=True) as display:
        task = display.add_task(text, total=None, state="")
        yield {
            "progress": lambda done, total: display.update(task, completed=done, total=total),
            "watch": lambda twin: display.update(task, state=state_of(twin, idle_w, pue)),
        }


def state_of(twin: Twin, idle_w: float = 0.0, pue: Callable[[Twin], float] | None = None) -> str:
    """Return clock, queue, running jobs, busy nodes, power and PUE (if they are followed) of a twin in one line."""
    epoch = twin.workload.epoch if twin.workload.epoch_known else None
    parts = [
        clock_of(twin.clock, epoch),
        f"{twin.waiting:,} waiting",
        f"{twin.running:,} running",
        f"{100 * twin.utilization:.0f} % busy",
    ]
    if twin.drawn is not None:
        parts.append(amount(idle_w + twin.drawn, "W"))
        if pue is not None:
            parts.append(f"PUE {pue(twin):.3f}")
    return ", ".join(parts)
