"""The keys that `twin-gym simulate` and `twin-gym compare` know: names, types, defaults and one line of help each.

These dataclasses are the schema against which Hydra checks every key and value, the source of ``--help`` and of shell
completion. Defaults of scheduling choices are those of :class:`twin_gym.config.RunConfig`, so that the command line and
Python answer alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

from twin_gym.config import Multifactor, RunConfig

MISSING = "???"  # OmegaConf's mark of a value that the user must give; spelled out so that --help needs no OmegaConf
_RUN = RunConfig()
_WEIGHTS = Multifactor()


def key(default: Any, text: str) -> Any:
    """Return a dataclass field with a default and its line of help; containers are copied for every instance."""
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass
class Shaping:
    """What may be done to any workload once it is read, in this order."""

    start: Any = key(None, "begin of the window: seconds, 2d, 12h30m, or a date 2011-02-01T08:00 (null: all)")
    duration: Any = key(None, "length of the window: seconds, 7d, 12h ... (null: to the end)")
    prepopulate: bool = key(True, "place the jobs first that were running when the window began")
    sample: int | None = key(None, "keep this many consecutive jobs, begun at a random one (seed)")
    scale_arrivals: float = key(1.0, "multiply the arrival rate (2: twice the load)")
    scale_nodes: float = key(1.0, "multiply the sizes of the jobs and of the machine")
    shuffle: bool = key(False, "permute the jobs over the submit times (seed)")


@dataclass
class FileWorkload(Shaping):
    """A workload read from a table: twin_gym's own .parquet, or .csv."""

    loader: str = key("table", "what reads it")
    path: str = key(MISSING, "the file")
    capacity: int | None = key(None, "machine size (null: what the file says)")
    strict: bool = key(False, "refuse a table with any defect instead of repairing it")


@dataclass
class SwfWorkload(Shaping):
    """A log in the Standard Workload Format."""

    loader: str = key("swf", "what reads it")
    path: str = key(MISSING, "the log, plain or .gz")
    capacity: int | None = key(None, "machine size (null: what the log's header says)")
    missing_requests: str = key("fallback", "a job without a request: fallback (use what it used) or drop")
    unit: str | None = key(None, "what the log counts: node or processor (null: what its header says)")
    strict: bool = key(False, "refuse a log with any defect instead of repairing it")


@dataclass
class DatasetWorkload(Shaping):
    """Files of a public data set or of a batch system, read by a loader of twin_gym.datasets."""

    loader: str = key(MISSING, "what reads it")
    path: Any = key(None, "file or folder (null: where `twin-gym datasets fetch` put it)")
    cache: Any = key(True, "keep what was read of large files for the next time: true, false, or a folder")
    options: dict[str, Any] = key({}, "options of the loader: workload.options.NAME=VALUE")


@dataclass
class SyntheticWorkload(Shaping):
    """What the synthetic workloads share."""

    loader: str = key("synthetic", "what makes it")
    model: str = key(MISSING, "the model")
    jobs: int = key(10_000, "number of jobs")
    capacity: int | None = key(None, "machine size (null: the system's, or else 256)")
    load: float | None = key(0.8, "offered load to reach by scaling the gaps (null: as drawn)")
    seed: int = key("${seed}", "seed of the workload alone")
    requests: Any = key("tsafrir", "requested walltimes: tsafrir, exact, or a factor such as 3.0")
    max_request: int | None = key(None, "longest walltime that may be requested, s")
    population: dict[str, Any] = key({}, "users, accounts, partitions, as {users:50}")


@dataclass
class LublinWorkload(SyntheticWorkload):
    """The model of Lublin and Feitelson (2003)."""

    model: str = key("lublin", "the model")
    kind: str = key("all", "which published parameters: all, batch or interactive")


@dataclass
class BoundedWorkload(SyntheticWorkload):
    """Sizes from 1 to the machine and runtimes between two limits: uniform, or normal cut at three sigma."""

    min_runtime: int = key(60, "shortest runtime, s")
    max_runtime: int = key(43_200, "longest runtime, s")


@dataclass
class WeibullWorkload(SyntheticWorkload):
    """Many small and short jobs, few large and long ones."""

    model: str = key("weibull", "the model")
    size_shape: float = key(0.8, "shape of the sizes")
    size_scale: float | None = key(None, "scale of the sizes (null: an eighth of the machine)")
    runtime_shape: float = key(0.6, "shape of the runtimes")
    runtime_scale: float = key(7200.0, "scale of the runtimes, s")
    max_runtime: int = key(172_800, "longest runtime, s")


