"""From a workload and a configuration to the arrays on which the kernels work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twin_gym.config import BACKFILLS, PLACEMENTS, Multifactor, RunConfig
from twin_gym.errors import OptionError, PolicyError
from twin_gym.kernels.order import MULTIFACTOR, REPLAY
from twin_gym.kernels.state import (
    BOUND,
    CUT,
    ENDING,
    JOB,
    LOAD,
    LOST,
    NAP,
    NODE,
    PACE,
    PREDICTED,
    REQUEST,
    RUN,
    RUNTIME,
    SETUP,
    SIM,
    SLEEP,
    STEP,
    UNKNOWN,
    USAGE,
    Jobs,
    Outages,
    Records,
    State,
)
from twin_gym.kernels.tally import SHARE, TALLY
from twin_gym.outages import MODES, Outage
from twin_gym.policies import find_policy
from twin_gym.system import PowerStates, System
from twin_gym.workload import Workload


def _frozen(values: np.ndarray, dtype: type) -> np.ndarray:
    """Return a contiguous read-only view: one type for the kernels, and nobody writes to what all share."""
    array: np.ndarray = np.ascontiguousarray(values, dtype=dtype).view()
    array.flags.writeable = False
    return array


def user_count(workload: Workload) -> int:
    """Number of users that share the machine; all jobs of unknown users count as one user's."""
    return max(1, len(workload.users) + bool((workload.user < 0).any()))


def recorded_nodes(workload: Workload, system: System) -> tuple[np.ndarray, np.ndarray]:
    """Number recorded nodes as the scheduler does: places in the racks become 0, 1, ... of those available.

    Returns
    -------
    values : (V,) int32
        Node numbers, job after job; -1 for a place that is missing or down.
    offsets : (J+1,) int64
        Where each job's nodes begin; (1,) if no nodes are recorded.
    """
    recorded = workload.node_ids
    if recorded is None:
        return np.zeros(0, np.int32), np.zeros(1, np.int64)
    places = system.places
    numbers = np.full(max(system.total_nodes, int(places.max(initial=0)) + 1), -1, np.int32)
    numbers[places] = np.arange(len(places))
    known = (recorded.values >= 0) & (recorded.values < len(numbers))
    return np.where(known, numbers[np.where(known, recorded.values, 0)], -1), recorded.offsets


def job_table(
    workload: Workload,
    system: System,
    multifactor: Multifactor,
    predicted: np.ndarray | None = None,
    watts: np.ndarray | None = None,
) -> Jobs:
    """Lay a workload out for the kernels.

    Parameters
    ----------
    workload : Workload
        J jobs.
    system : System
        Tells which node is meant by a recorded id.
    multifactor : Multifactor
        Gives each partition its factor.
    predicted : (J,) array of seconds, optional
        Predicted runtimes, at least 1 s.
    watts : (J,) int64 array, optional
        Believed power above that of idle nodes, W.

    Raises
    ------
    OptionError
        If the predictions do not fit the workload, or a partition is named that no job has.
    """
    jobs = len(workload)
    if predicted is None:
        predicted = workload.requested_time
    else:
        predicted = np.asarray(predicted)
        if predicted.shape != (jobs,) or not np.all(np.isfinite(predicted)) or (jobs and predicted.min() < 1):
            raise OptionError(f"predicted runtimes must be {jobs} numbers of at least 1 s, one for each job.")
        predicted = np.ceil(predicted)
    factors = np.zeros(len(workload.partitions) + 1)
    for name, factor in multifactor.queue_factors.items():
        if name not in workload.partitions:
            raise OptionError(
                f"multifactor.queue_factors names partition {name!r}, but the workload has only: "
                f"{', '.join(workload.partitions) or 'none'}."
            )
        factors[workload.partitions.index(name)] = factor
    node_values, node_offsets = recorded_nodes(workload, system)
    return Jobs(
        submit=_frozen(workload.submit, np.int64),
        runtime=_frozen(workload.runtime, np.int64),
        request=_frozen(workload.requested_time, np.int64),
        predicted=_frozen(predicted, np.int64),
        nodes=_frozen(workload.nodes, np.int32),
        recorded_start=_frozen(workload.start, np.int64),
        priority=_frozen(np.nan_to_num(workload.priority, nan=0.0), np.float64),
        user=_frozen(np.where(workload.user < 0, user_count(workload) - 1, workload.user), np.int32),
        queue_factor=_frozen(factors[workload.partition], np.float64),
        initial=_frozen(workload.initial, np.uint8),
        watts=_frozen(np.zeros(0) if watts is None else watts, np.int64),
        node_values=_frozen(node_values, np.int32),
        node_offsets=_frozen(node_offsets, np.int64),
    )


