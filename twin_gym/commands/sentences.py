"""Turns what went wrong below the command line into one sentence for the person who typed the command."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from twin_gym.commands.schema import COMMANDS, WORKLOADS
from twin_gym.errors import TwinGymError, suggest


def sentence(error: BaseException) -> str | None:
    """Say in one sentence what a user did wrong, or None if the error is not the user's (then it is a bug of ours).

    Parameters
    ----------
    error : BaseException
        What reached the command line: a `TwinGymError`, an error of Hydra, OmegaConf or argparse, or of the system.
    """
    if isinstance(error, TwinGymError):
        return _one_line(str(error))
    if isinstance(error, MemoryError):
        return "The memory of this machine does not suffice; take a shorter window (workload.duration=7d)."
    if type(error).__module__.partition(".")[0] in ("hydra", "omegaconf"):
        known = (_configuration(cause) for cause in _chain(error))
        return _one_line(next((text for text in known if text is not None), f"{_first_line(error)}."))
    return _system(error) if isinstance(error, OSError) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _chain(error: BaseException | None) -> list[BaseException]:
    """Return the error and what caused it, innermost last."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _system(error: OSError) -> str:
    where = os.fspath(error.filename) if isinstance(error.filename, str | os.PathLike) else error.filename
    place = f"'{where}'" if where is not None else "A file"
    known = {
        errno.ENOENT: f"{place} does not exist; check the path.",
        errno.EACCES: f"{place} can't be opened: permission denied; choose another place or change its permissions.",
        errno.EPERM: f"{place} can't be changed: operation not permitted; choose another place.",
        errno.EROFS: f"{place} lies on a read-only file system; choose another place with out=DIR.",
        errno.ENOSPC: f"{place} can't be written: the disk is full; free some space or choose another place.",
        errno.EDQUOT: f"{place} can't be written: your disk quota is used up; choose another place with out=DIR.",
        errno.EISDIR: f"{place} is a directory, but a file is needed.",
        errno.ENOTDIR: f"{place} can't be reached: a part of its path is a file, not a directory.",
        errno.EEXIST: f"{place} exists already and is not a directory; choose another place.",
        errno.ENAMETOOLONG: "A path is too long for this file system; choose a shorter one.",
    }
    return known.get(error.errno or 0, f"{place}: {error.strerror or _one_line(str(error))}.")


def _configuration(error: BaseException) -> str | None:
    """Return the sentence for one error of Hydra or OmegaConf; None if a cause of it, or nobody, knows better.

    The classes are told by name: importing them here would load Hydra for commands that do not use it.
    """
    match type(error).__name__:
        case "ConfigAttributeError" | "ConfigKeyError":
            return _unknown_key(error)
        case "MissingMandatoryValue":
            name = getattr(error, "full_key", None)
            return f"{name} has no value; give it as {name}=..." if name else None
        case "ValidationError" | "UnsupportedValueType" | "ReadonlyConfigError":
            return _wrong_value(error)
        case "InterpolationKeyError" | "InterpolationResolutionError" | "UnsupportedInterpolationType":
            name = getattr(error, "full_key", None)
            return f"{name}: {_first_line(error)}." if name else None
        case "OverrideParseException":
            return _unreadable(getattr(error, "override", ""), _first_line(error.__cause__ or error))
        case "MissingConfigException":
            return _unknown_option(error)
        case "ConfigCompositionException" if str(error).startswith("Ambiguous value for argument"):
            argument = str(error).split("'")[1]
            return (
                f"{argument} names several values; put -m before it to run each of them "
                f"(or write {argument.partition('=')[0]}=[...] where a list is meant)."
            )
    return None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def _wrong_value(error: Any) -> str | None:
    name, value, reason = getattr(error, "full_key", None), getattr(error, "value", None), _first_line(error)
    if not name:
        return None
    for sign, wanted in (("to Integer", "a whole number"), ("to Float", "a number"), ("valid bool", "true or false")):
        if sign in reason:
            return f"{name}={value} must be {wanted}."
    return f"{name}: {reason}."


def _unknown_key(error: Any) -> str | None:
    full_key = getattr(error, "full_key", None)
    if not full_key:
        return None
    parent, _, name = str(full_key).rpartition(".")
    node = getattr(error, "parent_node", None)
    choices = [str(choice) for choice in (node.keys() if node is not None else ()) if choice != "hydra"]
    elsewhere = _elsewhere(parent, name)
    if elsewhere:
        return f"{full_key} is not a key here; it goes with {elsewhere}."
    return f"{full_key} is not a key{f' of {parent}' if parent else ''}.{suggest(name, choices) if choices else ''}"


def _elsewhere(parent: str, name: str) -> str:
    """Say which other command or workload has a key of this name."""
    places: Mapping[str, type] = {"workload": WORKLOADS, "": COMMANDS}.get(parent, {})
    prefix = "workload=" if parent else "twin-gym "
    return " or ".join(prefix + place for place, schema in places.items() if name in {it.name for it in fields(schema)})


def _unknown_option(error: Any) -> str:
    group, _, name = str(error.missing_cfg_file or "").rpartition("/")
    if not group:
        return f"There is no configuration named '{name}'; look at --config-dir and --config-name."
    hint = suggest(name, error.options) if error.options else " That group is unknown."
    return f"{group}={name} is unknown.{hint}"


def _unreadable(override: str, reason: str) -> str:
    if not override:
        return "An empty argument can't be read; write key=value."
    if "=" not in override:
        return f"'{override}' is not of the form key=value{_meant(override)}."
    name, _, value = override.partition("=")
    return f"{name}={value} can't be read ({reason}); quote the value: \"{name}='{value}'\"."


def _meant(word: str) -> str:
    """Return what a word without `=` may have been meant as."""
    if word.count(".") and os.path.exists(word):
        return f" (a file is named as workload={word})"
    return ", as in policy=sjf"
