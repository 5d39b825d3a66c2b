"""Run a twin to its end, or many of them side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from twin_gym.arrays import check_run, job_table
from twin_gym.config import RunConfig, as_scheduled, run_config
from twin_gym.errors import OptionError
from twin_gym.outages import Outage, check_outages
from twin_gym.power_budget import job_watts
from twin_gym.twin import Twin

if TYPE_CHECKING:
    import pandas as pd

    from twin_gym.result import Result
    from twin_gym.system import System
    from twin_gym.workload import Workload

_STRIDE = 100_000  # instants between two looks at Ctrl-C and the progress bar: some 20 ms


def run(
    twin: Twin,
    until: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[Twin], None] | None = None,
) -> None:
    """Advance a twin to its end in strides, so that it can be watched and interrupted."""
    total = len(twin.workload)
    while twin.advance(until, _STRIDE) == "events":
        if progress is not None:
            progress(twin.arrived, total)
        if watch is not None:
            watch(twin)
    if progress is not None:
        progress(total, total)


def simulate(
    system: System,
    workload: Workload,
    policy: str = "fcfs",
    backfill: str = "none",
    *,
    outages: Sequence[Outage] = (),
    predicted: np.ndarray | None = None,
    power: np.ndarray | None = None,
    until: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[Twin], None] | None = None,
    **options: Any,
) -> Result:
    """Schedule a workload on a system and return what happened.

    Parameters
    ----------
    system : System
        What the jobs run on.
    workload : Workload
        The jobs.
    policy : str
        Ordering policy, one of `twin_gym.policies()`; ``replay`` repeats the recorded schedule, ``learned:FILE`` is a
        priority function in a file (`twin_gym.learned`), ``site`` what the system's description says of its own.
    backfill : str
        ``none``, ``firstfit``, ``easy``, ``conservative``, or ``site``.
    outages : sequence of Outage
        Nodes that are down for a time.
    predicted : (J,) array, optional
        Predicted runtimes for ``estimates="predicted"``, s.
    power : (J,) array, optional
        What the scheduler believes that each job draws under a ``power_cap``, W above idle nodes; what the power model
        estimates if not given.
    until : int, optional
        Stop at this time, s since the workload's epoch; without it, when all jobs have ended.
    progress : callable, optional
        Called now and then with the number of jobs submitted so far and of all jobs.
    watch : callable, optional
        Called now and then with the twin, to look at; it must not be changed.
    **options
        The other fields of `RunConfig`: estimates, semantics, kill_at_request, depth, window, placement, seed, tau,
        multifactor, weights.

    Returns
    -------
    Result

    Raises
    ------
    TwinGymError
        If a choice is unknown, or does not go with the others or with the workload.
    """
    choices = {"policy": policy, "backfill": backfill, **options}
    twin = Twin(system, workload, outages=outages, predicted=predicted, power=power, **choices)
    run(twin, until, progress, watch)
    return twin.result()


def compare(
    system: System,
    workload: Workload,
    policies: Sequence[str] = ("fcfs", "sjf", "saf", "wfp3", "f1"),
    backfills: Sequence[str] = ("none", "easy"),
    *,
    workers: int | None = None,
    keep: bool = False,
    outages: Sequence[Outage] = (),
    predicted: np.ndarray | None = None,
    power: np.ndarray | None = None,
    until: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run every combination of policy and backfill on the same workload, in parallel, without copying it.

    Parameters
    ----------
    system, workload, outages, predicted, power, until
        As in `simulate`.
    policies, backfills : sequence of str
        What to combine.
    workers : int, optional
        Threads; as many as there are processors if not given. The table does not depend on it.
    keep : bool
        Keep the results, in the order of the rows, in ``table.attrs["results"]``.
    progress : callable, optional
        Called with the number of runs done and of all runs.
    **options
        The other fields of `RunConfig`, the same for all.

    Returns
    -------
    pandas.DataFrame
        One row for each combination: policy, backfill and the numbers of `Result.summary`.
    """
    import pandas as pd

    if isinstance(policies, str):
        policies = [policies]
    if isinstance(backfills, str):
        backfills = [backfills]
    if not policies or not backfills:
        raise OptionError("compare needs at least one policy and one backfill mode.")
    base = run_config(**options)
    chosen = [(policy, backfill) for policy in policies for backfill in backfills]
    configs = [
        replace(base, **as_scheduled(system.scheduler, policy=policy, backfill=backfill)) for policy, backfill in chosen
    ]
    outages = check_outages(outages, system.nodes)
    # all are checked before anything runs, so that a mistake in the last one is not found after the first hour
    for config in configs:
        check_run(config, system, workload, outages, predicted)
    watts = job_watts(base, system, workload, power)
    jobs = job_table(workload, system, base.multifactor, predicted, watts)
    done = 0

    def one(config: RunConfig) -> tuple[dict[str, Any], Result | None]:
        twin = Twin(system, workload, config, outages=outages, jobs=jobs)
        run(twin, until)
        result = twin.result()
        return result.summary, result if keep else None

    rows, results = [], []
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for (policy, backfill), (summary, result) in zip(chosen, pool.map(one, configs), strict=True):
            rows.append({"policy": "", "backfill": backfill} | summary | {"policy": policy})
            results.append(result)
            done += 1
            if progress is not None:
                progress(done, len(configs))
    table = pd.DataFrame(rows)
    if keep:
        table.attrs["results"] = results
    return table