@dataclass
class MachineWorkload:
    """Jobs that take the whole machine, to see its extremes."""

    loader: str = key("synthetic", "what makes it")
    model: str = key(MISSING, "the model")
    capacity: int | None = key(None, "machine size (null: the system's, or else 256)")


@dataclass
class PhaseWorkload(MachineWorkload):
    """One job that takes the whole machine."""

    duration: int = key(10_800, "length of the job, s")


@dataclass
class MultifactorWeights:
    """Weights of policy=multifactor (twin_gym.config.Multifactor)."""

    age: float = key(_WEIGHTS.age, "weight of waiting time")
    size: float = key(_WEIGHTS.size, "weight of the job's size")
    fairshare: float = key(_WEIGHTS.fairshare, "weight of the user's fair share")
    queue: float = key(_WEIGHTS.queue, "weight of the partition's own factor")
    max_age: float = key(_WEIGHTS.max_age, "wait at which the age factor is full, s")
    half_life: float = key(_WEIGHTS.half_life, "half-life of the usage that fair share remembers, s")
    queue_factors: dict[str, float] = key({}, "factor by partition, as {debug:1.0,batch:0.5}")


@dataclass
class SlowingKeys:
    """How jobs are slowed under a power cap (twin_gym.config.Slowing)."""

    floor: float = key(_RUN.slowing.floor, "lowest frequency, share of the full one")
    exponent: float = key(_RUN.slowing.exponent, "power above idle goes with this power of the frequency")
    sensitivity: float = key(_RUN.slowing.sensitivity, "share of a job's time that goes with 1 / frequency")


@dataclass
class FacilityKeys:
    """What the run means for the building (twin_gym.operate)."""

    on: bool = key(False, "work out power, cooling, cost and CO2, too")
    cooling: bool = key(True, "run the cooling plant, where the system describes one")
    fmu: str | None = key(None, "an FMU to take the plant's place (needs facility.mapping)")
    mapping: str | None = key(None, "a YAML file: which variables of the FMU mean what")
    resolution: int | None = key(None, "length of a bin, s (null: 15, 60 or 900 by the length of the run)")
    weather: Any = key(None, "a weather file, a constant wet bulb in degC (null: a synthetic year of the site)")
    price: Any = key(None, "a price file, a constant per kWh, daily (null: the site's)")
    carbon: Any = key(None, "a carbon file, a constant in g/kWh, daily (null: the site's)")
    load_sharing: str = key("equal", "of rectifiers: equal or smart")
    supply: str = key("ac", "of the racks: ac or dc")
    assumed: float = key(0.7, "how busy a job's devices are where nothing was recorded, 0 to 1")


@dataclass
class Command:
    """What both commands share."""

    system: Any = key(MISSING, "the machine")
    workload: Any = key(MISSING, "the jobs: a group's name, or simply a file (log.swf.gz, jobs.parquet, jobs.csv)")
    estimates: str = key(_RUN.estimates, "what the scheduler believes of run times: requested, perfect, hybrid")
    semantics: str = key(_RUN.semantics, "cycle (one pass per instant) or cqsim (a pass after every event)")
    kill_at_request: bool = key(_RUN.kill_at_request, "end a job at its requested walltime")
    depth: int = key(_RUN.depth, "reservations that easy protects")
    window: int = key(_RUN.window, "jobs at the queue's front permuted for the earliest finish (0: off)")
    placement: str = key(_RUN.placement, "count, lowest, contiguous or recorded")
    reservations: str = key(_RUN.reservations, "what backfill reserves: counts of nodes, or named nodes as Slurm does")
    power_cap: float | None = key(_RUN.power_cap, "power that jobs wait for rather than pass, W: 20e6 (null: no cap)")
    over_cap: str = key(_RUN.over_cap, "jobs that would pass the cap: wait, or slow (all that run)")
    slowing: SlowingKeys = field(default_factory=SlowingKeys)
    idle_timeout: float | None = key(_RUN.idle_timeout, "switch nodes off after being idle this long, s (null: never)")
    multifactor: MultifactorWeights = field(default_factory=MultifactorWeights)
    weights: list[float] = key([], "weights of policy=loglinear or exponential ([]: the family's own)")
    outages: str | None = key(None, "a YAML or CSV file of outages")
    facility: FacilityKeys = field(default_factory=FacilityKeys)
    until: Any = key(None, "stop the clock at this time: seconds, 2d, a date (null: run to the end)")
    seed: int = key(_RUN.seed, "seed of everything random")
    tau: float = key(_RUN.tau, "bound of the bounded slowdown, s")
    out: str | None = key(None, "directory to write (null: runs/<time>-...)")
    overwrite: bool = key(False, "replace a run that is already there")
    csv: bool = key(False, "write tables as .csv too")
    figures: bool = key(True, "draw pictures")
    progress: bool = key(True, "show progress on a terminal")


