"""A digital twin of a supercomputing facility: replay, reschedule and learn on real job logs.

>>> import twin_gym as tg
>>> result = tg.simulate(tg.System.uniform(nodes=100), tg.datasets.load("swf", path), policy="sjf", backfill="easy")

The public names are loaded when they are first used, so that ``import twin_gym`` takes milliseconds.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twin_gym import agents, datasets, envs
    from twin_gym.config import Multifactor, RunConfig, Slowing
    from twin_gym.errors import TwinGymError
    from twin_gym.facility import Facility, operate
    from twin_gym.outages import Outage
    from twin_gym.policies import policies
    from twin_gym.result import Result
    from twin_gym.simulate import compare, simulate
    from twin_gym.states import JobState
    from twin_gym.system import System
    from twin_gym.twin import Twin
    from twin_gym.workload import Workload

    __version__: str

__all__ = [
    "Facility",
    "JobState",
    "Multifactor",
    "Outage",
    "Result",
    "RunConfig",
    "Slowing",
    "System",
    "Twin",
    "TwinGymError",
    "Workload",
    "__version__",
    "agents",
    "compare",
    "datasets",
    "envs",
    "operate",
    "policies",
    "simulate",
]

_HOME = {
    "Facility": "facility",
    "JobState": "states",
    "Multifactor": "config",
    "Outage": "outages",
    "Result": "result",
    "RunConfig": "config",
    "Slowing": "config",
    "System": "system",
    "Twin": "twin",
    "TwinGymError": "errors",
    "Workload": "workload",
    "compare": "simulate",
    "operate": "facility",
    "policies": "policies",
    "simulate": "simulate",
}
_PACKAGES = frozenset({"agents", "datasets", "envs"})


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562) and keep it."""
    value: Any
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _PACKAGES:
        value = import_module(f"{__name__}.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("twin-gym")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package itself: its functions are never hidden by the modules of the same name that hold them.

    Importing ``twin_gym.simulate`` makes Python assign that module to ``twin_gym.simulate``, where users expect the
    function. The assignment is dropped; ``from twin_gym.simulate import ...`` doesn't need it.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _HOME.get(name) == name:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
