"""How tables look on the terminal, and the table of runs that `simulate -m`, `compare` and `demo` end with."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table


def console(stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; where the output is a file or a pipe, wide enough for every table."""
    terminal = Console(stderr=stderr)
    return terminal if terminal.is_terminal else Console(stderr=stderr, width=160)


def table(title: str) -> Table:
    """Return an empty table in the project's look."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