def outage_table(outages: Sequence[Outage], clock: int) -> Outages:
    """Lay the outages out for the kernels, without those that are over before the clock begins."""
    kept = [outage for outage in outages if outage.end > clock]
    start = np.array([outage.start for outage in kept], np.int64)
    end = np.array([outage.end for outage in kept], np.int64)
    sizes = [len(outage.nodes) for outage in kept]
    return Outages(
        start=_frozen(start, np.int64),
        end=_frozen(end, np.int64),
        mode=_frozen(np.array([MODES.index(outage.mode) for outage in kept]), np.uint8),
        planned=_frozen(np.array([outage.planned for outage in kept]), np.uint8),
        offsets=_frozen(np.concatenate([[0], np.cumsum(sizes)]), np.int64),
        values=_frozen(np.array([node for outage in kept for node in outage.nodes]), np.int32),
        by_start=_frozen(np.argsort(start, kind="stable"), np.int32),
        by_end=_frozen(np.argsort(end, kind="stable"), np.int32),
    )


def first_clock(workload: Workload) -> int:
    """Time at which a simulation begins: the window's start, or the first submit of a workload that is no window."""
    if len(workload) == 0:
        return 0
    windowed = bool(workload.initial.any()) or int(workload.submit[0]) < 0
    return 0 if windowed else int(workload.submit[0])


def _power_states(system: System) -> PowerStates | None:
    """Return how nodes are switched off and on: as the first partition that says so."""
    return next((part.states for part in system.partitions if part.states is not None), None)


def setup_table(
    configs: Sequence[RunConfig], workload: Workload, system: System, *, outages: bool, budget: int = 0
) -> Records:
    """Turn checked configurations into one SETUP record each.

    Parameters
    ----------
    configs : sequence of RunConfig
        One for each environment.
    workload : Workload
        Their jobs.
    system : System
        Their machine.
    outages : bool
        Whether there are any.
    budget : int
        What the running jobs may draw above idle, W, where there is a power cap.
    """
    setups = np.zeros(len(configs), SETUP)
    setups["count"], setups["nodes"], setups["clock"] = len(workload), system.nodes, first_clock(workload)
    setups["origin"] = workload.submit[0] if len(workload) else 0
    setups["stretch"] = setups["growth"] = 1.0
    states = _power_states(system)
    for setup, config in zip(setups, configs, strict=True):
        policy = find_policy(config.policy)
        real = CUT if config.kill_at_request and policy.code != REPLAY else RUNTIME
        score, wait, plan = {
            "requested": (REQUEST, REQUEST, REQUEST),
            "perfect": (real, real, real),
            "hybrid": (REQUEST, real, REQUEST),
            "predicted": (PREDICTED, PREDICTED, PREDICTED),
        }[config.estimates]
        placement = config.placement
        if placement == "count" and policy.code == REPLAY and workload.node_ids is not None:
            placement = "recorded"
        elif placement == "count" and (outages or config.reservations == "nodes" or config.idle_timeout is not None):
            placement = "lowest"
        factor = config.multifactor
        setup["policy"] = policy.code
        setup["backfill"] = BACKFILLS.index(config.backfill)
        setup["cqsim"] = config.semantics == "cqsim" and policy.code != REPLAY
        setup["score_length"], setup["wait_length"], setup["plan_length"] = score, wait, plan
        setup["run_length"] = real
        setup["overdue"] = not (plan == real or (plan == REQUEST and real == CUT)) or bool(workload.initial.any())
        setup["depth"], setup["window"] = config.depth, config.window
        setup["placement"] = PLACEMENTS.index(placement)
        setup["by_node"] = config.reservations == "nodes"
        setup["seed"] = np.uint64(config.seed % 2**64)
        setup["powered"] = config.powered
        setup["cap"] = budget if config.power_cap is not None else _NO_CAP
        setup["limit"] = np.inf
        if config.power_cap is not None and config.over_cap == "slow":
            slowing = config.slowing
            setup["limit"], setup["floor"] = budget, slowing.floor
            setup["exponent"], setup["sensitivity"] = slowing.exponent, slowing.sensitivity
            setup["cap"] = int(budget / slowing.floor**slowing.exponent)
        if config.idle_timeout is not None and states is not None:
            setup["idle_timeout"] = min(config.idle_timeout, _NO_TIMEOUT)
            setup["shutdown"], setup["boot"] = states.shutdown_s, states.boot_s
        for name in ("age", "size", "fairshare", "queue", "max_age", "half_life"):
            setup[name] = getattr(factor, name)
        setup["weights"][: len(config.score_weights)] = config.score_weights
    return setups


def check_run(
    config: RunConfig, system: System, workload: Workload, outages: Sequence[Outage], predicted: np.ndarray | None
) -> None:
    """Check that a configuration's choices go together, with the system and with the workload.

    Raises
    ------
    PolicyError
        If the policy is unknown, or replay is asked for of jobs whose start is not recorded.
    OptionError
        If something that the configuration needs is not there.
    """
    policy = find_policy(config.policy)
    if policy.code == REPLAY:
        missing = workload.start == UNKNOWN
        if missing.any():
            raise PolicyError(
                f"policy=replay needs a recorded start for every job, but {int(missing.sum())} of {len(workload)} jobs "
                f"of {workload.name or 'the workload'} have none (the first is job {workload.id[missing][0]}); choose "
                "another policy or drop those jobs."
            )
    if config.placement == "recorded" and workload.node_ids is None:
        raise OptionError("placement=recorded needs recorded node ids, but the workload has none; choose lowest.")
    if config.idle_timeout is not None and _power_states(system) is None:
        raise OptionError(
            f"idle_timeout needs to know what a node of {system.name} draws when it is off and how long it boots; "
            "describe that under 'states' of its partition."
        )
    if config.powered and outages:
        option = "power_cap" if config.power_cap is not None else "idle_timeout"
        raise OptionError(f"{option} does not go with outages yet; leave one of them out.")
    if config.window and outages:
        raise OptionError("window does not go with outages: plan around outages with backfill=conservative instead.")
    if config.estimates == "predicted" and predicted is None:
        raise OptionError(
            "estimates=predicted needs predicted runtimes: pass predicted=, one number of s for each job."
        )


