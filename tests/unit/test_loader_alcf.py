"""ALCF's job logs by hand: units, job numbers of each machine, cut lists of nodes, and what is said about bad files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from twin_gym.datasets import load
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status, Workload

TITLES = (
    "JOB_NAME,COBALT_JOBID,MACHINE_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,USERNAME_GENID,PROJECT_NAME_GENID,"
    "QUEUE_NAME,WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED,NODES_REQUESTED,CORES_USED,LOCATION,EXIT_STATUS"
)
DAY = "2022-08-09"
POLARIS = (
    f"101.polaris-pbs-01.hsn,7,polaris,{DAY} 10:00:00,{DAY} 10:05:00.500000,{DAY} 11:05:00,1,11,prod,"
    '7200,3600.0,2,2,64,"x3005c0s19b1n0,x3005c0s7b0n0",0\n'
    f"102[3].polaris-pbs-01.hsn,7,polaris,{DAY} 10:01:00,{DAY} 10:06:00,{DAY} 10:16:00,2,12,debug,"
    "3600,600.0,1,2,32,x3005c0s7b0n0,1\n"
    f"103.polaris-pbs-01.hsn,7,polaris,{DAY} 10:02:00,{DAY} 10:07:00,{DAY} 10:06:00,2,12,debug,3600,-60.0,0,1,0,,143\n"
    f"104.polaris-pbs-01.hsn,7,polaris,{DAY} 10:03:00,{DAY} 10:08:00,{DAY} 10:09:00,,,debug,"
    '3600,60.0,3,3,96,"x3005c0s19b1n0,x3005c0",\n'
)


def write(
    folder: Path, rows: str, titles: str = TITLES, name: str = "ANL-ALCF-DJC-POLARIS_20220809_20221231.csv"
) -> Path:
    path = folder / name
    path.write_text(f"{titles}\n{rows}")
    return path


def read(folder: Path, rows: str = POLARIS, titles: str = TITLES, **options: object) -> Workload:
    return load("alcf", write(folder, rows, titles), **options)


def test_polaris_by_hand(tmp_path: Path) -> None:
    jobs = read(tmp_path)
    assert (jobs.name, jobs.capacity, jobs.unit, jobs.epoch) == ("polaris", 560, "node", 1_660_039_200)
    assert jobs.id.tolist() == [101, 105, 104]  # the task of an array has no number of its own
    assert jobs.submit.tolist() == [0, 60, 180]
    assert jobs.start.tolist() == [300, 360, 480]
    assert jobs.runtime.tolist() == [3600, 600, 60]
    assert jobs.requested_time.tolist() == [7200, 3600, 3600]
    assert jobs.nodes.tolist() == [2, 2, 3]
    assert jobs.extra["used_nodes"].tolist() == [2, 1, 3]
    assert jobs.status.tolist() == [Status.COMPLETED, Status.FAILED, Status.UNKNOWN]
    assert [jobs.partitions[code] for code in jobs.partition] == ["prod", "debug", "debug"]
    assert jobs.user.tolist()[2] == -1
    counts = jobs.report.counts()
    assert counts["never_ran"] == 1
    assert counts["node_list"] == 2  # fewer names than nodes, cut short
    assert jobs.node_ids is not None
    assert jobs.node_ids[0].tolist() == [2, 1]  # x3005c0 < x3005c0s7b0n0 < x3005c0s19b1n0
    assert jobs.node_ids[1].size == 0


def test_theta_has_its_own_job_numbers_and_ranges_of_nodes(tmp_path: Path) -> None:
    rows = (
        'a,500.0,theta,2021-01-01 00:00:00,2021-01-01 00:10:00,2021-01-01 00:20:00,1,1,q,900,600,4,4,256,"3-5,9",0\n'
        "a,501.0,theta,2021-01-01 00:00:30,2021-01-01 00:10:00,2021-01-01 00:20:00,1,1,q,900,600,1,1,64,10,0\n"
    )
    jobs = read(tmp_path, rows)
    assert (jobs.capacity, jobs.id.tolist()) == (4392, [500, 501])
    assert jobs.node_ids is not None
    assert [jobs.node_ids[job].tolist() for job in range(2)] == [[0, 1, 2, 3], [4]]


def test_several_years_and_machines(tmp_path: Path) -> None:
    write(tmp_path, POLARIS)
    row = "9.p,7,Mira,2023-01-01 00:00:00,2023-01-01 00:10:00,2023-01-01 00:20:00,1,1,q,900,600,512,512,8192,MIR-0,0\n"
    with gzip.open(tmp_path / "later.csv.gz", "wt") as file:
        file.write(f"{TITLES}\n{row}")
    with pytest.raises(OptionError, match="mira and polaris; choose one"):
        load("alcf", tmp_path)
    assert len(load("alcf", tmp_path, machine="polaris")) == 3
    mira = load("alcf", [tmp_path / "later.csv.gz"], with_nodes=False)
    assert (mira.capacity, mira.nodes.tolist(), mira.node_ids) == (49_152, [512], None)
    with pytest.raises(OptionError, match="no jobs of machine='theta'"):
        load("alcf", tmp_path, machine="theta")


def test_window_and_zone(tmp_path: Path) -> None:
    late = read(tmp_path, window=("2022-08-09T10:10", "2022-08-09T10:30"))
    assert late.initial.tolist() == [True, True]
    assert late.start.tolist() == [-300, -240]
    assert read(tmp_path, time_zone="America/Chicago").epoch == 1_660_039_200 + 5 * 3600


def test_few_columns_suffice(tmp_path: Path) -> None:
    titles = "END_TIMESTAMP,NODES_USED,QUEUED_TIMESTAMP,START_TIMESTAMP,WALLTIME_SECONDS"
    jobs = read(tmp_path, "2022-01-01 00:02:00,5,2022-01-01 00:00:00,2022-01-01 00:01:00,600\n", titles)
    assert (jobs.nodes.tolist(), jobs.runtime.tolist(), jobs.id.tolist()) == ([5], [60], [1])


@pytest.mark.parametrize(
    ("titles", "rows", "fragment"),
    [
        (TITLES.replace("NODES_USED", "NODES"), POLARIS, "no column 'NODES_USED'"),
        (TITLES, "", "no jobs"),
        (TITLES, POLARIS.replace(",7200,", ",two hours,"), "'two hours' is not a number"),
        (TITLES, "a,b\n", "well-formed"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path: Path, titles: str, rows: str, fragment: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        read(tmp_path, rows, titles)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_path_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="does not exist"):
        load("alcf", tmp_path / "no.csv")
    with pytest.raises(WorkloadError, match=r"holds no \.csv"):
        load("alcf", tmp_path)
