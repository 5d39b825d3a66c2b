"""Job logs of others, and synthetic ones, as workloads.

>>> workload = twin_gym.datasets.load("swf", "KTH-SP2-1996-2.1-cln.swf.gz")

A loader is a module of this package with a function ``load(path, **options) -> Workload``; its name is the module's.
`catalogue` and `fetch` know the public data sets and get them, `lookalike.fake` makes files like theirs.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from inspect import Parameter, signature
from os import PathLike
from typing import Any

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import Workload

from ._cache import kept
from ._catalogue import catalogue, fetched
from ._fetch import fetch

__all__ = ["catalogue", "fetch", "fetched", "load", "names", "options_of"]

OTHERS = {"lookalike"}
"""Public modules of this package that are no loaders."""

TRANSIENT = ("progress",)
"""Options that don't decide about the result."""


def names() -> list[str]:
    """Return the names of all loaders; modules whose name begins with an underscore are none."""
    found = {module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")}
    return sorted(found - OTHERS)


def options_of(name: str) -> dict[str, Any]:
    """Return the options of a loader with their defaults.

    Raises
    ------
    OptionError
        If there is no such loader.
    """
    parameters = signature(_module(name).load).parameters
    return {option: it.default for option, it in parameters.items() if it.kind is Parameter.KEYWORD_ONLY}


def load(name: str, path: Any = None, *, cache: bool | str | PathLike[str] = True, **options: Any) -> Workload:
    """Read or make a workload.

    Parameters
    ----------
    name : str
        Name of the loader, one of `names`.
    path : str, path or file object, optional
        What it shall read; loaders that make their jobs need none. Default: where `fetch` put the data set.
    cache : bool or path
        Whether the workload is kept as Parquet, so that it is read faster the next time: True, in the user's cache
        directory if the source is large; a folder, there in any case; False, not at all. A source, an option or a
        version of twin_gym that has changed makes it read anew.
    **options
        Options of the loader, see its ``load``.

    Raises
    ------
    OptionError
        If there is no such loader or it has no such option.
    WorkloadError
        If the file can't be used.
    """
    module = _module(name)
    known = options_of(name)
    for option in options:
        if option not in known:
            raise OptionError(f"The loader '{name}' has no option '{option}'.{suggest(option, known)}")
    if path is None and next(iter(signature(module.load).parameters.values())).default is Parameter.empty:
        path = fetched(name)
    deciding = {option: value for option, value in options.items() if option not in TRANSIENT}

    def read() -> Workload:
        workload: Workload = module.load(path, **options)
        return workload

    return kept(name, path, deciding, cache, read)


def _module(name: str) -> Any:
    if name not in names():
        raise OptionError(f"There is no loader '{name}'.{suggest(name, names())}")
    return import_module(f"{__name__}.{name}")
