"""What a machine draws from the mains while a schedule runs, exactly, and what each job has spent of it.

``docs/models/power.md`` says what is modelled, from the devices to the mains, and with which formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, TwinGymError
from twin_gym.kernels import power as kernels
from twin_gym.kernels.power import DEVICES, GROUP, INSTANT, NANO, SAMPLE, Occupations, Profiles
from twin_gym.ragged import Trace
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload

if TYPE_CHECKING:
    import pandas as pd

    from twin_gym.result import Result

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ASSUMED = 0.7
"""How busy a device of a job is taken to be where nothing was recorded (an estimate of ours)."""
_KINDS = ("cpu", "gpu", "node_power")
_KILO = 1e3


class PowerError(TwinGymError):
    """Recorded utilisation or power that can't be."""


@dataclass(frozen=True)
class PowerModel:
    """How devices, converters and rectifiers of a system turn what jobs do into power.

    Attributes
    ----------
    system : System
        The machine.
    load_sharing : str
        ``equal``: all rectifiers of a chassis share its load at all times; ``smart``: only as many as the load needs.
    supply : str
        ``ac``: rectifiers in each chassis; ``dc``: the machine room supplies direct current, of which central
        rectifiers lose `dc_loss`.
    dc_loss : float
        Share that central rectifiers lose.
    assumed : float
        How busy a device of a job is taken to be where nothing was recorded, 0 to 1.
    """

    system: System
    load_sharing: str = "equal"
    supply: str = "ac"
    dc_loss: float = 0.01
    assumed: float = ASSUMED

    def __post_init__(self) -> None:
        for name, choices in (("load_sharing", ("equal", "smart")), ("supply", ("ac", "dc"))):
            if getattr(self, name) not in choices:
                raise OptionError(f"{name}={getattr(self, name)!r} is unknown; choose {' or '.join(choices)}.")
        for name in ("dc_loss", "assumed"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name}={getattr(self, name)} must lie between 0 and 1.")
        if self.load_sharing == "smart" and self.supply == "dc":
            raise OptionError("load_sharing=smart needs rectifiers in the chassis; leave it out with supply=dc.")
        for part in self.system.partitions:
            if self.load_sharing == "smart" and part.conversion.load_sharing_threshold_w is None:
                raise OptionError(
                    f"load_sharing=smart needs conversion.load_sharing_threshold_w of partition {part.name!r}; "
                    f"{self.system.name} has none."
                )

    # ------------------------------------------------------------------------------------------------ the machine

    @cached_property
    def groups(self) -> npt.NDArray[Any]:
        """Every chassis with a node or a switch in service, (G,) GROUP, idle."""
        return np.concatenate([self._chassis(p)[0] for p in range(len(self.system.partitions))])

    @cached_property
    def group_of(self) -> npt.NDArray[np.int32]:
        """Row of `groups` of each node that the scheduler numbers 0 .. N-1, (N,)."""
        found, first = [], 0
        for p in range(len(self.system.partitions)):
            groups, rows = self._chassis(p)
            found.append(rows + first)
            first += len(groups)
        return np.concatenate(found).astype(np.int32)

    @cached_property
    def partition_of(self) -> npt.NDArray[np.int32]:
        """Number of the partition of each node, (N,)."""
        sizes = [part.nodes for part in self.system.partitions]
        return np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)

    def _chassis(self, p: int) -> tuple[npt.NDArray[Any], Ints]:
        """Return the chassis of a partition, and which of them each of its nodes is in."""
        part, first_cdu = self.system.partitions[p], sum(q.topology.cdus for q in self.system.partitions[:p])
        topology, conversion = part.topology, part.conversion
        chassis = topology.available // topology.nodes_per_chassis
        racks = np.arange(topology.racks * topology.chassis_per_rack) // topology.chassis_per_rack
        present = ~np.isin(racks, topology.missing_racks)
        numbers = np.cumsum(present) - 1
        groups = np.zeros(int(present.sum()), GROUP)
        groups["nodes"] = np.bincount(numbers[chassis], minlength=len(groups))
        groups["dc"] = groups["nodes"] * round(part.node.idle_w * NANO)
        groups["switches"] = topology.switches_per_chassis * part.switch_w
        groups["converter_w"] = conversion.sivoc_constant_w
        groups["converter_efficiency"] = conversion.sivoc_efficiency
        groups["rectifiers"] = topology.rectifiers_per_chassis
        groups["rectifier_w"] = conversion.rectifier_constant_w
        groups["rectifier_efficiency"] = conversion.rectifier_efficiency
        if self.load_sharing == "smart":
            groups["threshold"] = conversion.load_sharing_threshold_w
        if self.supply == "dc":
            groups["rectifier_w"], groups["rectifier_efficiency"] = 0.0, 1.0 - self.dc_loss
        groups["cdu"] = racks[present] // topology.racks_per_cdu + first_cdu
        return groups, numbers[chassis]

    @cached_property
    def pumps(self) -> float:
        """Constant power of the pumps of all CDUs, W."""
        return sum(part.topology.cdus * part.cdu_pump_w for part in self.system.partitions)

    @cached_property
    def switches(self) -> float:
        """Constant power of all switches, W."""
        return float(self.groups["switches"].sum())

    @cached_property
    def idle(self) -> float:
        """What the machine draws from the mains when no job runs, W, pumps included."""
        return float(kernels.settle_all(self.groups.copy())[0] / NANO + self.pumps)

    @cached_property
    def full(self) -> float:
        """What the machine draws from the mains when all its devices are fully used, W, pumps included."""
        return self._full[0]

    @cached_property
    def idle_it(self) -> float:
        """What devices and switches draw when no job runs, W."""
        return float(kernels.settle_all(self.groups.copy())[1] / NANO + self.switches)

    @property
    def full_it(self) -> float:
        """What devices and switches draw when all devices are fully used, W."""
        return self._full[1]

    @cached_property
    def _full(self) -> tuple[float, float]:
        groups = self.groups.copy()
        for p, part in enumerate(self.system.partitions):
            inside = np.unique(self.group_of[self.partition_of == p])
            groups["dc"][inside] = groups["nodes"][inside] * round(part.node.full_w * NANO)
        mains, direct, _ = kernels.settle_all(groups)
        return float(mains / NANO + self.pumps), float(direct / NANO + self.switches)

    @property
    def peak_flops(self) -> float:
        """Theoretical peak of the nodes in service, flop/s."""
        return self.system.peak_flops

    # ------------------------------------------------------------------------------------------------ the jobs

    def profiles(self, workload: Workload, partition: npt.NDArray[np.int32] | None = None) -> Profiles:
        """Return what a node of each job does from its start on.

        Where a job's node power was recorded it holds; else how busy its processors and GPUs were; else `assumed`. A
        trace holds its last value to the job's end and is 0 (an idle node) before it begins.

        Parameters
        ----------
        workload : Workload
            J jobs with their traces: ``cpu`` and ``gpu`` (share of all of the node's devices, 0 to 1), ``node_power``
            (direct current of a node's devices, W).
        partition : (J,) int32, optional
            In which partition each job runs; the first if not given.

        Raises
        ------
        PowerError
            If a recorded power or utilisation is negative or not finite.
        """
        traces = [_checked(workload, kind) for kind in _KINDS]
        starts = np.stack([trace.start for trace in traces])
        quanta = np.stack([trace.quantum for trace in traces])
        shift = np.cumsum([0, *(len(trace.values) for trace in traces[:-1])])
        offsets = np.stack([trace.offsets + first for trace, first in zip(traces, shift, strict=True)])
        values = np.concatenate([trace.values for trace in traces])
        room = len(values) + len(workload)
        times, limits = np.empty(room, np.int64), np.empty(len(workload) + 1, np.int64)
        merged = np.empty((room, len(_KINDS)))
        missing = np.array([self.assumed, self.assumed, np.nan])
        count = kernels.merge_traces(starts, quanta, offsets, values, missing, times, merged, limits)
        return self._priced(times[:count], merged[:count], limits, partition)

    def _priced(self, times: Ints, merged: Floats, limits: Ints, partition: npt.NDArray[np.int32] | None) -> Profiles:
        """Turn utilisation into watts and flop/s by the node of each job's partition."""
        devices = np.zeros(len(self.system.partitions), DEVICES)
        for it, node in zip(devices, (part.node for part in self.system.partitions), strict=True):
            it["cpu"] = node.cpus * (node.cpu_max_w - node.cpu_idle_w)
            it["gpu"] = node.gpus * (node.gpu_max_w - node.gpu_idle_w)
            it["idle"], it["full"] = node.idle_w, node.full_w
            it["cpu_flops"] = node.cpus * node.cpu_peak_flops * node.cpu_flops_ratio
            it["gpu_flops"] = node.gpus * node.gpu_peak_flops * node.gpu_flops_ratio
        if partition is None:
            partition = np.zeros(len(limits) - 1, np.int32)
        samples = np.empty(len(times), SAMPLE)
        kernels.price(times, merged, limits, partition, devices, samples)
        return Profiles(limits, samples)

    def believed(self, workload: Workload) -> Floats:
        """Return what each job is believed to draw at most from the mains above idle nodes, W, (J,).

        Its highest recorded (or assumed) power through converters and rectifiers, whose efficiency is linear; with
        smart load sharing an upper bound.
        """
        profiles = self.profiles(workload)
        highest = np.zeros(len(workload))
        filled = np.diff(profiles.offsets) > 0
        if filled.any():
            highest[filled] = np.maximum.reduceat(profiles.samples["dc"], profiles.offsets[:-1][filled])
        conversion = self.system.partitions[0].conversion
        rectifiers = conversion.rectifier_efficiency if self.supply == "ac" else 1.0 - self.dc_loss
        watts: Floats = workload.nodes * np.maximum(highest, 0.0) / NANO / conversion.sivoc_efficiency / rectifiers
        return watts


