"""The parser of the small commands: argparse whose complaints are one sentence like everybody else's."""

from __future__ import annotations

import argparse
from typing import NoReturn

from twin_gym.errors import OptionError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `OptionError` instead of printing its usage and leaving."""

    def __init__(self, name: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"twin-gym {name}",
            description=description,
            epilog=f"examples\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the complaint as an error that names the command's help."""
        raise OptionError(f"{message[:1].upper()}{message[1:]}; see `{self.prog} --help`.")
