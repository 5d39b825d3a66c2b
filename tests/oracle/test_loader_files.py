"""Real files: Slurm 22.05's own outputs, Alibaba's GPU trace, ALCF's dialect of SWF."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.datasets import load
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload

# the jobs of sacct_X.psv that ran and ended: job, submit, start, end (s after 01:34:15 UTC), nodes, state
SLURM = [
    (1, 0, 0, 6, "n5 n6", Status.COMPLETED), (2, 0, 0, 3, "n4", Status.FAILED), (3, 0, 0, 74, "n7", Status.TIMEOUT),
    (5, 0, 0, 10, "n0", Status.CANCELLED), (10, 0, 6, 26, "n5", Status.COMPLETED),
    (11, 0, 0, 6, "n3", Status.NODE_FAIL), (17, 0, 6, 10, "n5", Status.FAILED),
    (25, 10, 74, 85, "n0 n1 n2 n3 n4 n5 n6 n7", Status.COMPLETED),
    (26, 10, 61, 64, "n0 n1 n3 n4 n5 n6", Status.COMPLETED), (31, 11, 96, 104, "n6 n7", Status.COMPLETED),
]  # fmt: skip


@pytest.fixture
def slurm(shared_dir: Path) -> Path:
    folder = shared_dir / "data" / "slurm"
    if not folder.is_dir():
        pytest.skip("no Slurm outputs in the shared folder")
    return folder


def test_sacct_job_by_job(slurm: Path) -> None:
    jobs = load("slurm", slurm / "sacct_X.psv")
    assert (len(jobs), jobs.capacity, jobs.epoch) == (31, 8, 1_796_088_855)  # 2026-12-01T01:34:15Z
    names = jobs.header["nodes"].split(",")
    assert names == [f"n{k}" for k in range(8)]
    assert jobs.node_ids is not None
    for job, submit, start, end, nodes, status in SLURM:
        row = int(np.flatnonzero(jobs.id == job)[0])
        assert (jobs.submit[row], jobs.start[row], jobs.end[row], jobs.status[row]) == (submit, start, end, status), job
        assert " ".join(names[node] for node in sorted(jobs.node_ids[row])) == nodes, job
        assert jobs.nodes[row] == len(nodes.split()), job
    counts = jobs.report.counts()
    assert (counts["unfinished"], counts["never_ran"], counts["runtime_differs"]) == (3, 2, 1)  # 14 38 40; 13 41; 10


@pytest.mark.parametrize("name", ["sacct_X_epoch.psv", "sacct_steps.psv", "sacct_dup_steps.psv", "sacct_X_dup_all.psv",
                                  "sacct_steps_dup_all.psv", "sacct.json"])  # fmt: skip
def test_all_forms_of_sacct_tell_the_same(slurm: Path, name: str) -> None:
    first, other = load("slurm", slurm / "sacct_X.psv"), load("slurm", slurm / name)

    def facts(jobs: Workload) -> dict[int, tuple[object, ...]]:
        assert jobs.node_ids is not None
        rows = zip(jobs.id, jobs.epoch + jobs.submit, jobs.epoch + jobs.start, jobs.runtime, jobs.nodes, strict=True)
        limits, status = jobs.requested_time, jobs.status
        return {
            int(job): (*map(int, rest), int(limits[k]), int(status[k]), tuple(sorted(jobs.node_ids[k])))
            for k, (job, *rest) in enumerate(rows)
        }

    one, two = facts(first), facts(other)
    requeued = {6} if "dup" in name or "json" in name else set()  # its first run is the one with the number
    common = set(one) & set(two) - requeued
    assert len(common) >= 28
    assert {job: one[job] for job in common} == {job: two[job] for job in common}
    steps = other.report.counts().get("step", 0)
    assert steps == {"sacct_steps.psv": 35, "sacct_dup_steps.psv": 36, "sacct_steps_dup_all.psv": 37}.get(name, 0)


def test_whole_nodes_hold_one_job_at_a_time(slurm: Path) -> None:
    jobs = load("slurm", slurm / "sacct_X.psv")
    debug = jobs.select(jobs.partition == jobs.partitions.index("debug"))
    assert debug.node_ids is not None
    for node in range(8):
        rows = [k for k in range(len(debug)) if node in debug.node_ids[k]]
        spans = sorted((debug.start[k], debug.end[k]) for k in rows)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans)), node


def test_a_bar_in_a_name_is_understood(slurm: Path) -> None:
    jobs = load("slurm", slurm / "sacct_pipe_in_name.psv")
    assert (jobs.id.tolist(), jobs.users, jobs.accounts, jobs.partitions) == ([12], ("bob",), ("climate",), ("shared",))
    assert (jobs.runtime.tolist(), jobs.requested_time.tolist()) == ([2], [120])
    assert jobs.report.count("split_row") == 1


def test_another_delimiter_and_few_fields(slurm: Path) -> None:
    jobs = load("slurm", slurm / "sacct_delim.txt")
    assert (len(jobs), jobs.report.read, int(jobs.nodes.max())) == (32, 37, 8)


@pytest.mark.parametrize(
    "name",
    ["sacct_default.txt", "sacct_helpformat.txt", "sacct_l.psv", "sacct_noheader.psv", "sacct_while_running.psv",
     "sacct_by_id_never_eligible.psv", "squeue.json", "sinfo.json", "squeue_default.txt", "sdiag.txt",
     "sacctmgr_event.psv", "scontrol_show_job.txt", "squeue_O_long.txt"],
)  # fmt: skip
def test_what_does_not_suffice_is_refused_with_advice(slurm: Path, name: str) -> None:
    with pytest.raises(WorkloadError, match="sacct") as caught:
        load("slurm", slurm / name)
    assert str(slurm / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_slurms_own_schedule_is_replayed(slurm: Path) -> None:
    jobs = load("slurm", slurm / "sacct_X.psv", unit="processor")
    system = tg.System.uniform(nodes=32)
    result = tg.simulate(system, jobs, policy="replay", kill_at_request=False)
    assert result.jobs["start"].tolist() == jobs.start.tolist()


def test_alibabas_gpu_trace(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "gpu_jobs"
    if not folder.is_dir():
        pytest.skip("no GPU jobs in the shared folder")
    pods = load("alibaba2023", folder, count="pod")
    assert pods.report.read == 8152
    assert pods.report.count("unfinished") == 897  # the pods in phase Pending
    gpus = load("alibaba2023", folder)
    assert (gpus.capacity, int(gpus.nodes.sum())) == (6212, sum(k * n for k, n in _sizes(folder).items()))
    assert gpus.id[0] == 0
    assert gpus.runtime[1] == 12_902_960 - 427_061


def _sizes(folder: Path) -> dict[int, int]:
    """GPUs of the pods that were scheduled, counted by hand."""
    lines = next(folder.glob("*pod_list*.csv")).read_text().splitlines()[1:]
    sizes: dict[int, int] = {}
    for line in lines:
        cells = line.split(",")
        if cells[10] and float(cells[9]) > float(cells[10]) and int(cells[3]):
            sizes[int(cells[3])] = sizes.get(int(cells[3]), 0) + 1
    return sizes


@pytest.mark.parametrize(
    ("name", "jobs", "capacity"),
    [
        ("ALCF-Theta-2022-cqsimplus.swf.gz", 23_911, 4360),
        ("ALCF-Theta-2023-cqsimplus.swf.gz", 8401, 4360),
        ("ALCF-mira-3000jobs-6col.txt", 3000, None),
        ("ALCF-theta-3000jobs-6col.txt", 3000, None),
    ],
)
def test_alcfs_dialect_of_swf_counts_nodes(shared_dir: Path, name: str, jobs: int, capacity: int | None) -> None:
    path = shared_dir / "data" / "swf" / name
    if not path.exists():
        pytest.skip(f"no {name} in the shared folder")
    log = load("swf", path)
    assert (log.report.read, log.capacity, log.unit, log.epoch_known) == (jobs, capacity, "node", True)
    assert int(log.nodes.max()) <= 49_152
    if "mira" in name:
        assert int(log.nodes.min()) == 512
