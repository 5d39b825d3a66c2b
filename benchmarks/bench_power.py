"""Power of a Frontier day with 15 s traces, with every CDU and in sum; a week of Fugaku with one number for each job.

python benchmarks/bench_power.py
"""

from __future__ import annotations

import resource
import time

import numpy as np

import twin_gym as tg
from twin_gym.power import power_history
from twin_gym.ragged import Trace

DAY = 86_400


def day_of_frontier(jobs: int = 1_200) -> tuple[tg.System, tg.Result]:
    """A day in which a job arrives every minute or so, each with processors and GPUs sampled every 15 s."""
    system, rng = tg.System.load("frontier"), np.random.default_rng(0)
    runtime = np.clip(rng.lognormal(7.6, 1.0, jobs), 300, 20_000).astype(np.int64)
    lengths = -(-runtime // 15)
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    def sampled() -> Trace:
        values = rng.random(offsets[-1]).astype(np.float32)
        return Trace(values, offsets, np.zeros(jobs, np.int64), np.full(jobs, 15), "1")

    workload = tg.Workload.build(
        id=np.arange(jobs),
        submit=np.sort(rng.integers(0, DAY - 20_000, jobs)),
        runtime=runtime,
        requested_time=runtime,
        nodes=np.clip(rng.lognormal(4.0, 1.6, jobs), 1, 5_000).astype(np.int64),
        traces={"cpu": sampled(), "gpu": sampled()},
    )
    return system, tg.simulate(system, workload, "fcfs", "easy", placement="lowest")


def week_of_fugaku(jobs: int = 100_000) -> tuple[tg.System, tg.Result]:
    """A week of jobs with one power each."""
    system, rng = tg.System.load("fugaku"), np.random.default_rng(0)
    runtime = np.clip(rng.lognormal(7.5, 1.2, jobs), 60, DAY).astype(np.int64)
    workload = tg.Workload.build(
        id=np.arange(jobs),
        submit=np.sort(rng.integers(0, 7 * DAY, jobs)),
        runtime=runtime,
        requested_time=runtime,
        nodes=np.clip(rng.lognormal(3.5, 1.8, jobs), 1, 80_000).astype(np.int64),
        traces={"node_power": Trace.scalars(rng.uniform(60, 140, jobs), "W")},
    )
    return system, tg.simulate(system, workload, "fcfs", "easy")


def best(call, repeats: int = 5) -> float:
    """Shortest processor time of a few calls, s; the first compiles."""
    times = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times[1:])


def main() -> None:
    """Print a line for each."""
    system, result = day_of_frontier()
    samples = len(result.workload.traces["cpu"].values)
    span = (result.finish - result.begin) / DAY
    print(f"Frontier, {len(result.outcome):,} jobs, {samples:,} samples of 15 s, {span:.2f} days")
    print(f"  machine in sum:            {1e3 * best(lambda: power_history(result, system)):7.1f} ms")
    print(f"  every CDU in bins of 15 s: {1e3 * best(lambda: power_history(result, system, per_cdu=15)):7.1f} ms")
    seconds = best(lambda: power_history(result, system, per_cdu=15).summary)
    print(f"  with summary:              {1e3 * seconds:7.1f} ms")
    seconds = best(lambda: tg.operate(result, system, resolution=15).summary)
    print(f"  facility, cooling, cost:   {1e3 * seconds:7.1f} ms")
    system, result = week_of_fugaku()
    span = (result.finish - result.begin) / DAY
    print(f"Fugaku, {len(result.outcome):,} jobs with one power each, {span:.2f} days")
    print(f"  machine in sum:            {1e3 * best(lambda: power_history(result, system)):7.1f} ms")
    print(f"  every CDU in bins of 60 s: {1e3 * best(lambda: power_history(result, system, per_cdu=60), 1):7.1f} ms")
    print(f"highest memory of all: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