def _checked(workload: Workload, kind: str) -> Trace:
    """Return a recorded trace whose values can be, or an empty one."""
    trace = workload.traces.get(kind)
    if trace is None:
        return Trace.unrecorded(len(workload), "W" if kind == "node_power" else "1")
    wrong = ~np.isfinite(trace.values) | (trace.values < 0)
    if wrong.any():
        place = int(np.argmax(wrong))
        job = int(np.searchsorted(trace.offsets, place, side="right")) - 1
        raise PowerError(
            f"trace '{kind}' of {workload.name or 'the workload'} holds {trace.values[place]} (job "
            f"{workload.id[job]}, sample {place - int(trace.offsets[job])}); power and utilisation are 0 or more."
        )
    return trace


@dataclass(frozen=True, eq=False)
class PowerHistory:
    """The power of a machine during a run: constant from each instant to the next.

    Attributes
    ----------
    model : PowerModel
    instants : (T,) INSTANT
        The last one is the end of the run.
    job_energy : (J,) float64
        What the nodes of each job have drawn through their converters while it ran, J; lost attempts included.
    cdu_energy : (C, B) float64
        What each CDU's chassis have drawn from the mains, J, in bins of `resolution` s from the first instant on;
        (C, 0) if not asked for.
    resolution : int
        s.
    """

    model: PowerModel
    instants: npt.NDArray[Any]
    job_energy: Floats
    cdu_energy: Floats
    resolution: int

    @property
    def time(self) -> Ints:
        """Instants, (T,), s since the workload's epoch."""
        times: Ints = self.instants["time"]
        return times

    @cached_property
    def total(self) -> Floats:
        """Power from the mains, (T,), W: devices, switches, all conversion losses, constant CDU pumps."""
        total: Floats = self.instants["total"] / NANO + self.model.pumps
        return total

    @cached_property
    def it(self) -> Floats:
        """Power of devices (direct current) and switches, (T,), W."""
        it: Floats = self.instants["dc"] / NANO + self.model.switches
        return it

    @cached_property
    def rectifier_loss(self) -> Floats:
        """(T,), W."""
        lost: Floats = (self.instants["total"] - self.instants["load"]) / NANO
        return lost

    @cached_property
    def converter_loss(self) -> Floats:
        """Of the nodes' own converters, (T,), W."""
        lost: Floats = (self.instants["load"] - self.instants["dc"]) / NANO - self.model.switches
        return lost

    @property
    def loss(self) -> Floats:
        """All conversion losses, (T,), W."""
        return self.rectifier_loss + self.converter_loss

    @property
    def flops(self) -> Floats:
        """(T,), flop/s."""
        flops: Floats = self.instants["flops"] * _KILO
        return flops

    @property
    def utilization(self) -> Floats:
        """Share of the nodes in service that hold a job, (T,)."""
        share: Floats = self.instants["busy"] / max(self.model.system.nodes, 1)
        return share

    def energy(self, watts: Floats | None = None) -> float:
        """Return the integral over time of a series such as `total` (the default), J."""
        watts = self.total if watts is None else watts
        return float(np.dot(watts[:-1], np.diff(self.time)))

    def bins(self, resolution: int) -> pd.DataFrame:
        """Return mean, lowest and highest power of equal parts of the run, exact.

        Parameters
        ----------
        resolution : int
            Length of a part, s; the last one may be shorter.

        Returns
        -------
        pandas.DataFrame
            time [s, begin of the part]; total, it, loss, pumps [W, means]; total_min, total_max [W]; utilization;
            flops [flop/s].
        """
        import pandas as pd

        if resolution < 1:
            raise OptionError(f"resolution={resolution} must be at least 1 s.")
        begin, end = int(self.time[0]), int(self.time[-1])
        edges = np.append(np.arange(begin, max(end, begin + 1), resolution), max(end, begin + 1))
        table: dict[str, Any] = {"time": edges[:-1]}
        for name in ("total", "it", "loss"):
            table[name] = self.means(getattr(self, name), edges)
        table["pumps"] = np.full(len(edges) - 1, self.model.pumps)
        held = np.searchsorted(self.time, edges[:-1], side="right") - 1
        after = np.maximum(np.searchsorted(self.time, edges[1:], side="left"), held + 1)
        for name, extreme in (("total_min", np.minimum), ("total_max", np.maximum)):
            # reduceat takes half-open ranges from pairs of places; every second one is between two parts
            places = np.stack([held, after], axis=1).ravel()
            padded = np.append(self.total, self.total[-1])
            table[name] = extreme.reduceat(padded, places)[::2]
        # the differences of a long sum may be off by a rounding
        table["total"] = np.clip(table["total"], table["total_min"], table["total_max"])
        for name in ("utilization", "flops"):
            table[name] = self.means(getattr(self, name), edges)
        return pd.DataFrame(table)

    def means(self, values: Floats, edges: Ints) -> Floats:
        """Return the mean of a series between each two edges (s, within the run), exact."""
        total = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(self.time))])
        # between instants the integral is a straight line
        at = np.interp(edges, self.time, total) if len(self.time) > 1 else (edges - edges[0]) * values[0]
        spans = np.maximum(np.diff(edges), 1)
        means: Floats = np.diff(at) / spans
        return means

    def heat(self) -> Floats:
        """Return what each CDU's chassis draw, and give off as heat, in each bin, (B, C), W."""
        spans = np.full(self.cdu_energy.shape[1], float(self.resolution))
        if len(spans):
            spans[-1] = (int(self.time[-1]) - int(self.time[0])) - self.resolution * (len(spans) - 1)
        watts: Floats = (self.cdu_energy / np.maximum(spans, 1e-9)).T
        return watts

    @cached_property
    def summary(self) -> dict[str, float]:
        """Numbers of the whole run.

        ``power_mean``, ``power_max``, ``power_min`` [W, from the mains], ``energy`` [J], ``it_energy`` [J],
        ``loss_energy`` [J], ``loss_mean`` [W], ``efficiency`` (IT energy / all energy but the pumps'), ``pflops_mean``,
        ``pflops_max`` [Pflop/s], ``gflops_per_watt`` (mean), ``ramp_max`` [W/min: largest change between the means of
        two successive minutes].
        """
        span = max(int(self.time[-1]) - int(self.time[0]), 1)
        energy, it, loss = self.energy(), self.energy(self.it), self.energy(self.loss)
        flops = self.energy(self.flops) / span
        pumps = self.model.pumps * (int(self.time[-1]) - int(self.time[0]))
        inside = self.total[:-1] if len(self.total) > 1 else self.total
        minutes = self.means(self.total, np.arange(int(self.time[0]), int(self.time[-1]) + 1, 60))
        return {
            "power_mean": energy / span,
            "power_max": float(inside.max()),
            "power_min": float(inside.min()),
            "energy": energy,
            "it_energy": it,
            "loss_energy": loss,
            "loss_mean": loss / span,
            "efficiency": it / (energy - pumps) if energy > pumps else 1.0,
            "pflops_mean": flops / 1e15,
            "pflops_max": float(self.flops.max()) / 1e15,
            "gflops_per_watt": flops / 1e9 / (energy / span) if energy else 0.0,
            "ramp_max": float(np.abs(np.diff(minutes)).max(initial=0.0)),
        }

    def uncertainty(self, resolution: int = 900, samples: int = 1000, seed: int = 0) -> pd.DataFrame:
        """Return how sure the power is, if each kind of device draws other than thought by its own relative error.

        Parameters
        ----------
        resolution : int
            Length of a part of the run, s.
        samples : int
            Machines that are drawn: each has one normal factor for each kind of device and for the rectifiers' losses,
            with the standard deviations of `System`'s first partition (`Uncertainty`).
        seed : int
            Of the draws.

        Returns
        -------
        pandas.DataFrame
            time, mean, p5, p95 [W] of each part; ``attrs`` holds ``energy_mean``, ``energy_p5``, ``energy_p95`` [J].
        """
        import pandas as pd

        if samples < 2:
            raise OptionError(f"samples={samples} must be at least 2.")
        begin, end = int(self.time[0]), int(self.time[-1])
        edges = np.append(np.arange(begin, max(end, begin + 1), resolution), max(end, begin + 1))
        kinds, sigma = self._kinds(edges)
        rng = np.random.default_rng(seed)
        factors = 1.0 + rng.standard_normal((samples, len(sigma))) * sigma
        power = kinds @ factors.T
        low, high = np.percentile(power, [5, 95], axis=1)
        table = pd.DataFrame({"time": edges[:-1], "mean": power.mean(axis=1), "p5": low, "p95": high})
        energy = np.diff(edges) @ power
        table.attrs = {
            "energy_mean": float(energy.mean()),
            "energy_p5": float(np.percentile(energy, 5)),
            "energy_p95": float(np.percentile(energy, 95)),
        }
        return table

    def _kinds(self, edges: Ints) -> tuple[Floats, Floats]:
        """Split the mean power of each part by what has one error of its own; the rest has none."""
        parts = self.model.system.partitions
        error, conversion = parts[0].uncertainty, parts[0].conversion
        through = 1.0 / conversion.sivoc_efficiency / conversion.rectifier_efficiency

        def constant(watts: Any) -> Floats:
            return np.full(len(edges) - 1, sum(part.nodes * watts(part.node) for part in parts) * through)

        cpu = self.means(self.instants["cpu"] / NANO, edges) * through + constant(lambda n: n.cpus * n.cpu_idle_w)
        gpu = self.means(self.instants["gpu"] / NANO, edges) * through + constant(lambda n: n.gpus * n.gpu_idle_w)
        rest = [
            (constant(lambda n: n.memory_w), error.memory),
            (constant(lambda n: n.nics * n.nic_idle_w), error.nic),
            (constant(lambda n: n.nvme_w), error.nvme),
            (np.full(len(cpu), self.model.switches / conversion.rectifier_efficiency), error.switch),
            (np.full(len(cpu), self.model.pumps), error.cdu),
            (self.means(self.rectifier_loss, edges), error.rectifier),
        ]
        kinds = [cpu, gpu, *(watts for watts, _ in rest)]
        # rectifiers' losses stand in the other kinds' way to the mains, too: what is counted twice is taken off
        kinds.append(self.means(self.total, edges) - sum(kinds))
        return np.stack(kinds, axis=1), np.array([error.cpu, error.gpu, *(s for _, s in rest), 0.0])


