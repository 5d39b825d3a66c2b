"""`System`: a machine as data, read from the YAML that Hydra composes too (`conf/system`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.errors import SystemConfigError, suggest
from twin_gym.system_parts import (
    Conversion,
    JobMix,
    Node,
    Partition,
    PowerStates,
    Scheduler,
    Site,
    Topology,
    Uncertainty,
)
from twin_gym.system_plant import CduLoop, CoolingPlant, scaled
from twin_gym.system_schema import Checked, FieldError, line_of, load_yaml, plain, read, read_key

__all__ = [
    "Conversion",
    "CoolingPlant",
    "JobMix",
    "Node",
    "Partition",
    "PowerStates",
    "Scheduler",
    "Site",
    "System",
    "Topology",
    "Uncertainty",
]


@dataclass(frozen=True)
class System(Checked):
    """A machine: its partitions, how it is scheduled, and where it stands.

    Attributes
    ----------
    name : str
        What users type.
    partitions : tuple of Partition
        Kinds of nodes; the nodes of the first come first in every numbering.
    description : str
        One sentence.
    scheduler : Scheduler
        Defaults of a study.
    site : Site
        Place, price and carbon intensity.
    cooling : CoolingPlant or None
        The plant, None where none is described. One CDU loop stands for each of the `cdus`.
    sources : tuple of str
        Where the values are from.
    """

    name: str
    partitions: tuple[Partition, ...]
    description: str | None = None
    scheduler: Scheduler = field(default_factory=Scheduler)
    site: Site = field(default_factory=Site)
    cooling: CoolingPlant | None = None
    sources: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that there are partitions, each with a name of its own."""
        names = [partition.name for partition in self.partitions]
        if not names:
            raise FieldError(("partitions",), " is empty; a system needs at least one partition.")
        for name in names:
            if names.count(name) > 1:
                raise FieldError(("partitions", name), " stands twice.")

    @property
    def nodes(self) -> int:
        """Nodes in service, of all partitions: what the scheduler may use."""
        return sum(partition.nodes for partition in self.partitions)

    @property
    def total_nodes(self) -> int:
        """Places for nodes, those down or missing among them."""
        return sum(partition.topology.total_nodes for partition in self.partitions)

    @property
    def cdus(self) -> int:
        """Cooling distribution units of all partitions."""
        return sum(partition.topology.cdus for partition in self.partitions)

    @property
    def peak_flops(self) -> float:
        """Theoretical peak of the nodes in service, flop/s."""
        return sum(partition.nodes * partition.node.peak_flops for partition in self.partitions)

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """Place in the racks of each node that the scheduler numbers 0, 1, ...; shape (nodes,), read-only.

        Places count through all partitions, those down or missing among them: what logs record as node ids.
        """
        found, first = [], 0
        for partition in self.partitions:
            found.append(partition.topology.available.astype(np.int64) + first)
            first += partition.topology.total_nodes
        places = np.concatenate(found)
        places.flags.writeable = False
        return places

    @classmethod
    def uniform(cls, nodes: int = 100, name: str = "uniform") -> System:
        """Return a machine of identical nodes without racks; their power is an estimate (``conf/system/uniform.yaml``).

        Parameters
        ----------
        nodes : int
            How many.
        name : str
            What to call it.

        Raises
        ------
        SystemConfigError
            If `nodes` is out of range.
        """
        return cls.from_dict({**_shipped("uniform"), "name": name, "nodes": nodes})

    @classmethod
    def load(cls, name_or_path: str | Path) -> System:
        """Read a system that comes with twin_gym, by its name, or a YAML file.

        Parameters
        ----------
        name_or_path : str or path
            One of `System.names()`, or a file whose name ends in ``.yaml`` or ``.yml``.

        Raises
        ------
        SystemConfigError
            If there is no such system, or a value is wrong; names file, line, key and allowed range.
        """
        text = str(name_or_path)
        if isinstance(name_or_path, Path) or text.endswith((".yaml", ".yml")):
            return cls._load(Path(name_or_path))
        if text not in cls.names():
            raise SystemConfigError(f"There is no system {text!r}.{suggest(text, cls.names())} Or name a .yaml file.")
        with as_file(_folder() / f"{text}.yaml") as path:
            return cls._load(path)

    @classmethod
    def _load(cls, path: Path) -> System:
        data, tree = load_yaml(path)
        try:
            return cls.from_dict(data)
        except FieldError as error:
            raise SystemConfigError(f"{path}, line {line_of(tree, error.path)}: {error}") from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> System:
        """Make a system from plain data, as in the YAML files.

        ``partitions`` maps names to partitions. Where the one partition has no racks, ``nodes`` at the top is its size.
        A plant may say no more than ``design_power_w``; the rest follows in the ratios of Frontier's.

        Raises
        ------
        SystemConfigError
            If a key is unknown or missing, or a value has the wrong type or is out of range.
        """
        if not isinstance(data, Mapping):
            raise FieldError((), "A system description must hold keys and values, at least name and partitions.")
        data = dict(data)
        named = data.get("partitions")
        if named is not None:
            if not isinstance(named, Mapping):
                raise FieldError(("partitions",), " must map names to partitions.")
            if "nodes" in data:
                named = _sized(named, data.pop("nodes"))
            partitions = [_partition(name, part) for name, part in named.items()]
            data["partitions"] = partitions
            if "cooling" in data:
                data["cooling"] = _plant(data["cooling"], sum(partition.topology.cdus for partition in partitions))
        return read(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the system as plain data that `from_dict` turns into an equal system."""
        data: dict[str, Any] = plain(self)
        data["partitions"] = {part.pop("name"): part for part in data["partitions"]}
        return data

    @staticmethod
    def names() -> list[str]:
        """Return the names of the systems that come with twin_gym."""
        found = (item.name for item in _folder().iterdir())
        return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def _partition(name: Any, data: Any) -> Partition:
    path = ("partitions", str(name))
    if not isinstance(data, Mapping):
        raise FieldError(path, " must hold the keys of a partition.")
    if "name" in data:
        raise FieldError((*path, "name"), " is not a known key: the partition is named above it.")
    return read(Partition, {"name": name, **data}, path)


def _sized(named: Mapping[str, Any], nodes: Any) -> dict[str, Any]:
    """Write the short form ``nodes: N`` out as the topology of the one partition."""
    count = read_key(Topology, "nodes_per_rack", nodes, ("nodes",))
    parts = [part for part in named.values() if isinstance(part, Mapping)]
    topology = parts[0].get("topology") if len(named) == len(parts) == 1 else None
    if not isinstance(topology, Mapping) or {"nodes_per_rack", "cdus", "racks_per_cdu"} & set(topology):
        raise FieldError(("nodes",), " is for a system of one partition whose topology names neither racks nor CDUs.")
    return {name: {**part, "topology": {**topology, "nodes_per_rack": count}} for name, part in named.items()}


def _plant(data: Any, cdus: int) -> Any:
    """Fill in what the description of a plant leaves out: by its power, in the ratios of Frontier's."""
    if not isinstance(data, Mapping) or "design_power_w" not in data:
        return data
    path = ("cooling", "design_power_w")
    power = read_key(CoolingPlant, "design_power_w", data["design_power_w"], path)
    cdu = data.get("cdu")
    share = cdu["design_power_w"] if isinstance(cdu, Mapping) and "design_power_w" in cdu else power / cdus
    share = read_key(CduLoop, "design_power_w", share, ("cooling", "cdu", "design_power_w"))
    return _merged(scaled(_reference_plant(), power, share), data)


@cache
def _reference_plant() -> CoolingPlant:
    return read(CoolingPlant, _shipped("frontier")["cooling"])


def _merged(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Put changes over a base, table by table."""
    merged = dict(base)
    for key, value in changes.items():
        old = base.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _folder() -> Any:
    return files("twin_gym.conf") / "system"


def _shipped(name: str) -> dict[str, Any]:
    with as_file(_folder() / f"{name}.yaml") as path:
        data, _ = load_yaml(path)
    return dict(data)
