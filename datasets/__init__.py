"""Job logs of others, and synthetic ones, as workloads.

>>> workload = twin_gym.datasets.load("swf", "KTH-SP2-1996-2.1-cln.swf.gz")

A loader is a module of this package with a function ``load(path, **options) -> Workload``; its name is the module's.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import Workload

__all__ = ["load", "names"]


def names() -> list[str]:
    """Return the names of all loaders; modules whose name begins with an underscore are none."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load(name: str, path: Any = None, **options: Any) -> Workload:
    """Read or make a workload.

    Parameters
    ----------
    name : str
        Name of the loader, one of `names`.
    path : str, path or file object, optional
        What it shall read; loaders that make their jobs need none.
    **options
        Options of the loader, see its ``load``.

    Raises
    ------
    OptionError
        If there is no such loader or it has no such option.
    WorkloadError
        If the file can't be used.
    """
    if name not in names():
        raise OptionError(f"There is no loader '{name}'.{suggest(name, names())}")
    module = import_module(f"{__name__}.{name}")
    parameters = signature(module.load).parameters
    known = [option for option, it in parameters.items() if it.kind is Parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise OptionError(f"The loader '{name}' has no option '{option}'.{suggest(option, known)}")
    workload: Workload = module.load(path, **options)
    return workload