@dataclass
class SimulateCommand(Command):
    """Keys of `twin-gym simulate`."""

    policy: str = key(_RUN.policy, "the order of the queue: one of `twin-gym policies`, or site: the system's own")
    backfill: str = key(_RUN.backfill, "none, firstfit, easy, conservative, or site: the system's own")


@dataclass
class CompareCommand(Command):
    """Keys of `twin-gym compare`."""

    policies: list[str] = key(["fcfs", "sjf", "saf", "wfp3", "f1"], "orders of the queue to compare")
    backfills: list[str] = key(["none", "easy"], "backfill modes to compare")
    runs: bool = key(False, "write the directory of every single run, too")
    workers: int | None = key(None, "processors to use (null: all)")


@dataclass
class EnvironmentCommand:
    """What commands that step environments share."""

    system: Any = key(MISSING, "the machine")
    workload: Any = key(MISSING, "the jobs: a group's name, or simply a file (log.swf.gz, jobs.parquet, jobs.csv)")
    env: Any = key(MISSING, "the environment: select_job, dispatch_policy, backfill, inspect, priority_weights")
    reward: Any = key(MISSING, "what is rewarded")
    seed: int = key(0, "seed of everything random")


@dataclass
class PlayCommand(EnvironmentCommand):
    """Keys of `twin-gym play`."""

    agent: str = key("fcfs", "who decides: a policy (sjf, wfp3+easy), first, random, or you (it asks)")
    steps: int | None = key(None, "steps to show (null: to the end of the episode)")
    delay: float = key(0.0, "time between two steps, s")
    first: int | None = key(None, "row of the episode's first job (null: drawn)")


@dataclass
class EvolveCommand(EnvironmentCommand):
    """Keys of `twin-gym evolve`."""

    family: str = key("loglinear", "priority functions to search in: loglinear, exponential, multifactor")
    objective: str = key("bounded_slowdown", "what is made small; one of the environments' objectives")
    generations: int = key(40, "of the search")
    population: int = key(16, "weights that each generation tries")
    windows: int = key(64, "windows of the train split on which they are tried")
    test_windows: int = key(200, "windows of the test split on which the best is compared with policies")
    against: list[str] = key(["fcfs", "sjf", "saf", "smallest", "f1", "f2"], "policies to compare it with")
    threads: int = key(2, "processors to use; the result does not depend on it")
    out: str | None = key(None, "directory to write (null: runs/<time>-...)")
    overwrite: bool = key(False, "replace a search that is already there")
    figures: bool = key(True, "draw a picture")
    progress: bool = key(True, "show progress on a terminal")


COMMANDS: dict[str, type[Any]] = {
    "simulate": SimulateCommand,
    "compare": CompareCommand,
    "play": PlayCommand,
    "evolve": EvolveCommand,
}
WORKLOADS: dict[str, type] = {
    "lublin": LublinWorkload,
    "swf": SwfWorkload,
    "parquet": FileWorkload,
    "csv": FileWorkload,
    "uniform": BoundedWorkload,
    "normal": BoundedWorkload,
    "weibull": WeibullWorkload,
    "multimodal": SyntheticWorkload,
    "peak": PhaseWorkload,
    "idle": PhaseWorkload,
    "benchmark": MachineWorkload,
}
"""Schema of each workload group that comes with twin_gym; others are checked against their own YAML file alone."""

SCHEMAS: dict[str, type] = {**WORKLOADS, "dataset": DatasetWorkload}
"""All schemas by name; ``dataset`` is that of the groups whose YAML file lists the options of a loader."""


class Key(NamedTuple):
    """One key as ``--help`` and completion see it."""

    name: str
    default: Any
    text: str


def keys(schema: type, prefix: str = "", besides: type = object) -> Iterator[Key]:
    """Yield the keys of a schema, its own before inherited ones, nested ones with their dotted names.

    Parameters
    ----------
    schema : type
        One of the dataclasses of this module.
    prefix : str
        Put before every name, such as ``workload.``.
    besides : type
        A schema whose keys are left out.
    """
    values = schema()
    inherited = {item.name for base in schema.__mro__[1:] if is_dataclass(base) for item in fields(base)}
    for item in sorted(fields(schema), key=lambda item: item.name in inherited):
        if item.name in getattr(besides, "__dataclass_fields__", {}):
            continue
        value = getattr(values, item.name)
        if isinstance(value, MultifactorWeights | FacilityKeys | SlowingKeys):
            yield from keys(type(value), f"{prefix}{item.name}.")
        else:
            yield Key(prefix + item.name, value, item.metadata["help"])