_NO_CAP = 2**62
_NO_TIMEOUT = 2**40  # s, far beyond any log, and far from an overflow
_ROOM = 1024  # entries that a log begins with; it grows as needed


def allocate(
    setups: Records, outages: Outages, users: int, *, sleeps: bool = False, tallied: bool = False, metered: bool = False
) -> State:
    """Allocate the state of all environments of a setup; `reset` fills it.

    Parameters
    ----------
    setups : (E,) SETUP
    outages : Outages
    users : int
        U, an unknown one among them.
    sleeps : bool
        Whether idle nodes are switched off.
    tallied : bool
        Whether objectives are added up while time passes.
    metered : bool
        Whether power is logged, too.
    """
    rows = len(setups)
    jobs = max(1, int(setups["count"].max(initial=0)))
    nodes = int(setups["nodes"].max(initial=1))
    named = bool((setups["placement"] != 0).any())
    running = min(jobs, nodes) + 1
    known = len(outages.start)
    words = (nodes + 63) // 64 if named else 1
    profile = running + jobs + 2 * known + 4
    powered = bool(setups["powered"].any())
    fair = bool((setups["policy"] == MULTIFACTOR).any())
    slowed = bool(np.isfinite(setups["limit"]).any())
    return State(
        sim=np.zeros(rows, SIM),
        job=np.zeros((rows, jobs), JOB),
        queue=np.zeros((rows, jobs), np.int32),
        need=np.zeros((rows, jobs), np.int32),
        wait=np.zeros((rows, jobs), np.int64),
        heap=np.zeros((rows, running), ENDING),
        plan=np.zeros((rows, running), ENDING),
        started=np.zeros((rows, jobs), np.int32),
        picks=np.zeros((rows, jobs), np.int32),
        steps=np.zeros((rows, profile), STEP),
        bounds=np.zeros((rows, 32), BOUND),
        step_bits=np.zeros((rows, _ROOM // 16 if known or setups["by_node"].any() else 3, words), np.uint64),
        free_bits=np.zeros((rows, words), np.uint64),
        node=np.zeros((rows, nodes if named else 1), NODE),
        runs=np.zeros((rows, _ROOM + nodes if named else 1), RUN),
        active=np.zeros((rows, known), np.uint8),
        lost=np.zeros((rows, running if known else 1), LOST),
        usage=np.zeros((rows, users + 1 if fair else 1), USAGE),
        headroom=np.zeros((rows, profile if powered else 0), np.int64),
        boot=np.zeros((rows, jobs if powered else 0), np.int64),
        sleep=np.zeros((rows, nodes if sleeps else 0), SLEEP),
        naps=np.zeros((rows, _ROOM + nodes if sleeps else 0), NAP),
        # at most two instants a job at which the frequency changes
        paces=np.zeros((rows, 2 * jobs + 2 if slowed else 0), PACE),
        tally=np.zeros((rows, int(tallied)), TALLY),
        share=np.zeros((rows, users if tallied else 0), SHARE),
        # power changes when a job starts and when it ends
        loads=np.zeros((rows, 2 * jobs + 2 if metered else 0), LOAD),
    )


def grow(state: State) -> State:
    """Give the logs and the profile by node twice the room, where they may run out of it."""

    def doubled(array: Records, least: int) -> Records:
        wide = np.zeros((array.shape[0], max(2 * array.shape[1], least), *array.shape[2:]), array.dtype)
        wide[:, : array.shape[1]] = array
        return wide

    sim = state.sim
    runs = int((sim["runs"] + sim["free"]).max())
    lost = int((sim["lost"] + sim["running"]).max())
    if runs > state.runs.shape[1]:
        state = state._replace(runs=doubled(state.runs, runs))
    if lost > state.lost.shape[1]:
        state = state._replace(lost=doubled(state.lost, lost))
    naps = int((sim["naps"] + sim["free"]).max())
    if state.naps.shape[1] and naps > state.naps.shape[1]:
        state = state._replace(naps=doubled(state.naps, naps))
    waiting = int((sim["end"] - sim["first"]).max())
    rows = int(sim["running"].max()) + waiting + 2 * state.active.shape[1] + 8
    if rows > state.step_bits.shape[1]:
        state = state._replace(step_bits=doubled(state.step_bits, rows))
    return state
