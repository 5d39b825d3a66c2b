"""How fast foreign files are read: look-alikes of LAST and PM100 in the size of their originals, in a temporary folder.

    python benchmarks/bench_loaders.py                 # some three minutes, 2 GB of disk
    python benchmarks/bench_loaders.py --scale 0.1     # a tenth of the jobs

Each is read once, in a process of its own whose largest memory is told. PM100 is read in full and for one day, from
files with row groups of 8,192 jobs and with a single one for all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from twin_gym.datasets.lookalike import fake

PROGRAM = """
import resource, sys, time
import twin_gym as tg
name, path, window = sys.argv[1], sys.argv[2], sys.argv[3:5] or None
begin = time.perf_counter()
workload = tg.datasets.load(name, path, window=window, cache=False)
seconds = time.perf_counter() - begin
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
samples = sum(len(trace.values) for trace in workload.traces.values())
print(f"{len(workload):,} | {samples:,} | {seconds:.1f} s | {memory:.2f} GiB")
"""


def measured(name: str, path: Path, *window: str) -> str:
    command = [sys.executable, "-c", PROGRAM, name, str(path), *window]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def written(name: str, jobs: int, out: Path) -> None:
    begin = time.perf_counter()
    files = fake(name, jobs=jobs, out=out, seed=1)
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{name}: {jobs:,} jobs, {size:,.0f} MB, written in {time.perf_counter() - begin:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the originals' jobs")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as folder:
        last, pm100 = Path(folder) / "last", Path(folder) / "pm100"
        written("last", int(1_500_000 * scale), last)
        written("pm100", int(231_238 * scale), pm100)
        print("\n| read | jobs | samples | time | memory |\n|---|---|---|---|---|")
        day = ("2020-05-20", "2020-05-21")
        print(f"| LAST | {measured('last', last)} |", flush=True)
        print(f"| LAST, one day | {measured('last', last, '2019-03-20', '2019-03-21')} |", flush=True)
        print(f"| PM100 | {measured('pm100', pm100)} |", flush=True)
        print(f"| PM100, one day | {measured('pm100', pm100, *day)} |", flush=True)
        path = pm100 / "job_table.parquet"
        single = Path(folder) / "single.parquet"
        pq.write_table(pq.read_table(path), single, row_group_size=10_000_000)
        path.unlink()
        print(f"| PM100 in one row group | {measured('pm100', single)} |", flush=True)
        print(f"| PM100 in one row group, one day | {measured('pm100', single, *day)} |", flush=True)


if __name__ == "__main__":
    main()
