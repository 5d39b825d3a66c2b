"""Reads the words of `simulate` and `compare` before Hydra does: spells out shortcuts, refuses wrong names early.

Hydra would refuse most mistakes too, but late (after a big log was read) and at length. The shortcuts:

- ``workload=log.swf.gz`` stands for ``workload=swf workload.path=log.swf.gz``;
- ``policies=fcfs,sjf`` stands for ``policies=[fcfs,sjf]`` (there is no other way to mean it);
- with ``-m``, ``out=DIR`` is the directory of the whole sweep;
- a path may hold any character: it is quoted for Hydra's grammar.
"""

from __future__ import annotations

import re

from twin_gym.commands.names import CHOICES, FORMATS, groups
from twin_gym.config import SITE
from twin_gym.errors import OptionError, PolicyError, suggest
from twin_gym.learned import LEARNED
from twin_gym.policies import find_policy

MULTIRUN = ("-m", "--multirun")
_INFO = ("--info", "-i")
_INFO_ABOUT = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
_TAKES_VALUE = ("--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd")
_MODES = (*MULTIRUN, *_INFO, "--cfg", "-c", "--run", "-r")  # one at a time
FLAGS = ("--help", "-h", *MULTIRUN, *_TAKES_VALUE, "--resolve", "--run", "-r", *_INFO, "--hydra-help")
_LONG = [flag for flag in FLAGS if flag.startswith("--")]
_PATHS = ("workload.path", "outages", "out")
_LISTS = ("policies", "backfills")
_NAMED = {"policies": "policy", "backfills": "backfill"}


def prepare(words: list[str]) -> list[str]:
    """Return the words for Hydra.

    Raises
    ------
    OptionError, PolicyError
        If a flag, a policy or another name is unknown.
    """
    sweep = any(word in MULTIRUN for word in words)
    flags: list[str] = []
    overrides: list[str] = []
    value_of: str | None = None
    for word in words:
        if value_of is not None:
            _check_flag_value(value_of, word)
            flags.append(word)
            value_of = None
        elif word.startswith("-"):
            flag = word.partition("=")[0]
            if flag not in FLAGS:
                raise OptionError(f"There is no option {flag}.{suggest(flag, _LONG)}")
            value_of = word if word in _TAKES_VALUE else None
            flags.append(word)
        elif flags and flags[-1] in _INFO and word in _INFO_ABOUT:
            flags.append(word)
        else:
            overrides.extend(_override(word, sweep))
    if value_of is not None:
        raise OptionError(f"{value_of} needs a value after it.")
    if len({flag.partition("=")[0].lstrip("-")[0] for flag in flags if flag.partition("=")[0] in _MODES}) > 1:
        raise OptionError(f"{' '.join(flags)} can't be done at once; choose one of -m, --cfg and --info.")
    return overrides + flags  # argparse takes overrides in one stretch only, users write them anywhere


def _check_flag_value(flag: str, value: str) -> None:
    if flag in ("--cfg", "-c") and value not in ("job", "hydra", "all"):
        raise OptionError(f"{flag} {value} is unknown.{suggest(value, ('job', 'hydra', 'all'))}")


def _override(word: str, sweep: bool) -> list[str]:
    """Return one override in Hydra's own spelling (two for a workload file)."""
    name, equals, value = word.partition("=")
    if not equals or not value:
        return [word]
    if name == "workload" and (loader := _format_of(value)):
        return [f"workload={loader}", f"workload.path={quoted(value, sweep)}"]
    if name in _PATHS:
        value = quoted(value, sweep)
        return [f"hydra.sweep.dir={value}" if name == "out" and sweep else f"{name}={value}"]
    if name in _LISTS and not sweep and not value.startswith("["):
        value = f"[{value}]"
    check_names(name, value)
    return [f"{name}={value}"]


def _format_of(value: str) -> str | None:
    """Return the workload group that reads a file of this name; None if the value is a group's name itself."""
    loaders = {loader for part in value.split(",") for suffix, loader in FORMATS.items() if part.endswith(suffix)}
    if len(loaders) == 1:
        return loaders.pop()
    if not loaders and ("/" in value or "\\" in value) and not value.startswith("${"):
        known = groups("workload")
        folders = tuple({f"{name.partition('/')[0]}/" for name in known if "/" in name})
        unknown = [name for name in value.split(",") if name not in known]
        if not unknown:
            return None
        if unknown[0].startswith(folders):
            raise OptionError(f"workload={unknown[0]} is unknown.{suggest(unknown[0], known)}")
        raise OptionError(
            f"workload={value}: the format is told by the file's name ({', '.join(FORMATS)}); "
            f"for another name write workload=swf workload.path={value}."
        )
    return None


def quoted(path: str, sweep: bool = False) -> str:
    """Quote a path for Hydra's grammar where it needs it; in a sweep a comma parts two paths."""
    if path[:1] in "'\"" or path == "null" or path.startswith("${") or "://" in path:
        return path
    if re.fullmatch(r"[\w/.@+%*?|$-]+" if not sweep else r"[\w/.@+%*?|$,-]+", path):
        return path
    if sweep and "," in path:
        return ",".join(quoted(part) for part in path.split(","))
    return "'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'"


def check_names(key: str, value: str) -> None:
    """Refuse an unknown name in ``policy=``, ``backfill=``, ``estimates=`` ... and in lists and sweeps of them.

    Raises
    ------
    PolicyError
        If a name is unknown; the nearest one is suggested.
    """
    choice = _NAMED.get(key, key)
    if (choice != "policy" and choice not in CHOICES) or "(" in value or "$" in value:
        return
    for name in re.findall(r"[^\s,\[\]'\"]+", value):
        if choice == "policy":
            if name != SITE and not name.startswith(LEARNED):
                find_policy(name)
        elif name not in CHOICES[choice]:
            raise PolicyError(f"{key}={name} is unknown.{suggest(name, CHOICES[choice])}")
