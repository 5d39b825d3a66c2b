"""How fast is the engine: scheduling alone, from jobs in memory to start times, one thread.

    python benchmarks/bench_engine.py            # some two minutes
    python benchmarks/bench_engine.py --large    # 10,000,000 jobs, and 1,500,000 on 158,976 nodes, besides

Every figure is the least of several runs; the machine's noise only ever adds. Workloads are Lublin jobs with Tsafrir's
requests at an offered load of 0.8.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import twin_gym as tg


def lublin(jobs: int, nodes: int = 256, seed: int = 1):
    return tg.datasets.load("synthetic", None, model="lublin", jobs=jobs, capacity=nodes, load=0.8, seed=seed)


def seconds(workload, nodes: int, policy: str, backfill: str, repeats: int) -> tuple[float, float]:
    """Return the least time of a run and the mean queue length."""
    twin = tg.Twin(tg.System.uniform(nodes=nodes), workload, policy=policy, backfill=backfill)
    times = []
    for _ in range(repeats):
        twin.reset()
        begin = time.perf_counter()
        twin.advance()
        times.append(time.perf_counter() - begin)
    return min(times), float(twin.result().summary["queued_mean"])


def startup() -> None:
    """Time whole processes: the first on a machine, which compiles, and later ones."""
    program = (
        "import twin_gym as tg; w = tg.datasets.load('synthetic', None, model='lublin', jobs=1000, capacity=256);"
        "tg.simulate(tg.System.uniform(nodes=256), w, 'fcfs', 'easy').summary"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for name in ("first run on a machine (compiles)", "later run"):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
            print(f"| {name}, whole process | {time.perf_counter() - begin:.1f} s |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="10,000,000 jobs and 158,976 nodes besides")
    large = parser.parse_args().large

    print("| start-up | time |\n|---|---|")
    startup()

    jobs = 100_000
    workload = lublin(jobs)
    print(f"\n| {jobs:,} jobs on 256 nodes | time | for a job | mean queue |\n|---|---|---|---|")
    for policy, backfill in (
        ("fcfs", "none"),
        ("fcfs", "firstfit"),
        ("fcfs", "easy"),
        ("saf", "easy"),
        ("f1", "easy"),
        ("wfp3", "easy"),
        ("multifactor", "easy"),
        ("fcfs", "conservative"),
        ("saf", "conservative"),
        ("wfp3", "conservative"),
    ):
        least, queue = seconds(workload, 256, policy, backfill, 3 if backfill == "conservative" else 7)
        each = least / jobs * 1e9
        print(f"| {policy} + {backfill} | {least * 1e3:.0f} ms | {each:.0f} ns | {queue:.0f} |", flush=True)

    # short logs differ in their luck, so several of them stand beside one long one
    print("\n| fcfs + easy | time of one | for a job | mean queue |\n|---|---|---|---|")
    cost = {}
    for jobs, logs in ((10_000, 30), (100_000, 5), (1_000_000, 1)):
        measured = [seconds(lublin(jobs, seed=seed), 256, "fcfs", "easy", 5) for seed in range(1, logs + 1)]
        least, queue = (sum(column) / logs for column in zip(*measured, strict=True))
        cost[jobs] = least / jobs
        print(
            f"| {jobs:,} jobs (mean of {logs}) | {least * 1e3:.1f} ms | {cost[jobs] * 1e9:.0f} ns | {queue:.0f} |",
            flush=True,
        )
    print(f"| cost of a job, 1,000,000 to 10,000 jobs | ratio {cost[1_000_000] / cost[10_000]:.2f} | | |", flush=True)

    if large:
        print("\n| large | time of the whole call | peak memory of the process |\n|---|---|---|")
        for jobs, nodes in ((1_500_000, 158_976), (10_000_000, 256)):
            # on the large machine the same jobs, that many more at a time: thousands run side by side
            workload = lublin(jobs).scale_arrivals(nodes / 256)
            begin = time.perf_counter()
            summary = tg.simulate(tg.System.uniform(nodes=nodes), workload, "fcfs", "easy").summary
            took = time.perf_counter() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"| {jobs:,} jobs on {nodes:,} nodes, fcfs + easy, with the summary "
                f"({summary['running_mean']:.0f} running) | {took:.1f} s | {peak:.2f} GiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
