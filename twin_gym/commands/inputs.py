"""Makes the workload, the system and the outages that a composed configuration names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from twin_gym.commands import progress
from twin_gym.commands.schema import Command, EnvironmentCommand, Shaping
from twin_gym.commands.times import instant, is_date, seconds
from twin_gym.commands.workload_files import read
from twin_gym.config import Multifactor, RunConfig, Slowing

if TYPE_CHECKING:
    from twin_gym.outages import Outage
    from twin_gym.system import System
    from twin_gym.workload import Workload

DEFAULT_CAPACITY = 256
"""Machine size of a synthetic workload where neither it nor the system says one."""

_PHASES = ("peak", "idle", "benchmark")


class Inputs(NamedTuple):
    """What a run needs besides the scheduling choices."""

    system: System
    workload: Workload
    outages: tuple[Outage, ...]
    until: int | None


class Reader:
    """Reads what configurations name; the jobs only once for the runs of a sweep that share them.

    Parameters
    ----------
    tell : callable
        Called with every workload that is read, to say what was wrong with it.
    """

    def __init__(self, tell: Callable[[Workload], None]) -> None:
        self._tell = tell
        self._spec = ""
        self._workload: Workload | None = None

    def inputs(self, config: Command, *, fitted: bool) -> Inputs:
        """Read and shape all that a composed configuration names.

        Parameters
        ----------
        config : Command
            The composed configuration.
        fitted : bool
            Whether the system takes its size from the workload (``system=uniform`` without ``system.nodes``).

        Raises
        ------
        TwinGymError, OSError
            If a file or a value is wrong.
        """
        from twin_gym.outages import load_outages

        system, workload = self.machine(config, fitted=fitted)
        outages = load_outages(config.outages) if config.outages else ()
        until = None if config.until is None else instant(config.until, "until", _epoch(workload))
        return Inputs(system, workload, outages, until)

    def machine(self, config: Command | EnvironmentCommand, *, fitted: bool) -> tuple[System, Workload]:
        """Read and shape the system and the jobs alone; see `inputs`."""
        from twin_gym.system import System

        description = plain(config.system)
        system = None if fitted else System.from_dict(description)
        workload = self._jobs(plain(config.workload), None if system is None else system.nodes, config.seed)
        if system is None:
            system = System.from_dict({**description, "nodes": workload.capacity or int(workload.nodes.max())})
        return system, workload

    def _jobs(self, options: dict[str, Any], nodes: int | None, seed: int) -> Workload:
        spec = json.dumps([options, nodes, seed], sort_keys=True, default=str)
        if self._workload is None or spec != self._spec:
            self._workload = _workload(options, nodes, seed)
            self._spec = spec
            self._tell(self._workload)
        return self._workload


def run_options(config: Command) -> dict[str, Any]:
    """Return the scheduling choices other than policy and backfill, as `simulate` and `compare` take them.

    Raises
    ------
    TwinGymError
        If one is out of range.
    """
    names = {item.name for item in fields(RunConfig)} - {"policy", "backfill", "multifactor", "slowing"}
    parts = {"multifactor": Multifactor(**asdict(config.multifactor)), "slowing": Slowing(**asdict(config.slowing))}
    return {name: getattr(config, name) for name in names} | parts


def plain(node: Any) -> dict[str, Any]:
    """Return a part of the configuration as a dictionary, typed by a schema or not."""
    return asdict(node) if is_dataclass(node) and not isinstance(node, type) else dict(node or {})


def shape(workload: Workload, shaping: Shaping, seed: int) -> Workload:
    """Window, sample, scale and shuffle a workload, in this order.

    Raises
    ------
    OptionError, WorkloadError
        If a value is wrong or no job is left.
    """
    if shaping.start is not None or shaping.duration is not None:
        epoch = _epoch(workload)
        start = int(workload.submit[0])
        if shaping.start is not None:
            start = instant(shaping.start, "workload.start", epoch)
        duration = None if shaping.duration is None else seconds(shaping.duration, "workload.duration")
        workload = workload.window(start, duration, shaping.prepopulate)
    if shaping.sample is not None:
        workload = workload.sample(shaping.sample, seed)
    if shaping.scale_arrivals != 1:
        workload = workload.scale_arrivals(shaping.scale_arrivals)
    if shaping.scale_nodes != 1:
        workload = workload.scale_nodes(shaping.scale_nodes)
    return workload.shuffle(seed) if shaping.shuffle else workload


def _epoch(workload: Workload) -> int | None:
    return workload.epoch if workload.epoch_known else None


def _workload(options: dict[str, Any], nodes: int | None, seed: int) -> Workload:
    loader = str(options.pop("loader", ""))
    if loader == "synthetic" and options.get("model") in _PHASES:  # their duration is no window's
        return _load(loader, options, nodes)
    shaping = Shaping(**{item.name: options.pop(item.name) for item in fields(Shaping) if item.name in options})
    if "options" in options:
        return shape(_dataset(loader, options, shaping), shaping, seed)
    return shape(_load(loader, options, nodes), shaping, seed)


def _load(loader: str, options: dict[str, Any], nodes: int | None) -> Workload:
    from twin_gym import datasets

    path = options.pop("path", None)
    if loader in ("table", "swf"):
        return read(path, options, loader)
    if loader == "synthetic":
        options["capacity"] = options.get("capacity") or nodes or DEFAULT_CAPACITY
    return datasets.load(loader, path, **options)


def _dataset(loader: str, given: dict[str, Any], shaping: Shaping) -> Workload:
    """Read files of a data set; a window that begins at a date is handed to the reader, which then reads no more."""
    from twin_gym import datasets

    path = given["path"] if given["path"] is not None else datasets.fetched(loader)
    options, known = dict(given["options"]), datasets.options_of(loader)
    if "window" in known and shaping.start is not None and is_date(shaping.start):
        begin = instant(shaping.start, "workload.start", 0)
        duration = None if shaping.duration is None else seconds(shaping.duration, "workload.duration")
        options["window"] = (begin, None if duration is None else begin + duration)
    with progress.bar(f"Reading {path}") as report:
        if "progress" in known:
            options["progress"] = report
        return datasets.load(loader, path, cache=given["cache"], **options)
