"""What a system is made of: the nodes of a partition and their racks, what they draw, and where the machine stands."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from twin_gym.config import BACKFILLS
from twin_gym.errors import suggest
from twin_gym.policies import TABLE
from twin_gym.system_schema import Checked, FieldError, Range

MAX_NODES = 10_000_000

Ids = Annotated[tuple[int, ...], Range(0, MAX_NODES)]
DeviceWatts = Annotated[float, Range(0, 10_000, "W")]
Watts = Annotated[float, Range(0, 1_000_000, "W")]
Efficiency = Annotated[float, Range(0.5, 1)]
Fraction = Annotated[float, Range(0, 1)]
Flops = Annotated[float, Range(0, 1e18, "flop/s")]
Seconds = Annotated[int, Range(1, 31_622_400, "s")]


@dataclass(frozen=True)
class Topology(Checked):
    """How the nodes of a partition are racked; ids count nodes within racks within CDUs, all from 0.

    Attributes
    ----------
    cdus : int
        Cooling distribution units.
    racks_per_cdu, nodes_per_rack, chassis_per_rack, nodes_per_blade : int
        Places; `down_nodes` tells which of them hold no working node.
    switches_per_chassis : int
        Network switches in each chassis.
    rectifiers_per_chassis : int
        Rectifiers that feed a chassis together.
    nodes_per_rectifier : int or None
        Nodes that one of them can feed, None where it is not known.
    missing_racks : tuple of int
        Racks that are not there: no nodes, no switches, no losses.
    down_nodes : tuple of int
        Further nodes that are not there or not in service; they draw nothing and run no jobs.
    """

    nodes_per_rack: Annotated[int, Range(1, MAX_NODES)]
    cdus: Annotated[int, Range(1, 10_000)] = 1
    racks_per_cdu: Annotated[int, Range(1, 1_000)] = 1
    chassis_per_rack: Annotated[int, Range(1, 1_000)] = 1
    nodes_per_blade: Annotated[int, Range(1, 1_000)] = 1
    switches_per_chassis: Annotated[int, Range(0, 1_000)] = 0
    rectifiers_per_chassis: Annotated[int, Range(1, 1_000)] = 1
    nodes_per_rectifier: Annotated[int, Range(1, MAX_NODES)] | None = None
    missing_racks: Ids = ()
    down_nodes: Ids = ()

    def check(self) -> None:
        """Check that whole chassis, blades and rectifier groups fit, and that ids exist."""
        if self.total_nodes > MAX_NODES:
            raise FieldError(("nodes_per_rack",), f": {self.total_nodes} nodes in all are more than {MAX_NODES}.")
        if self.nodes_per_rack % self.chassis_per_rack:
            raise FieldError(
                ("chassis_per_rack",),
                f"={self.chassis_per_rack} does not divide nodes_per_rack={self.nodes_per_rack}.",
            )
        if self.nodes_per_chassis % self.nodes_per_blade:
            raise FieldError(
                ("nodes_per_blade",),
                f"={self.nodes_per_blade} does not divide the {self.nodes_per_chassis} nodes of a chassis.",
            )
        each = self.nodes_per_rectifier
        if each is not None and self.rectifiers_per_chassis * each < self.nodes_per_chassis:
            raise FieldError(
                ("nodes_per_rectifier",),
                f"={each}: {self.rectifiers_per_chassis} rectifiers can't feed "
                f"the {self.nodes_per_chassis} nodes of a chassis.",
            )
        for key, ids, count in (
            ("missing_racks", self.missing_racks, self.racks),
            ("down_nodes", self.down_nodes, self.total_nodes),
        ):
            if ids and max(ids) >= count:
                raise FieldError((key,), f" names {max(ids)}, but the ids are 0 to {count - 1}.")
            if list(ids) != sorted(set(ids)):
                raise FieldError((key,), " must hold ascending ids, each once.")
        if not len(self.available):
            raise FieldError(("down_nodes",), " leaves no node in service.")

    @property
    def racks(self) -> int:
        """Places for racks, missing ones among them."""
        return self.cdus * self.racks_per_cdu

    @property
    def total_nodes(self) -> int:
        """Places for nodes, those down or missing among them."""
        return self.racks * self.nodes_per_rack

    @property
    def nodes_per_chassis(self) -> int:
        """Places for nodes in a chassis."""
        return self.nodes_per_rack // self.chassis_per_rack

    @cached_property
    def available(self) -> npt.NDArray[np.int32]:
        """Ids of the nodes in service, ascending; shape (nodes,), read-only."""
        in_service = np.ones(self.total_nodes, dtype=np.bool_)
        in_service[list(self.down_nodes)] = False
        in_service.reshape(self.racks, self.nodes_per_rack)[list(self.missing_racks)] = False
        ids = np.flatnonzero(in_service).astype(np.int32)
        ids.flags.writeable = False
        return ids


@dataclass(frozen=True)
class Node(Checked):
    """What is in a node, what it draws and what it can compute.

    Attributes
    ----------
    cpus, gpus, nics : int
        Devices per node. A GPU is what is metered as one (on Adastra a graphics die, of which a card holds two).
    cores_per_cpu : int or None
        Cores of a CPU, None where it is not known.
    cpu_idle_w, cpu_max_w, gpu_idle_w, gpu_max_w, nic_idle_w, nic_max_w : float
        Watts of one device, idle and fully used; a NIC with a constant draw has equal values.
    memory_w, nvme_w : float
        Watts of all memory and of all local storage of the node, constant.
    cpu_peak_flops, gpu_peak_flops : float
        Theoretical peak of one device, flop/s in double precision.
    cpu_flops_ratio, gpu_flops_ratio : float
        Share of the peak that a fully used device does.
    """

    cpus: Annotated[int, Range(1, 64)]
    cpu_idle_w: DeviceWatts
    cpu_max_w: DeviceWatts
    memory_w: DeviceWatts
    gpus: Annotated[int, Range(0, 64)] = 0
    nics: Annotated[int, Range(0, 64)] = 0
    cores_per_cpu: Annotated[int, Range(1, 10_000)] | None = None
    gpu_idle_w: DeviceWatts = 0.0
    gpu_max_w: DeviceWatts = 0.0
    nic_idle_w: DeviceWatts = 0.0
    nic_max_w: DeviceWatts = 0.0
    nvme_w: DeviceWatts = 0.0
    cpu_peak_flops: Flops = 0.0
    gpu_peak_flops: Flops = 0.0
    cpu_flops_ratio: Fraction = 1.0
    gpu_flops_ratio: Fraction = 1.0

    def check(self) -> None:
        """Check that GPUs draw power, and that no device draws less when it is used than when it is idle."""
        if self.gpus and not self.gpu_max_w:
            raise FieldError(("gpu_max_w",), f" is missing, but there are gpus={self.gpus} in a node.")
        for device in ("cpu", "gpu", "nic"):
            self.in_order(f"{device}_idle_w", f"{device}_max_w")

    @property
    def idle_w(self) -> float:
        """Direct-current power of an idle node, W."""
        devices = self.cpus * self.cpu_idle_w + self.gpus * self.gpu_idle_w + self.nics * self.nic_idle_w
        return devices + self.memory_w + self.nvme_w

    @property
    def full_w(self) -> float:
        """Direct-current power of a fully used node, W."""
        devices = self.cpus * self.cpu_max_w + self.gpus * self.gpu_max_w + self.nics * self.nic_max_w
        return devices + self.memory_w + self.nvme_w

    @property
    def peak_flops(self) -> float:
        """Theoretical peak of the node, flop/s."""
        return self.cpus * self.cpu_peak_flops + self.gpus * self.gpu_peak_flops


@dataclass(frozen=True)
class Conversion(Checked):
    """What is lost between the rack's supply and the devices: input = (output + constant) / efficiency, twice.

    Attributes
    ----------
    sivoc_constant_w, sivoc_efficiency : float
        The converter on each node (380 V to 48 V direct current).
    rectifier_constant_w, rectifier_efficiency : float
        Each rectifier of a chassis (alternating to direct current).
    load_sharing_threshold_w : float or None
        Load at which smart load sharing calls in one more rectifier; None where no such mode is known.
    """

    sivoc_constant_w: DeviceWatts = 0.0
    sivoc_efficiency: Efficiency = 1.0
    rectifier_constant_w: DeviceWatts = 0.0
    rectifier_efficiency: Efficiency = 1.0
    load_sharing_threshold_w: Annotated[float, Range(1, 1_000_000, "W")] | None = None


@dataclass(frozen=True)
class PowerStates(Checked):
    """What a node draws (direct current) and how long it takes to be switched off and on again.

    Attributes
    ----------
    off_w, boot_w, shutdown_w : float
        Watts while it is off, boots and shuts down.
    boot_s, shutdown_s : int
        How long booting and shutting down take, s.
    """

    off_w: DeviceWatts
    boot_w: DeviceWatts
    shutdown_w: DeviceWatts
    boot_s: Annotated[int, Range(0, 86_400, "s")]
    shutdown_s: Annotated[int, Range(0, 86_400, "s")]


@dataclass(frozen=True)
class Uncertainty(Checked):
    """Relative standard deviations of the power parameters; the defaults are those of the peer's Frontier.

    Attributes
    ----------
    cpu, gpu, memory, nic, nvme, switch, cdu, rectifier : float
        Of the watts of each kind of device.
    node : float
        Of a node's power where that is metered as a whole.
    """

    cpu: Fraction = 0.05
    gpu: Fraction = 0.05
    memory: Fraction = 0.05
    nic: Fraction = 0.05
    nvme: Fraction = 0.05
    switch: Fraction = 0.05
    cdu: Fraction = 0.05
    rectifier: Fraction = 0.05
    node: Fraction = 0.002


@dataclass(frozen=True)
class JobMix(Checked):
    """What a synthetic workload asks of a partition; recorded logs are not held to it.

    Attributes
    ----------
    max_nodes : int or None
        Largest job, nodes; None: as large as the partition.
    min_walltime_s, max_walltime_s : int
        Bounds of the requested walltime, s.
    mean_interarrival_s : float
        Mean time between submissions, s.
    """

    max_nodes: Annotated[int, Range(1, MAX_NODES)] | None = None
    min_walltime_s: Seconds = 60
    max_walltime_s: Seconds = 86_400
    mean_interarrival_s: Annotated[float, Range(0.001, 1e7, "s")] = 900.0

    def check(self) -> None:
        """Check that some walltime is allowed."""
        self.in_order("min_walltime_s", "max_walltime_s")


@dataclass(frozen=True)
class Partition(Checked):
    """Nodes of one kind.

    Attributes
    ----------
    name : str
        What users name when they submit.
    topology, node, conversion, states, uncertainty, jobs
        Its parts. `states` is None where nodes can't be switched off.
    switch_w : float
        Watts of one switch, constant.
    cdu_pump_w : float
        Watts of the pumps of one CDU, constant, for runs without a cooling model.
    trace_quantum_s : int
        Time between the samples of recorded utilisation, s.
    shared_nodes : bool
        Whether jobs share nodes.
    """

    name: str
    topology: Topology
    node: Node
    conversion: Conversion = field(default_factory=Conversion)
    switch_w: DeviceWatts = 0.0
    cdu_pump_w: Watts = 0.0
    trace_quantum_s: Annotated[int, Range(1, 86_400, "s")] = 15
    shared_nodes: bool = False
    states: PowerStates | None = None
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    jobs: JobMix = field(default_factory=JobMix)

    def check(self) -> None:
        """Check that the largest job fits."""
        if self.jobs.max_nodes is not None and self.jobs.max_nodes > self.nodes:
            raise FieldError(
                ("jobs", "max_nodes"), f"={self.jobs.max_nodes} is more than the {self.nodes} nodes in service."
            )

    @property
    def nodes(self) -> int:
        """Nodes in service."""
        return len(self.topology.available)

    @property
    def node_idle_w(self) -> float:
        """Power of an idle node as its converter draws it, W."""
        return (self.node.idle_w + self.conversion.sivoc_constant_w) / self.conversion.sivoc_efficiency

    @property
    def node_full_w(self) -> float:
        """Power of a fully used node as its converter draws it, W."""
        return (self.node.full_w + self.conversion.sivoc_constant_w) / self.conversion.sivoc_efficiency


@dataclass(frozen=True)
class Scheduler(Checked):
    """How the machine is scheduled where a study says nothing else.

    Attributes
    ----------
    policy, backfill : str
        As in `twin_gym.simulate`.
    manager : str or None
        The batch system that the site runs.
    """

    policy: str = "fcfs"
    backfill: str = "easy"
    manager: str | None = None

    def check(self) -> None:
        """Check that the names exist."""
        for key, choices in (("policy", tuple(TABLE)), ("backfill", BACKFILLS)):
            value = getattr(self, key)
            if value not in choices:
                raise FieldError((key,), f"={value!r} is unknown.{suggest(value, choices)}")


@dataclass(frozen=True)
class Site(Checked):
    """Where the machine stands, and what a kilowatt-hour costs and emits there.

    Attributes
    ----------
    place : str
        Town and country.
    latitude, longitude : float
        Degrees north and east.
    elevation_m : float
        Height above the sea, m.
    time_zone : str
        Name in the IANA database, such as ``Europe/Rome``.
    price_per_kwh : float
        Constant price, for runs without a price series; negative prices are real.
    currency : str
        Of the price, such as ``USD``.
    carbon_g_per_kwh : float
        Constant carbon intensity, g CO2 per kWh, for runs without a series.
    """

    place: str = "unknown"
    latitude: Annotated[float, Range(-90, 90, "degrees")] = 0.0
    longitude: Annotated[float, Range(-180, 180, "degrees")] = 0.0
    elevation_m: Annotated[float, Range(-500, 9_000, "m")] = 0.0
    time_zone: str = "UTC"
    price_per_kwh: Annotated[float, Range(-100, 1_000)] = 0.1
    currency: str = "USD"
    carbon_g_per_kwh: Annotated[float, Range(0, 3_000, "g/kWh")] = 400.0

    def check(self) -> None:
        """Check that the time zone exists."""
        try:
            zoneinfo.ZoneInfo(self.time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            zones = zoneinfo.available_timezones()
            if not zones:  # no database on this machine: nothing to check against
                return
            near = get_close_matches(self.time_zone, zones, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " Write a name such as 'Europe/Rome'."
            raise FieldError(("time_zone",), f"={self.time_zone!r} is not in the IANA database.{hint}") from None