def power_history(
    result: Result,
    system: System | PowerModel,
    *,
    per_cdu: int | None = None,
    workload: Workload | None = None,
    **options: Any,
) -> PowerHistory:
    """Work out what a machine has drawn during a run.

    Parameters
    ----------
    result : Result
        The run.
    system : System or PowerModel
        The machine; `options` are those of `PowerModel`.
    per_cdu : int, optional
        Also count each CDU's energy in bins of this length, s (`PowerHistory.heat`).
    workload : Workload, optional
        The jobs and their traces, if the result was read from a directory.

    Raises
    ------
    PowerError
        If a recorded power or utilisation is negative or not finite.
    OptionError
        If the jobs are not known, or an option is unknown.
    """
    model = system if isinstance(system, PowerModel) else _model(system, options)
    workload = workload if workload is not None else result.workload
    if workload is None:
        raise OptionError("a result that was read from a directory does not hold its jobs: pass workload=, too.")
    if len(workload) != len(result.outcome):
        raise OptionError(
            f"the workload has {len(workload)} jobs, the result {len(result.outcome)}; pass the same one."
        )
    if result.scenario.nodes != model.system.nodes:
        raise OptionError(
            f"the run had {result.scenario.nodes} nodes, {model.system.name} has {model.system.nodes}; pass its system."
        )
    return _Run(model, result, workload, per_cdu=per_cdu is not None).walk(per_cdu)


