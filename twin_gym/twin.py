"""The twin: one simulation that can be advanced, stopped, asked, told what to do, copied, saved and resumed."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twin_gym.arrays import (
    allocate,
    check_run,
    first_clock,
    grow,
    job_table,
    outage_table,
    setup_table,
    user_count,
)
from twin_gym.config import BACKFILLS, RunConfig, as_scheduled, run_config
from twin_gym.errors import OptionError, PolicyError, ResultError, suggest
from twin_gym.kernels import events as loop
from twin_gym.kernels import jit, powered
from twin_gym.kernels.order import REPLAY
from twin_gym.kernels.state import DECISION, DONE, EVENTS, GROW, NEVER, UNKNOWN, UNTIL, Jobs, Records, State
from twin_gym.outages import Outage, check_outages
from twin_gym.outcome import Naps, Paces
from twin_gym.policies import FAMILIES, find_policy
from twin_gym.power_budget import job_watts, power_budget
from twin_gym.ragged import Ragged
from twin_gym.states import JobState

if TYPE_CHECKING:
    from twin_gym.result import Result
    from twin_gym.system import System
    from twin_gym.workload import Workload

_log = logging.getLogger("twin_gym")
_REASONS = {DONE: "done", UNTIL: "until", DECISION: "decision", EVENTS: "events"}
_SCRATCH = ("started", "picks", "steps", "bounds", "step_bits", "headroom")  # working space: never copied, never saved
_announced = False


def announce_compilation(kernel: Any = loop.advance) -> None:
    """Say once that the first run on a machine compiles the kernels, if this one is not compiled yet."""
    global _announced
    if not _announced and not jit.is_compiled(kernel):
        _log.warning("Compiling the kernels for this machine, once; it takes a minute or two.")
    _announced = True


@dataclass(frozen=True)
class View:
    """What is visible at the present time; the arrays are copies.

    Attributes
    ----------
    clock : int
        s since the workload's epoch.
    free : int
        Nodes that are free and up.
    queue : (q,) int64
        Rows of the waiting jobs, in the order of the last pass; where the order moves with time new ones stand last.
    running : (r,) int64
        Rows of the running jobs, by planned end.
    planned_end : (r,) int64
        When the scheduler believes that they end, s.
    decision : bool
        Whether a scheduling pass is due.
    """

    clock: int
    free: int
    queue: np.ndarray
    running: np.ndarray
    planned_end: np.ndarray
    decision: bool


@dataclass(frozen=True)
class Snapshot:
    """The state of a twin at one time, independent of it."""

    state: State

    @staticmethod
    def of(state: State) -> Snapshot:
        """Copy a state (its working space is not copied, only allocated anew)."""
        arrays: dict[str, np.ndarray] = state._asdict()
        return Snapshot(
            State(**{name: np.zeros_like(a) if name in _SCRATCH else a.copy() for name, a in arrays.items()})
        )


class Twin:
    """A batch scheduler on a system with a workload, stopped at any time and continued at will.

    Parameters
    ----------
    system : System
        What the jobs run on.
    workload : Workload
        The jobs; shared, never changed.
    config : RunConfig, optional
        All choices at once; or give them one by one:
    outages : sequence of Outage
        Nodes that are down for a time.
    predicted : (J,) array, optional
        Predicted runtimes for ``estimates="predicted"``, s.
    power : (J,) array, optional
        What the scheduler believes that each job draws, W above idle nodes, where there is a ``power_cap``; what the
        power model estimates if not given.
    jobs : Jobs, optional
        The job table, if the caller has laid it out (and checked the run) already: many twins share one.
    **options
        Fields of `RunConfig`: policy, backfill, estimates, semantics, ...

    Raises
    ------
    TwinGymError
        If a choice is unknown or does not go with the others or with the workload.

    Examples
    --------
    >>> twin = Twin(system, workload, policy="sjf", backfill="easy")
    >>> while twin.advance(decisions=True) == "decision":
    ...     twin.decide(policy="fcfs" if len(twin.state.queue) < 10 else "sjf")
    >>> twin.result().summary
    """

    def __init__(
        self,
        system: System,
        workload: Workload,
        config: RunConfig | None = None,
        *,
        outages: Sequence[Outage] = (),
        predicted: np.ndarray | None = None,
        power: np.ndarray | None = None,
        jobs: Jobs | None = None,
        **options: Any,
    ) -> None:
        if config is not None and options:
            raise OptionError(f"give config or {sorted(options)[0]}, not both.")
        config = config or run_config(**as_scheduled(system.scheduler, **options))
        outages = check_outages(outages, system.nodes)
        if jobs is None:
            check_run(config, system, workload, outages, predicted)
        self.system = system
        self.workload = workload
        self.config = config
        self.outages = outages
        clock = first_clock(workload)
        if jobs is None:
            watts = job_watts(config, system, workload, power)
            jobs = job_table(workload, system, config.multifactor, predicted, watts)
        self._jobs = jobs
        self._outages = outage_table(self.outages, clock)
        budget = power_budget(config, system)
        self._setup = setup_table([config], workload, system, outages=bool(self.outages), budget=budget)
        sleeps = config.idle_timeout is not None
        self._state = allocate(self._setup, self._outages, user_count(workload), sleeps=sleeps)
        announce_compilation()
        self.reset()

    # ------------------------------------------------------------------------------------------------ time

    def reset(self) -> None:
        """Go back to the beginning: initial jobs on their nodes, everything else still to come."""
        loop.reset(self._jobs, self._outages, self._setup, self._state, 0)

    def advance(self, until: int | None = None, events: int | None = None, *, decisions: bool = False) -> str:
        """Let time pass.

        Parameters
        ----------
        until : int, optional
            Go no further than this time, s since the workload's epoch; what happens at that very time still happens.
            Without it, to the end.
        events : int, optional
            Come back after this many instants at which something happens.
        decisions : bool
            Come back before each scheduling pass with a job in the queue; call `decide`, then `advance` again.

        Returns
        -------
        str
            ``"done"``: nothing is left to happen; ``"until"``, ``"events"`` or ``"decision"``: as asked for.

        Raises
        ------
        OptionError
            If `until` lies before the clock.
        """
        limit = NEVER if until is None else int(until)
        if limit < self.clock:
            raise OptionError(
                f"until={limit} lies before the clock, which stands at {self.clock} s; time can't go back."
            )
        count = -1 if events is None else int(events)
        if events is not None and count < 1:
            raise OptionError(f"events={events} must be at least 1.")
        while True:
            before = self._counter("passes")
            code = loop.advance(self._jobs, self._outages, self._setup, self._state, 0, limit, count, decisions)
            if code != GROW:
                return _REASONS[code]
            if count > 0:
                count = max(1, count - (self._counter("passes") - before))
            self._state = grow(self._state)

    # ------------------------------------------------------------------------------------------------ looking

    @property
    def clock(self) -> int:
        """Present time, s since the workload's epoch."""
        return self._counter("clock")

    def _counter(self, name: str) -> int:
        return int(self._state.sim[name][0])

    @property
    def arrived(self) -> int:
        """Number of jobs submitted so far."""
        return self._counter("arrived")

    @property
    def running(self) -> int:
        """Number of running jobs."""
        return self._counter("running")

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return self._counter("end") - self._counter("first")

    @property
    def utilization(self) -> float:
        """Share of the nodes that are busy (or down), 0 to 1."""
        return 1.0 - self._counter("free") / max(self.system.nodes, 1)

    @property
    def drawn(self) -> float | None:
        """What running jobs are believed to draw above idle nodes, W; None if the twin does not follow it."""
        return float(self._counter("drawn")) if len(self._jobs.watts) else None

    @property
    def state(self) -> View:
        """What is visible now."""
        st = self._state
        plan = st.plan[0, : self._counter("running")]
        return View(
            clock=self.clock,
            free=self._counter("free"),
            queue=self._queue(st),
            running=plan["job"].astype(np.int64),
            planned_end=plan["time"].copy(),
            decision=bool(self._counter("due")),
        )

    @staticmethod
    def _queue(st: State) -> np.ndarray:
        return st.queue[0, st.sim["first"][0] : st.sim["end"][0]].astype(np.int64)

    # ------------------------------------------------------------------------------------------------ deciding

    def decide(
        self,
        *,
        start: Sequence[int] | None = None,
        policy: str | None = None,
        backfill: str | None = None,
    ) -> None:
        """Do the pass that is due, as told.

        Parameters
        ----------
        start : sequence of int, optional
            Rows of waiting jobs to start now, in this order. An empty sequence starts nothing.
        policy, backfill : str, optional
            Let the twin do the pass by this policy and backfill mode instead of its own.

        Raises
        ------
        OptionError
            If no pass is due, or a job to start does not wait or does not fit; those before it have been started.
        PolicyError
            If the policy or the backfill mode is unknown.
        """
        st, setup = self._state, self._setup
        if not self._counter("due"):
            raise OptionError("no decision is due; call advance(decisions=True) until it returns 'decision'.")
        if start is not None:
            if policy is not None or backfill is not None:
                raise OptionError("give either the jobs to start or a policy, not both.")
            chosen = np.asarray(start, np.int64).reshape(-1)
            if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(self.workload)):
                raise OptionError(f"rows of jobs to start must lie between 0 and {len(self.workload) - 1}.")
            started = loop.start_given(self._jobs, setup, st, 0, chosen)
            if started < len(chosen):
                row = int(chosen[started])
                raise OptionError(
                    f"job {self.workload.id[row]} (row {row}) can't start at {self.clock} s: it does not wait, or its "
                    f"{self.workload.nodes[row]} nodes are more than the {self._counter('free')} free ones."
                )
        else:
            chosen_policy = find_policy(policy or self.config.policy)
            mode = backfill or self.config.backfill
            if mode not in BACKFILLS:
                raise PolicyError(f"backfill={mode!r} is unknown.{suggest(mode, BACKFILLS)}")
            self._check_kept(chosen_policy.name)
            if (chosen_policy.code == REPLAY) != (self.config.policy == "replay"):
                raise PolicyError("replay can't be mixed with other policies: build the twin with policy='replay'.")
            loop.decide(self._jobs, self._outages, setup, st, 0, chosen_policy.code, BACKFILLS.index(mode))
        st.sim["due"][0] = 0

    def _check_kept(self, policy: str) -> None:
        """Check that a policy which needs more than the jobs and the clock is the twin's own."""
        if policy in FAMILIES and policy != self.config.policy:
            what = "fair share is" if policy == "multifactor" else f"weights of {policy} are"
            raise PolicyError(f"{what} only kept by a twin that was built with policy={policy!r}.")

    def order(self, policy: str | None = None) -> np.ndarray:
        """Return the rows of the waiting jobs in a policy's order at the present time, without doing anything.

        Parameters
        ----------
        policy : str, optional
            The twin's own if not given.

        Returns
        -------
        (q,) int64
        """
        state = Snapshot.of(self._state).state
        chosen = find_policy(policy or self.config.policy)
        self._check_kept(chosen.name)
        loop.sort_waiting(self._jobs, self._setup, state, 0, chosen.code)
        return self._queue(state)

    def switch_off(self, nodes: Sequence[int]) -> int:
        """Switch idle nodes off now; return how many were on and idle.

        Parameters
        ----------
        nodes : sequence of int
            Numbers of nodes, 0 .. N-1. Busy ones, and those that are off already, stay as they are.

        Raises
        ------
        OptionError
            If the twin was built without ``idle_timeout``, or a number is none of a node.
        """
        return int(powered.switch_off(self._setup, self._state, 0, self._switchable(nodes)))

    def switch_on(self, nodes: Sequence[int]) -> int:
        """Boot nodes that are off or shutting down; return how many were. See `switch_off`."""
        return int(powered.switch_on(self._setup, self._state, 0, self._switchable(nodes)))

    def _switchable(self, nodes: Sequence[int]) -> np.ndarray:
        if self.config.idle_timeout is None:
            raise OptionError("nodes can only be switched by a twin built with idle_timeout (inf: only when told).")
        chosen = np.unique(np.asarray(nodes, np.int64))
        if len(chosen) and not (chosen[0] >= 0 and chosen[-1] < self.system.nodes):
            raise OptionError(f"nodes to switch must lie between 0 and {self.system.nodes - 1}.")
        if self._counter("naps") + len(chosen) > self._state.naps.shape[1]:
            self._state = grow(self._state)
        return chosen

    # ------------------------------------------------------------------------------------------------ copying

    def snapshot(self) -> Snapshot:
        """Keep the present state."""
        return Snapshot.of(self._state)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that was kept."""
        self._state = Snapshot.of(snapshot.state).state

    def fork(self) -> Twin:
        """Return an independent twin in the same state; workload and configuration are shared."""
        twin = object.__new__(Twin)
        twin.__dict__.update(self.__dict__)
        twin._state = Snapshot.of(self._state).state
        return twin

    # ------------------------------------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        """Write the state to a file (``.npz``), from which another process can go on.

        Raises
        ------
        ResultError
            If the file can't be written.
        """
        path = Path(path)
        meta = json.dumps({"config": self.config.to_dict(), "identity": self._identity()}, sort_keys=True)
        arrays: dict[str, Any] = {
            f"shape_{name}" if name in _SCRATCH else name: np.array(array.shape) if name in _SCRATCH else array
            for name, array in self._state._asdict().items()
        }
        partial = path.with_name(path.name + f".{os.getpid()}.partial")
        try:
            with partial.open("wb") as file:
                np.savez_compressed(file, meta=np.frombuffer(meta.encode(), np.uint8), **arrays)
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise ResultError(f"state can't be written to {path}: {error.strerror or error}.") from None

    def load(self, path: str | Path) -> None:
        """Go on from a state that `save` has written; the twin must be built as the saved one was.

        Raises
        ------
        ResultError
            If the file can't be read, or belongs to another system, workload, configuration or set of outages.
        """
        current = self._state._asdict()
        try:
            with np.load(path, allow_pickle=False) as data:
                meta = json.loads(bytes(data["meta"]).decode())
                # a file keeps offsets but not that a record is aligned, without which the kernels would compile anew
                arrays = {name: data[name].view(current[name].dtype) for name in State._fields if name not in _SCRATCH}
                shapes = {name: tuple(int(n) for n in data[f"shape_{name}"]) for name in _SCRATCH}
        except (OSError, KeyError, ValueError, EOFError) as error:
            raise ResultError(f"{path} is not a saved state of a twin ({type(error).__name__}).") from None
        if meta["identity"] != self._identity() or meta["config"] != json.loads(json.dumps(self.config.to_dict())):
            raise ResultError(
                f"{path} was saved by a twin of another system, workload, configuration or set of outages."
            )
        scratch = {name: np.zeros(shapes[name], current[name].dtype) for name in _SCRATCH}
        self._state = State(**arrays, **scratch)

    def _identity(self) -> dict[str, Any]:
        """What a saved state depends on besides the configuration."""
        return {
            "nodes": self.system.nodes,
            "workload": self.workload.fingerprint(),
            "outages": [[list(o.nodes), o.start, o.end, o.mode, o.planned] for o in self.outages],
        }

    # ------------------------------------------------------------------------------------------------ result

    def result(self) -> Result:
        """Return what has happened so far."""
        import pandas as pd

        from twin_gym.result import Result

        st, jobs = self._state, len(self.workload)
        lost = st.lost[0, : self._counter("lost")]
        named = bool(self._setup["placement"][0])
        job = st.job[0, :jobs]
        start, phase = job["start"].copy(), job["phase"].astype(np.int8)
        if self.config.powered:
            start[start != UNKNOWN] += st.boot[0, :jobs][start != UNKNOWN]
            phase[(phase == JobState.RUNNING) & (start > self.clock)] = JobState.QUEUED  # their nodes boot
        return Result.build(
            workload=self.workload,
            system=self.system,
            config=self.config,
            start=start,
            end=job["end"].copy(),
            state=phase,
            attempts=pd.DataFrame({name: lost[name] for name in ("job", "start", "end")}) if len(lost) else None,
            placement=_node_lists(st.runs[0, : self._counter("runs")], job["turn"]) if named else None,
            counters={
                **{name: self._counter(name) for name in ("passes", "displaced", "relocated")},
                "delayed": int((job["start"] > self.workload.start).sum()) if self.config.policy == "replay" else 0,
            },
            clock=self.clock,
            naps=self._naps(),
            paces=self._paces(),
        )

    def _paces(self) -> Paces | None:
        """Gather at which frequency jobs have run, if a cap may slow them."""
        log = self._state.paces[0, : self._counter("paces")]
        return Paces(log["time"].copy(), log["frequency"].copy()) if len(log) else None

    def _naps(self) -> Naps | None:
        """Gather when nodes were off, those that still are among them."""
        if self.config.idle_timeout is None:
            return None
        st, clock = self._state, self.clock
        past = st.naps[0, : self._counter("naps")]
        asleep = np.flatnonzero((st.node[0]["owner"] < 0) & (st.sleep[0]["down"] < clock))
        now = np.full(len(asleep), clock)
        return Naps(
            node=np.append(past["node"], asleep),
            off=np.append(past["off"], st.sleep[0]["down"][asleep]),
            on=np.append(past["on"], now),
            ready=np.append(past["ready"], now),
        )


def _node_lists(runs: Records, turn: np.ndarray) -> Ragged:
    """Gather each job's nodes from the placement log; of several attempts of a job only the last one counts."""
    runs = runs[runs["turn"] == turn[runs["job"]]]
    runs = runs[np.argsort(runs["job"], kind="stable")]
    count = runs["count"].astype(np.int64)
    sizes = np.bincount(runs["job"], weights=count, minlength=len(turn)).astype(np.int64)
    begin = np.cumsum(count) - count
    values = np.repeat(runs["node"] - begin, count) + np.arange(int(count.sum()))
    return Ragged(values=values.astype(np.int32), offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
