"""Alibaba's GPU trace by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from twin_gym.datasets import load
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0003,6000,12288,1,460,,LS,Running,100,900,130
openb-pod-0007,64000,262144,8,1000,V100M32,BE,Succeeded,120,240,120
openb-pod-0009,4000,8192,0,0,,BE,Failed,130,140,135
openb-pod-0011,4000,8192,1,1000,,BE,Pending,150,160,
openb-pod-0012,4000,8192,1,1000,,BE,Failed,150,160,170
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-1,96000,393216,8,V100M32\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    return tmp_path


def test_gpus_by_hand(trace: Path) -> None:
    jobs = load("alibaba2023", trace)
    assert (jobs.unit, jobs.capacity, jobs.epoch_known) == ("processor", 10, False)
    assert jobs.id.tolist() == [3, 7]
    assert jobs.submit.tolist() == [100, 120]
    assert jobs.start.tolist() == [130, 120]
    assert jobs.runtime.tolist() == [770, 120]
    assert jobs.nodes.tolist() == [1, 8]  # 0.46 of a GPU takes one
    assert jobs.extra["gpu_milli"].tolist() == [460, 1000]
    assert jobs.extra["pod"].tolist() == ["openb-pod-0003", "openb-pod-0007"]
    assert jobs.status.tolist() == [Status.UNKNOWN, Status.COMPLETED]
    assert jobs.report.counts() == {"unfinished": 1, "left_out": 1, "never_ran": 1, "no_requested_time": 2}


def test_pods_and_windows(trace: Path) -> None:
    pods = load("alibaba2023", trace / "openb_pod_list_default.csv", count="pod")
    assert (pods.unit, pods.capacity, pods.nodes.tolist()) == ("node", None, [1, 1, 1])
    late = load("alibaba2023", trace, window=(200, 300))
    assert late.initial.tolist() == [True, True]
    assert late.start.tolist() == [-70, -80]


def test_bad_input(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="count='gpus'"):
        load("alibaba2023", trace, count="gpus")
    with pytest.raises(WorkloadError, match="strict=True"):
        load("alibaba2023", trace, strict=True)
    path = tmp_path / "openb_pod_list_default.csv"
    for text, fragment in (
        (PODS.replace("scheduled_time", "scheduled"), "no column 'scheduled_time'"),
        (PODS.replace(",900,", ",soon,"), "'soon' is not a number"),
        (PODS.splitlines()[0] + "\n", "no pods"),
        ("", "is empty"),
        ("\n".join([PODS.splitlines()[0], PODS.splitlines()[4]]), "no pod that can be used"),
    ):
        path.write_text(text)
        with pytest.raises(WorkloadError) as caught:
            load("alibaba2023", trace)
        assert fragment in str(caught.value)
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(WorkloadError, match=r"holds no openb_pod_list_default\.csv"):
        load("alibaba2023", trace)