def _model(system: System, options: Mapping[str, Any]) -> PowerModel:
    known = [name for name in PowerModel.__dataclass_fields__ if name != "system"]
    for name in options:
        if name not in known:
            raise OptionError(f"the power model has no option {name!r}; choose from {', '.join(known)}.")
    return PowerModel(system, **options)


class _Run:
    """One run laid out for the kernels.

    Converters and rectifiers are linear as long as all of a chassis share its load, so that then all chassis of a CDU
    are one group; and where nothing is asked of a single CDU, the whole machine is, and nobody needs to know who had
    which node.
    """

    def __init__(self, model: PowerModel, result: Result, workload: Workload, *, per_cdu: bool) -> None:
        self.model, self.result, self.workload = model, result, workload
        self.begin, self.finish = int(result.begin), int(max(result.finish, result.begin + 1))
        smart, several = model.load_sharing == "smart", len(model.system.partitions) > 1
        self.whole = not (smart or several or per_cdu or len(result.naps))
        keys = np.arange(len(model.groups)) if smart else model.groups["cdu"].copy()
        if self.whole:
            keys[:] = 0
        self.groups, number = _merged(model.groups, keys)
        self.group_of = number[model.group_of]

    def walk(self, per_cdu: int | None) -> PowerHistory:
        """Do it."""
        jobs, start, end, offsets, nodes = self._held()
        partition = None
        if len(self.model.system.partitions) > 1 and len(nodes):
            first = nodes[np.minimum(offsets[:-1], len(nodes) - 1)]
            partition = np.zeros(len(self.workload), np.int32)
            partition[jobs] = self.model.partition_of[first]
        profiles = self.model.profiles(self.workload, partition)
        start, end, owner, counted, offsets, nodes, profiles = self._with_naps(
            jobs, start, end, offsets, nodes, profiles
        )
        rows = owner
        if len(self.result.paces):
            profiles, rows = self._slowed(start, end, owner, profiles), np.arange(len(owner))
        occupations = self._paired(start, end, rows, counted, offsets, nodes)
        bins = 0 if per_cdu is None else -(-(self.finish - self.begin) // per_cdu)
        energy = np.zeros((self.model.system.cdus, bins))
        spent = np.zeros(len(start))
        room = 2 * len(start) + int(np.diff(profiles.offsets)[rows].sum()) + 8
        out = np.zeros(room, INSTANT)
        count = kernels.walk(
            occupations, profiles, self.groups, self.begin, self.finish, self.begin, per_cdu or 1, energy, spent, out
        )
        instants = out[:count].copy()
        return PowerHistory(self.model, instants, self._job_energy(spent, owner, start, end), energy, per_cdu or 0)

    def _held(self) -> tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.int32]]:
        """Return job, start, end and nodes of everything that held nodes, by start."""
        o, lost = self.result.outcome, self.result.attempts
        ran = np.flatnonzero(o.start != UNKNOWN)
        job = np.concatenate([ran, lost.job])
        start = np.concatenate([o.start[ran], lost.start])
        end = np.concatenate([np.where(o.end[ran] == UNKNOWN, self.finish + 1, o.end[ran]), lost.end])
        order = np.lexsort((end, start))
        job, start, end = job[order], start[order], end[order]
        sizes = self.workload.nodes[job].astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.whole:
            return job, start, end, offsets, np.zeros(0, np.int32)
        placement = self.result.placement
        nodes = np.zeros(offsets[-1], np.int32)
        if placement is None or len(lost):
            if not kernels.place_lowest(start, end, sizes, self.model.system.nodes, offsets, nodes):
                raise OptionError("the run holds more nodes than there are; its system must be another one.")
        else:
            taken = placement.take(job)
            nodes = np.ascontiguousarray(taken.values, np.int32)
            offsets = taken.offsets
        return job, start, end, offsets, nodes

    def _with_naps(
        self, job: Ints, start: Ints, end: Ints, offsets: Ints, nodes: npt.NDArray[np.int32], profiles: Profiles
    ) -> tuple[Ints, Ints, Ints, npt.NDArray[np.uint8], Ints, npt.NDArray[np.int32], Profiles]:
        """Add the times at which nodes were off, as occupations that draw less than an idle node."""
        naps = self.result.naps
        counted = np.ones(len(start), np.uint8)
        if not len(naps):
            return start, end, job, counted, offsets, nodes, profiles
        samples, limits = [profiles.samples], [profiles.offsets]
        parts = self.model.partition_of[naps.node]
        rows = np.zeros((len(naps), 3), SAMPLE)
        for p, part in enumerate(self.model.system.partitions):
            states = part.states or next(q.states for q in self.model.system.partitions if q.states)
            mine = parts == p
            asleep, shut = naps.on[mine] - naps.off[mine], states.shutdown_s
            # one that is called while it shuts down does so to the end before it boots
            rows["time"][mine] = np.stack([0 * asleep, 0 * asleep + shut, np.maximum(asleep, shut)], axis=1)
            watts = np.array([states.shutdown_w, states.off_w, states.boot_w]) - part.node.idle_w
            rows["dc"][mine] = np.rint(watts * NANO)
        samples.append(rows.ravel())
        limits.append(profiles.offsets[-1] + 3 * np.arange(1, len(naps) + 1))
        all_profiles = Profiles(np.concatenate(limits), np.concatenate(samples))
        start = np.concatenate([start, naps.off])
        end = np.concatenate([end, naps.ready])
        owner = np.concatenate([job, len(profiles.offsets) - 1 + np.arange(len(naps))])
        counted = np.concatenate([counted, np.zeros(len(naps), np.uint8)])
        order = np.lexsort((end, start))
        begins = np.concatenate([offsets[:-1], offsets[-1] + np.arange(len(naps))])
        sizes = np.concatenate([np.diff(offsets), np.ones(len(naps), np.int64)])
        joined = np.concatenate([nodes, naps.node.astype(np.int32)])
        new_offsets = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
        places = np.repeat(begins[order] - new_offsets[:-1], sizes[order]) + np.arange(new_offsets[-1])
        return start[order], end[order], owner[order], counted[order], new_offsets, joined[places], all_profiles

    def _slowed(self, start: Ints, end: Ints, owner: Ints, profiles: Profiles) -> Profiles:
        """Stretch what each occupation does to the time that it took at lower frequencies: one profile for each."""
        paces, slowing = self.result.paces, self.result.config.slowing
        # full speed before the first entry
        time = np.concatenate([[min(int(start.min(initial=0)), int(paces.time[0]) - 1)], paces.time])
        frequency = np.concatenate([[1.0], paces.frequency])
        rate = 1.0 / (slowing.sensitivity / frequency + 1.0 - slowing.sensitivity)
        work = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(time))])
        changes = np.searchsorted(time, end, side="left") - np.searchsorted(time, start, side="right")
        room = int(np.diff(profiles.offsets)[owner].sum() + np.maximum(changes, 0).sum() + len(owner))
        limits, out = np.zeros(len(owner) + 1, np.int64), np.zeros(room, SAMPLE)
        power = frequency**slowing.exponent
        kernels.warp(start, end, owner, profiles.offsets, profiles.samples, time, power, rate, work, limits, out)
        return Profiles(limits, out[: limits[-1]].copy())

    def _paired(
        self,
        start: Ints,
        end: Ints,
        owner: Ints,
        counted: npt.NDArray[np.uint8],
        offsets: Ints,
        nodes: npt.NDArray[np.int32],
    ) -> Occupations:
        rows = len(start)
        if self.whole:
            pair_offsets, group = np.arange(rows + 1, dtype=np.int64), np.zeros(rows, np.int32)
            count = np.diff(offsets).astype(np.int32)
        else:
            pair_offsets = np.zeros(rows + 1, np.int64)
            group, count = np.zeros(len(nodes), np.int32), np.zeros(len(nodes), np.int32)
            pairs = kernels.pair_up(offsets, nodes, self.group_of, pair_offsets, group, count)
            group, count = group[:pairs].copy(), count[:pairs].copy()
        return Occupations(start, end, owner, counted, pair_offsets, group, count)

    def _job_energy(self, spent: Floats, owner: Ints, start: Ints, end: Ints) -> Floats:
        """Return what each job's nodes drew through their converters, J."""
        jobs = len(self.workload)
        mine = owner < jobs
        dynamic = np.bincount(owner[mine], weights=spent[mine], minlength=jobs)
        held = np.clip(np.minimum(end, self.finish) - np.maximum(start, self.begin), 0, None)
        seconds = np.bincount(owner[mine], weights=held[mine], minlength=jobs) * self.workload.nodes
        part = self.model.system.partitions[0]
        idle, conversion = part.node.idle_w, part.conversion
        energy: Floats = (dynamic + seconds * (idle + conversion.sivoc_constant_w)) / conversion.sivoc_efficiency
        return energy


def _merged(groups: npt.NDArray[Any], keys: Ints) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return one group for each key, and which of them each group is in."""
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    merged = groups[first].copy()
    for name in ("nodes", "dc", "switches", "rectifiers"):
        merged[name] = 0
        np.add.at(merged[name], number, groups[name])
    return merged, number.astype(np.int32)
