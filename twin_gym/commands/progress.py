"""A progress bar on the terminal for whatever reports (done, of all); silent where nobody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from twin_gym.commands.tables import console

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
