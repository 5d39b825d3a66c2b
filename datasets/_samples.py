"""Make the samples that ship with twin_gym: ``python -m twin_gym.datasets._samples [folder]``.

They are look-alikes of few jobs, packed as tightly as their readers allow; all together stay below `LIMIT` bytes.
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .lookalike import fake

JOBS = {
    "adastra": 120,
    "aurora": 120,
    "bluewaters": 100,
    "fdata": 100,
    "frontier": 40,
    "gcloud2011": 50,
    "kestrel": 30,
    "last": 120,
    "philly": 60,
    "pm100": 32,
    "supercloud": 60,
}
"""How many jobs each has."""

SEED = 7
LIMIT = 300 << 10
SERIES = 2
"""So many files of series of each kind are kept (MIT SuperCloud)."""

KEPT = {
    "cray_system_sampler": rb"^\d+,[01],",
    "cluster_cpu_util": rb"time|^[-\d]+ 0[01]:[^,]*,m\d,",
    "cluster_gpu_util": rb"time|^[-\d]+ 0[01]:[^,]*,m\d,",
    "machine_events": rb"^\d+,[12]?\d{1,3},",
}
"""Of large files, by their name or folder, only lines such as these are kept: some machines, some hours."""

SAMPLES = 100
"""So many samples of each job of Frontier are kept."""

PLAIN = (".json", ".swf", "cluster_job_log", "cluster_machine_list")
"""Ends of the names of files whose readers take them unpacked only, or that are small."""


def make(out: Path) -> int:
    """Make all samples in a folder, in place of those that stand there; return their size in bytes."""
    for name, jobs in JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            files = fake(name, jobs=jobs, out=folder, seed=SEED)
            shutil.rmtree(out / name, ignore_errors=True)
            for file in _chosen(name, files):
                _pack(file, out / name / file.relative_to(folder))
    return sum(file.stat().st_size for name in JOBS for file in (out / name).rglob("*") if file.is_file())


def _chosen(name: str, files: list[Path]) -> list[Path]:
    if name != "supercloud":
        return files
    kinds = {kind: [file for file in files if file.parent.name == kind] for kind in ("cpu", "gpu")}
    return [files[0], *(file for some in kinds.values() for file in some[:SERIES])]


def _pack(file: Path, target: Path) -> None:
    """Copy a file in its tightest form."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        table = pq.read_table(file)
        if "embedding" in table.column_names:  # most of F-Data's bytes, and none that is read
            table = table.drop_columns(["embedding"])
        if "timestamp" in table.column_names:  # Frontier's profiles: some minutes of each job
            ids = table["allocation_id"].to_pandas()
            table = table.filter(pa.array((ids.groupby(ids).cumcount() < SAMPLES).to_numpy()))
        pq.write_table(table, target, compression="zstd", compression_level=19)
    elif file.name.endswith(PLAIN):
        shutil.copy(file, target)
    else:
        titled = target.with_name(target.name + ".gz")
        with open(titled, "wb") as packed, gzip.GzipFile("", "wb", 9, packed, mtime=0) as stream:
            pattern = KEPT.get(file.name, KEPT.get(file.parent.name, b""))
            stream.write(b"".join(line for line in file.read_bytes().splitlines(True) if re.search(pattern, line)))


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "samples"
    size = make(place)
    print(f"{place}: {size / 1024:.0f} KiB of {LIMIT / 1024:.0f}")
