"""What validation drops, repairs and counts, on tables small enough to check by eye."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from twin_gym.errors import WorkloadError
from twin_gym.validation import DEFECTS, LONGEST, Report
from twin_gym.workload import UNKNOWN, Workload


def test_every_defect_once() -> None:
    table = pd.DataFrame(
        [
            # id, submit, runtime, requested, nodes, used, start
            (1, 0, 10, 20, 4, 4, 5),  # faultless
            (2, -1, 10, 20, 4, 4, -1),  # no_submit
            (3, 10, 0, 20, 4, 4, 15),  # never_ran
            (4, 20, 10, 20, -1, -1, 20),  # no_nodes
            (5, 30, 10, 20, 2.5, 4, 30),  # part_nodes
            (6, 40, 2e18, 20, 4, 4, 40),  # out_of_range
            (7, 50, 10, 20, -1, 8, 50),  # no_requested_nodes
            (8, 60, 10, -1, 4, 4, 60),  # no_requested_time
            (9, 70.4, 10, 20, 4, 4, 90),  # rounded
            (np.nan, 80, 10, 20, 4, 4, 80),  # no_id
            (7, 90, 10, 20, 4, 4, 90),  # duplicate_id
            (12, 55, 10, 20, 4, 4, 55),  # unsorted
            (13, 100, 10, 20, 4, 4, 99),  # start_before_submit
            (14, 110, 30, 20, 4, 4, 110),  # over_limit
            (15, 120, 10, 20, 64, 64, 120),  # over_capacity
            (16, 130, np.nan, 20, 4, 4, 130),  # never_ran too
        ],
        columns=["id", "submit", "runtime", "requested_time", "nodes", "used_nodes", "start"],
    )
    workload = Workload.from_frame(table, capacity=32)
    report = workload.report
    assert report.counts() == dict.fromkeys(
        [name for name in DEFECTS if name not in ("missing_request", "unknown_start")], 1
    ) | {"never_ran": 2}
    assert (report.read, report.kept, report.dropped) == (16, 10, 6)
    assert workload.id.tolist() == [1, 7, 12, 8, 9, 16, 17, 13, 14, 15]
    assert workload.submit.tolist() == [0, 50, 55, 60, 70, 80, 90, 100, 110, 120]
    assert workload.nodes.tolist() == [4, 8, 4, 4, 4, 4, 4, 4, 4, 64]
    assert workload.requested_time.tolist() == [20, 20, 20, 10, 20, 20, 20, 20, 20, 20]
    assert workload.start.tolist() == [5, 50, 55, 60, 90, 80, 90, UNKNOWN, 110, 120]


def test_the_report_names_jobs_rows_and_values() -> None:
    workload = Workload.build(id=[11, 12, 13, 14, 15], submit=range(5), runtime=[1, 0, -3, 0, -7], nodes=[1] * 5)
    assert str(workload.report) == (
        "5 jobs read, 1 kept, 4 dropped\n"
        "  4 x never_ran (runtime missing, zero or negative): the job is left out [job 12 (row 2): runtime=0; "
        "job 13 (row 3): runtime=-3; job 14 (row 4): runtime=0 ...]\n"
        "  1 x no_requested_time (no walltime requested): the runtime is taken as requested "
        "[job 11 (row 1): requested_time=unknown, runtime=1]"
    )


def test_a_job_is_counted_under_the_first_reason_only() -> None:
    workload = Workload.build(submit=[-1, -1, 0], runtime=[0, 5, 5], nodes=[0, 0, 1], requested_time=[-1, -1, 5])
    assert workload.report.counts() == {"no_submit": 2}


def test_missing_requests_may_be_dropped() -> None:
    columns = {
        "submit": [0, 1, 2, 3],
        "runtime": [5, 5, 0, 5],
        "nodes": [4, -1, 4, 4],
        "requested_time": [-1, 9, -1, 9],
    }
    fallback = Workload.build(**columns, used_nodes=[4, 4, 4, 4])
    assert fallback.report.counts() == {"never_ran": 1, "no_requested_nodes": 1, "no_requested_time": 1}
    assert len(fallback) == 3
    drop = Workload.build(**columns, used_nodes=[4, 4, 4, 4], missing_requests="drop")
    assert drop.report.counts() == {"never_ran": 1, "missing_request": 2}
    assert drop.id.tolist() == [4]


def test_strict_raises_with_the_whole_report() -> None:
    with pytest.raises(WorkloadError) as caught:
        Workload.build(submit=[5, 1], runtime=[1, 0], nodes=[1, 1], requested_time=[1, 1], strict=True, name="mine")
    assert str(caught.value).startswith("mine has defects and strict=True accepts none: 1 x never_ran")
    assert "job 2 (row 2): runtime=0" in str(caught.value)


def test_strict_accepts_what_is_only_remarkable() -> None:
    workload = Workload.build(
        submit=[0, 1], runtime=[9, 1], requested_time=[5, 5], nodes=[1, 9], capacity=4, strict=True
    )
    assert workload.report.counts() == {"over_limit": 1, "over_capacity": 1}


def test_no_job_left_is_one_sentence() -> None:
    with pytest.raises(WorkloadError, match=r"mine holds no job that can run: 1 jobs read, 0 kept"):
        Workload.build(submit=[0], runtime=[0], nodes=[1], name="mine")
    with pytest.raises(WorkloadError, match=r"holds no job that can run"):
        Workload.from_frame(pd.DataFrame({"submit": [], "runtime": [], "nodes": []}))


def test_negative_submits_belong_to_windows_only() -> None:
    columns = {"submit": [-10, 0], "runtime": [1, 1], "nodes": [1, 1], "requested_time": [1, 1]}
    assert Workload.build(**columns).report.counts() == {"no_submit": 1}
    assert Workload.build(**columns, initial=[False, False]).submit.tolist() == [-10, 0]


def test_ties_keep_their_order_and_contested_numbers_go_to_the_first_submitted() -> None:
    workload = Workload.build(id=[5, 5, 5], submit=[7, 7, 3], runtime=[1, 2, 3], nodes=[1, 1, 1])
    assert workload.runtime.tolist() == [3, 1, 2]
    assert workload.id.tolist() == [5, 6, 7]


def test_the_largest_times_do_not_overflow() -> None:
    workload = Workload.build(
        submit=[0, LONGEST],
        runtime=[LONGEST, LONGEST],
        nodes=[2**31 - 1] * 2,
        requested_time=[LONGEST] * 2,
        start=[0, LONGEST],
    )
    assert workload.end.tolist() == [LONGEST, 2 * LONGEST]
    beyond = Workload.build(submit=[0, 1, 2], runtime=np.array([1, 2**63 - 1, 1]), nodes=[1, 1, 2**31])
    assert beyond.report.count("out_of_range") == 2
    unsigned = Workload.build(submit=[0, 1], runtime=np.array([1, 2**64 - 1], dtype=np.uint64), nodes=[1, 1])
    assert unsigned.report.count("out_of_range") == 1


def test_infinite_and_missing_times_are_missing() -> None:
    workload = Workload.build(
        submit=[0, 1, 2], runtime=[1, np.inf, None], nodes=[1, 1, 1], requested_time=[np.nan, 1, 1]
    )
    assert workload.report.counts() == {"never_ran": 2, "no_requested_time": 1}


def test_nullable_integers_are_exact() -> None:
    ids = pd.Series([2**60 + 1, None], dtype="Int64")
    workload = Workload.from_frame(pd.DataFrame({"id": ids, "submit": [0, 1], "runtime": [1, 1], "nodes": [1, 1]}))
    assert workload.id.tolist() == [2**60 + 1, 2**60 + 2]


def test_reports_add_up() -> None:
    one = Workload.build(submit=[0, 1], runtime=[1, 0], nodes=[1, 1]).report
    two = Workload.build(submit=[0, 1, 2], runtime=[0, 0, 1], nodes=[1, 1, 1], requested_time=[1, 1, 1]).report
    both = one + two
    assert (both.read, both.kept) == (5, 2)
    assert both.counts() == {"never_ran": 3, "no_requested_time": 1}
    assert Report.from_dict(both.to_dict()) == both


def test_an_unknown_defect_is_no_zero() -> None:
    with pytest.raises(KeyError, match="never_ran"):
        Report().count("never_run")
