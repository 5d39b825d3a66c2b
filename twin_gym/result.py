"""`Result`: what became of every job in one run, and the table, the timeline and the numbers that follow from it.

Everything is derived from a few arrays when it is first asked for, so that a result of ten million jobs costs little
more than its start and end times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym import metrics
from twin_gym.config import RunConfig
from twin_gym.outcome import Attempts, Codes, Flags, Ints, Naps, Outcome, Paces, Scenario
from twin_gym.states import JobState
from twin_gym.workload import UNKNOWN, Workload

if TYPE_CHECKING:
    from twin_gym.facility import Facility
    from twin_gym.ragged import Ragged
    from twin_gym.system import System

Value = float | int | str | None

_STARTED = (JobState.RUNNING, JobState.COMPLETED, JobState.TIMEOUT, JobState.FAILED)
_ENDED = (JobState.COMPLETED, JobState.TIMEOUT, JobState.FAILED)
_UNFINISHED = (JobState.PENDING, JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, eq=False)
class Result:
    """One run: who ran when, and how good that was.

    Attributes
    ----------
    config : RunConfig
        What the scheduler was told.
    scenario : Scenario
        On what it worked.
    outcome : Outcome
        What became of every job.
    attempts : Attempts
        Runs that an outage cut short.
    placement : Ragged or None
        Node ids of every job's last run, if nodes have identities.
    counters : mapping of str to int
        What the engine counted.
    clock : int
        Time at which the run stopped, s since the workload's epoch.
    workload : Workload or None
        The jobs as they were given; None in a result that was read from a directory.
    naps : Naps
        When nodes were off.
    paces : Paces
        At which frequency jobs ran, if a power cap slowed them.
    """

    config: RunConfig
    scenario: Scenario
    outcome: Outcome
    attempts: Attempts
    placement: Ragged | None
    counters: Mapping[str, int]
    clock: int
    workload: Workload | None = None
    naps: Naps = field(default_factory=Naps)
    paces: Paces = field(default_factory=Paces)

    def __repr__(self) -> str:
        return f"Result({self.label}; {len(self.outcome)} jobs of {self.scenario.workload} on {self.scenario.system})"

    @classmethod
    def build(
        cls,
        workload: Workload,
        system: System,
        config: RunConfig,
        start: Ints,
        end: Ints,
        state: npt.NDArray[np.int8],
        attempts: pd.DataFrame | None,
        placement: Ragged | None,
        counters: Mapping[str, int],
        clock: int,
        naps: Naps | None = None,
        paces: Paces | None = None,
    ) -> Self:
        """Make a result of what an engine hands over, without copying: the arrays are the result's from now on.

        Parameters
        ----------
        workload, system, config
            What was run.
        start, end : (J,) int64
            Of the last attempt, s since the workload's epoch; ignored where the state says that there is none.
        state : (J,) int8
            A `JobState` each.
        attempts : DataFrame or None
            Columns job (row), start, end: runs that were cut short and whose jobs were queued again.
        placement : Ragged or None
            J rows of node ids.
        counters : mapping of str to int
            Further numbers for the summary.
        clock : int
            Time at which the run stopped, s since the workload's epoch.
        naps : Naps, optional
            When nodes were off.
        paces : Paces, optional
            At which frequency jobs ran.
        """
        outcome = Outcome(
            id=workload.id,
            submit=workload.submit,
            requested_time=workload.requested_time,
            start=start,
            end=end,
            nodes=workload.nodes,
            state=state,
            user=workload.user,
            account=workload.account,
            partition=workload.partition,
            priority=workload.priority,
            # one that found no room was scheduled by this run after all
            initial=workload.initial & (start == workload.start),
            users=workload.users,
            accounts=workload.accounts,
            partitions=workload.partitions,
        )
        for times, states in ((start, _STARTED), (end, _ENDED)):
            absent = ~outcome.among(states)
            if absent.any():
                times[absent] = UNKNOWN
        lost = Attempts()
        if attempts is not None and len(attempts):
            lost = Attempts(*(attempts[name].to_numpy(np.int64) for name in ("job", "start", "end")))
        scenario = Scenario(
            system=system.name,
            nodes=int(system.nodes),
            workload=workload.name,
            unit=workload.unit,
            epoch=int(workload.epoch) if workload.epoch_known else None,
            dropped=workload.report.dropped,
            defects=workload.report.counts(),
        )
        rest = naps or Naps(), paces or Paces()
        return cls(config, scenario, outcome, lost, placement, dict(counters), int(clock), workload, *rest)

    # ------------------------------------------------------------------------------------------------ what was run

    @property
    def label(self) -> str:
        """Policy and backfill, as figures and tables name this run."""
        backfill = "no backfill" if self.config.backfill == "none" else f"{self.config.backfill} backfill"
        return f"{self.config.policy}, {backfill}"

    @cached_property
    def begin(self) -> int:
        """First instant that counts: time 0 of a window, else the first submit, s."""
        o = self.outcome
        if len(o) == 0:
            return 0
        first = int(o.submit[0])
        return 0 if first < 0 or o.initial.any() else first

    @cached_property
    def finish(self) -> int:
        """Last instant that counts: the last end, or the clock of a run that was stopped before all jobs ended, s."""
        o = self.outcome
        if o.among(_UNFINISHED).any():
            return max(self.clock, self.begin)
        return max(self.begin, int(o.end.max(initial=UNKNOWN)))

    @cached_property
    def restarts(self) -> Codes:
        """How often an outage cut each job short and it was queued again, (J,)."""
        return np.bincount(self.attempts.job, minlength=len(self.outcome)).astype(np.int32)

    # ------------------------------------------------------------------------------------------------ tables

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row for each job, in submit order.

        Columns: id, submit, start, end, nodes, wait, runtime, requested_time, turnaround, slowdown, bounded_slowdown,
        state, user, account, partition, priority, restarts, initial. Times in s (`Int64`: missing where there is none);
        start, wait and runtime are those of the last attempt; slowdowns are NaN for a job that has not ended.
        """
        o = self.outcome
        started, ended = o.start != UNKNOWN, o.end != UNKNOWN

        def times(values: Ints, known: Flags) -> pd.arrays.IntegerArray:
            return pd.arrays.IntegerArray(np.where(known, values, 0), ~known)

        wait = np.where(started, o.start - o.submit, 0)
        runtime = np.where(ended, o.end - o.start, 0)
        bounded = metrics.bounded_slowdown(wait, runtime, self.config.tau)
        bounded[~ended] = np.nan
        return pd.DataFrame(
            {
                "id": o.id,
                "submit": o.submit,
                "start": times(o.start, started),
                "end": times(o.end, ended),
                "nodes": o.nodes,
                "wait": times(wait, started),
                "runtime": times(runtime, ended),
                "requested_time": o.requested_time,
                "turnaround": times(wait + runtime, ended),
                "slowdown": metrics.slowdown(wait, runtime),
                "bounded_slowdown": bounded,
                "state": pd.Categorical.from_codes(o.state, [state.name for state in JobState]),
                "user": pd.Categorical.from_codes(o.user, list(o.users)),
                "account": pd.Categorical.from_codes(o.account, list(o.accounts)),
                "partition": pd.Categorical.from_codes(o.partition, list(o.partitions)),
                "priority": o.priority,
                "restarts": self.restarts,
                "initial": o.initial,
            },
            copy=False,
        )

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """One row for each instant at which something changes; the values hold from there to the next row.

        Columns: time [s since the workload's epoch], busy_nodes, free_nodes (all that are not busy, up or down),
        utilization (busy / all, 0 to 1), queued, running (jobs). The first row is at `begin`, the last at `finish`.
        """
        o, lost, begin = self.outcome, self.attempts, self.begin
        started, ended = o.start != UNKNOWN, o.end != UNKNOWN
        admitted = ~o.among((JobState.PENDING, JobState.REFUSED))
        joins = np.sort(np.concatenate([np.maximum(o.submit[admitted], begin), lost.end]))
        starts, start_nodes = _steps(o.start, started, lost.start, o.nodes, lost.job, begin)
        ends, end_nodes = _steps(o.end, ended, lost.end, o.nodes, lost.job, begin)
        time = np.concatenate([joins, starts, ends, [begin, self.finish]])
        time.sort()
        time = time[np.append(True, time[1:] != time[:-1])]

        def happened(events: Ints) -> Codes:
            """Count the events up to each instant, itself included."""
            count: Codes = np.searchsorted(events, time, side="right").astype(np.int32)
            return count

        running, ended_jobs, queued = happened(starts), happened(ends), happened(joins)
        queued -= running
        busy = start_nodes[running]
        busy -= end_nodes[ended_jobs]
        busy_nodes = busy.astype(np.int32)
        running -= ended_jobs
        del joins, starts, ends, start_nodes, end_nodes, busy, ended_jobs  # gigabytes, if there are ten million jobs
        return pd.DataFrame(
            {
                "time": time,
                "busy_nodes": busy_nodes,
                "free_nodes": self.scenario.nodes - busy_nodes,
                "utilization": busy_nodes / max(self.scenario.nodes, 1),
                "queued": queued,
                "running": running,
            },
            copy=False,
        )

    # ------------------------------------------------------------------------------------------------ numbers

    @cached_property
    def summary(self) -> dict[str, Value]:
        """The numbers of this run, flat and ready for JSON; None where one is undefined.

        - ``policy``, ``backfill``.
        - ``jobs`` and how they stand: ``jobs_completed`` and ``jobs_timeout`` (ended at the requested time), together
          ``jobs_finished``; ``jobs_failed`` (killed by an outage), ``jobs_refused`` (larger than the system);
          ``jobs_running``, ``jobs_queued``, ``jobs_pending`` of a run that was stopped early; ``jobs_initial`` were
          running when the window began; ``jobs_dropped`` were left out of the workload (not among ``jobs``).
        - ``wait_*``, ``turnaround_*`` [s], ``slowdown_*``, ``bounded_slowdown_*``: mean, median, p95 and max; ``awrt``
          and ``psrt`` [s]; ``fairness``: Jain's index of the users' mean bounded slowdowns, jobs of unknown users left
          out. All of these are over the finished jobs that this run has scheduled: failed, refused and unfinished ones
          don't count, nor do those that were running when the window began.
        - ``makespan`` [s] from `begin` to `finish`, and in it ``utilization`` (whatever held nodes counts),
          ``throughput`` [finished jobs/h], ``queued_mean`` and ``running_mean`` [jobs].
        - ``node_hours``, of them ``lost_node_hours`` in runs that an outage cut short; ``restarts`` after an outage.
        - ``size_1``, ``size_2``, ``size_3_4``, ``size_5_8`` ...: finished jobs by nodes, up to the system's size.
        - What the engine counted.
        """
        o = self.outcome
        count = np.bincount(o.state, minlength=len(JobState))
        finished = o.among((JobState.COMPLETED, JobState.TIMEOUT))
        summary: dict[str, Value] = {
            "policy": self.config.policy,
            "backfill": self.config.backfill,
            "jobs": len(o),
            "jobs_finished": int(finished.sum()),
        }
        summary |= {f"jobs_{state.name.lower()}": int(count[state]) for state in sorted(JobState, reverse=True)}
        summary |= {"jobs_initial": int(o.initial.sum()), "jobs_dropped": self.scenario.dropped}
        summary |= self._service(finished & ~o.initial)
        summary |= self._usage(int(summary["jobs_finished"] or 0))
        edges = metrics.size_edges(self.scenario.nodes)
        sizes = np.bincount(metrics.size_classes(o.nodes[finished], edges), minlength=len(edges))
        summary |= {f"size_{name}": int(n) for name, n in zip(metrics.size_names(edges), sizes, strict=True)}
        return summary | dict(self.counters)

    def _service(self, served: Flags) -> dict[str, Value]:
        """What the given jobs got; one temporary at a time, for they may be ten million."""
        o = self.outcome
        rows = slice(None) if served.all() else np.flatnonzero(served)
        start, nodes = o.start[rows], o.nodes[rows]
        wait = start - o.submit[rows]
        runtime = o.end[rows] - start
        turnaround = wait + runtime
        numbers: dict[str, Value] = {}

        def describe(name: str, values: metrics.Numbers) -> None:
            numbers.update({f"{name}_{part}": value for part, value in metrics.spread(values)._asdict().items()})

        describe("wait", wait)
        describe("turnaround", turnaround)
        ratio = metrics.slowdown(wait, runtime)
        describe("slowdown", ratio[~np.isnan(ratio)])
        ratio = metrics.bounded_slowdown(wait, runtime, self.config.tau)
        describe("bounded_slowdown", ratio)
        numbers["fairness"] = metrics.jain(metrics.mean_by(o.user[rows], ratio, len(o.users)))
        del ratio
        numbers["awrt"] = metrics.awrt(nodes, runtime, turnaround)
        numbers["psrt"] = metrics.psrt(nodes, wait, turnaround)
        return numbers

    def _usage(self, finished: int) -> dict[str, Value]:
        """What the run made of the machine between `begin` and `finish`."""
        o, lost, begin, finish = self.outcome, self.attempts, self.begin, self.finish
        started = o.start != UNKNOWN
        end = np.where(o.end != UNKNOWN, o.end, np.where(started, finish, begin))
        start = np.where(started, o.start, end)
        busy = metrics.node_seconds(start, end, o.nodes, begin, finish)
        running = metrics.node_seconds(start, end, 1, begin, finish)
        failed = o.state == JobState.FAILED
        wasted = metrics.node_seconds(start[failed], end[failed], o.nodes[failed], begin, finish)
        cut = metrics.node_seconds(lost.start, lost.end, o.nodes[lost.job], begin, finish)
        cut_jobs = metrics.node_seconds(lost.start, lost.end, 1, begin, finish)
        # a job waits from its submit to its (last) start, except while an attempt that failed was running
        leave = np.where(started, o.start, np.where(o.among((JobState.QUEUED,)), finish, o.submit))
        waiting = metrics.node_seconds(o.submit, leave, 1, begin, finish) - cut_jobs
        makespan = finish - begin
        return {
            "makespan": makespan,
            "utilization": metrics.utilization(busy + cut, self.scenario.nodes, makespan),
            "throughput": metrics.throughput(finished, makespan),
            "queued_mean": waiting / makespan if makespan else None,
            "running_mean": (running + cut_jobs) / makespan if makespan else None,
            "node_hours": (busy + cut) / 3600.0,
            "lost_node_hours": (wasted + cut) / 3600.0,
            "restarts": len(lost),
        }

    # ------------------------------------------------------------------------------------------------ files

    def save(
        self,
        directory: str | PathLike[str],
        *,
        csv: bool = False,
        figures: bool = True,
        overwrite: bool = False,
        facility: Facility | None = None,
    ) -> Path:
        """Write a run directory, all of it or nothing.

        Parameters
        ----------
        directory : path
            Made if it does not exist.
        csv : bool
            Write the job table as ``job_history.csv``, too.
        figures : bool
            Draw ``figures/*.png``.
        overwrite : bool
            Replace a run that is there already; a warning in the log says so.
        facility : Facility, optional
            What `twin_gym.operate` has found of this run: power, cooling, cost.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        ResultError
            If there is something already, or it can't be written.
        """
        from twin_gym.run_directory import write

        return write(self, Path(directory), csv=csv, figures=figures, overwrite=overwrite, facility=facility)

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Result:
        """Read a run directory.

        Raises
        ------
        ResultError
            If it is none, or a file in it is damaged.
        """
        from twin_gym.run_directory import read

        return read(Path(directory))


def _steps(times: Ints, known: Flags, lost: Ints, nodes: Codes, job: Ints, begin: int) -> tuple[Ints, Ints]:
    """Sort events by time and sum their nodes up.

    Returns
    -------
    times : (K,) int64
        Of the jobs that have such a time and of the attempts that were lost, not before `begin`.
    nodes : (K + 1,) int64
        Nodes of the first k events together.
    """
    if not known.all():
        times, nodes, all_nodes = times[known], nodes[known], nodes
    else:
        all_nodes = nodes
    moment = np.maximum(np.concatenate([times, lost]), begin)
    order = np.argsort(moment)  # in any order among equals: only sums at the end of an instant are used
    total = np.zeros(len(moment) + 1, np.int64)
    np.cumsum(np.concatenate([nodes, all_nodes[job]])[order], out=total[1:])
    return moment[order], total
