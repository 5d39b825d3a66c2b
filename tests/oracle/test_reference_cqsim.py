"""The plain-Python reference gives every wait that CQSim gave: on real logs, and on the smallest input of its traps."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from reference.scheduler import Job, simulate_reference

MACHINE = {"theta2022": 4360, "kth": 100, "lanl": 1024, "sdsc": 128}
POLICY = {"ljf": "longest", "spf": "smallest", "lpf": "largest"}
BACKFILL = {"none": "none", "easy": "easy", "cons": "conservative"}
ESTIMATES = {"native": "hybrid", "req": "requested", "perfect": "perfect"}

COLUMNS = {
    "theta2022_4k": (
        "f1.easy.native f1.easy.req f2.easy.native f4.easy.native fcfs.cons.native fcfs.cons.req fcfs.easy.native "
        "fcfs.easy.native.w3 fcfs.easy.perfect fcfs.easy.req fcfs.none.native ljf.easy.native lxf.easy.native "
        "sjf.cons.native unicep.easy.native unicep.easy.req wfp1.easy.req wfp3.cons.native wfp3.easy.native "
        "wfp3.easy.req"
    ),
    "kth_5k": (
        "bal.easy.native f1.easy.req f2.easy.native f4.easy.native fcfs.cons.native fcfs.easy.native "
        "fcfs.easy.native.w3 fcfs.easy.perfect fcfs.easy.req fcfs.none.native ljf.easy.native lxf.easy.native "
        "saf.easy.native sjf.easy.native sjf.easy.req spf.easy.native unicep.easy.native unicep.easy.req "
        "wfp1.easy.native wfp1.easy.req wfp3.cons.native wfp3.easy.native wfp3.easy.perfect wfp3.easy.req "
        "wfp3.none.native"
    ),
    "lanl_8k": (
        "bal.easy.native f1.easy.native f1.none.native f2.easy.native f3.easy.native f4.easy.native "
        "fcfs.cons.native fcfs.cons.req fcfs.easy.native fcfs.easy.native.w3 fcfs.easy.perfect fcfs.easy.req "
        "fcfs.none.native ljf.cons.native ljf.easy.native ljf.none.native saf.easy.native sjf.easy.native "
        "sjf.none.native spf.easy.native unicep.cons.native unicep.easy.native unicep.easy.req unicep.none.native "
        "wfp1.easy.native wfp1.easy.req wfp3.cons.native wfp3.easy.native wfp3.easy.perfect wfp3.easy.req "
        "wfp3.none.native"
    ),
    "sdsc_6k": (
        "f1.easy.native f4.easy.native fcfs.cons.native fcfs.easy.native fcfs.easy.req fcfs.none.native "
        "sjf.easy.native unicep.easy.native wfp1.easy.native wfp3.cons.native wfp3.easy.native wfp3.easy.req "
        "wfp3.none.native"
    ),
}

# one of each kind, from the quickest trace of those that catch the most mistakes
FAST = {
    ("lanl_8k", "fcfs.easy.native"),
    ("lanl_8k", "wfp3.none.native"),
    ("kth_5k", "fcfs.cons.native"),
    ("kth_5k", "fcfs.easy.native.w3"),
    ("kth_5k", "wfp3.easy.perfect"),
    ("sdsc_6k", "wfp3.easy.req"),
}


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def differing_jobs(oracle: Path, trace: str, column: str) -> list[tuple[int, int, int | None]]:
    """Return id, CQSim's wait and ours, for every job where they differ."""
    rows, waits = _rows(oracle / f"{trace}.jobs.csv.gz"), _rows(oracle / f"{trace}.waits.csv.gz")
    jobs = [Job(*(int(row[name]) for name in ("submit", "run", "req_time", "req_procs"))) for row in rows]
    policy, backfill, durations, *window = column.split(".")
    result = simulate_reference(
        jobs,
        MACHINE[trace.partition("_")[0]],
        policy=POLICY.get(policy, policy),
        backfill=BACKFILL[backfill],
        estimates=ESTIMATES[durations],
        semantics="cqsim",
        window=3 if window == ["w3"] else 0,
    )
    differing = []
    for row, job, start, wait in zip(rows, jobs, result.start, waits, strict=True):
        assert row["id"] == wait["id"]
        if start is None or start - job.submit != int(wait[column]):
            differing.append((int(row["id"]), int(wait[column]), None if start is None else start - job.submit))
    return differing


@pytest.mark.parametrize(
    ("trace", "column"),
    [
        pytest.param(trace, column, marks=() if (trace, column) in FAST else pytest.mark.slow)
        for trace, columns in COLUMNS.items()
        for column in columns.split()
    ],
)
def test_every_wait_of_a_real_log_is_cqsims(shared_dir: Path, trace: str, column: str) -> None:
    assert differing_jobs(shared_dir / "oracle" / "cqsim", trace, column) == []


def starts(
    *jobs: tuple[int, int, int, int], policy: str = "fcfs", backfill: str = "none", **options: str
) -> list[int | None]:
    """Start times on CQSim's rules, 10 processors; a job is (submit, run, processors, request)."""
    table = [Job(submit, run, request, processors) for submit, run, processors, request in jobs]
    options = {"semantics": "cqsim", "estimates": "hybrid", **options}
    return simulate_reference(table, 10, policy=policy, backfill=backfill, **options).start


# The smallest input of every trap, as CQSim answers it


@pytest.mark.parametrize(("estimates", "expected"), [("hybrid", [0, 502, 2]), ("requested", [0, 100, 150])])
def test_hybrid_backfills_with_an_oracle_for_the_queue(estimates: str, expected: list[int]) -> None:
    jobs = [(0, 100, 8, 1000), (1, 50, 10, 50), (2, 500, 2, 2000)]
    assert starts(*jobs, backfill="easy", estimates=estimates) == expected


@pytest.mark.parametrize(("semantics", "expected"), [("cqsim", [0, 0, 150, 100]), ("cycle", [0, 0, 100, 110])])
def test_a_pass_comes_between_two_finishes_at_one_time(semantics: str, expected: list[int]) -> None:
    jobs = [(0, 100, 4, 100), (0, 100, 6, 1000), (1, 10, 10, 10), (2, 50, 4, 50)]
    assert starts(*jobs, backfill="easy", semantics=semantics) == expected


@pytest.mark.parametrize(("semantics", "expected"), [("cqsim", [0, 100]), ("cycle", [10, 0])])
def test_a_pass_comes_between_two_submits_at_one_time(semantics: str, expected: list[int]) -> None:
    assert starts((0, 100, 10, 100), (0, 10, 10, 10), policy="sjf", semantics=semantics) == expected


@pytest.mark.parametrize("semantics", ["cqsim", "cycle"])
def test_a_finish_comes_before_a_submit_at_the_same_time(semantics: str) -> None:
    assert starts((0, 100, 10, 100), (100, 10, 10, 10), semantics=semantics) == [0, 100]


@pytest.mark.parametrize("backfill", ["none", "firstfit", "easy", "conservative"])
def test_a_job_larger_than_the_machine_is_refused_where_cqsim_stumbles(backfill: str) -> None:
    assert starts((0, 10, 4, 10), (1, 10, 11, 10), (2, 10, 4, 10), backfill=backfill) == [0, None, 2]
    behind_a_head = [(0, 10, 4, 10), (1, 10, 8, 10), (2, 10, 11, 10), (3, 10, 2, 10)]
    # 2 processors are free at 3, but the job would end at 13, after the head's start at 10; the head leaves it 2 of 10
    assert starts(*behind_a_head, backfill=backfill) == [0, 10, None, 10 if backfill == "none" else 3]


def test_a_job_over_its_limit_is_cut() -> None:
    jobs = [Job(8, 30, 10, 4)]
    assert (simulate_reference(jobs, 10).end, simulate_reference(jobs, 10).state) == ([18], ["TIMEOUT"])
    kept = simulate_reference(jobs, 10, kill_at_request=False)
    assert (kept.end, kept.state) == ([38], ["COMPLETED"])


def test_ties_keep_the_order_of_the_pass_before() -> None:
    jobs = [(0, 20, 10, 20), (0, 100, 10, 100), (10, 50, 10, 50)]
    # at 20 the scores of the last two are both exactly -1.2, and the last one led at 10
    assert starts(*jobs, policy="sexp") == [0, 70, 20]
    assert starts(*jobs, policy="sexp", semantics="cycle") == [0, 20, 120]


def test_submits_are_handled_in_order_of_time_as_after_sorting() -> None:
    jobs = [(0, 10, 10, 10), (100, 10, 10, 10), (100, 10, 10, 10), (500, 10, 10, 10), (600, 10, 10, 10)]
    assert starts(*jobs) == [0, 100, 110, 500, 600]


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_the_window_of_five_survives_the_input_on_which_shorter_checks_fail(backfill: str) -> None:
    jobs = [Job(0, 10, 10, 10)] + [Job(1, 10, 10, 1)] * 5
    assert simulate_reference(jobs, 10, semantics="cqsim", backfill=backfill, window=5).start == [0, 10, 10, 10, 10, 10]


@pytest.mark.parametrize(("window", "expected"), [(0, 40), (2, 40), (3, 10)])
def test_only_as_many_jobs_as_the_window_holds_are_rearranged(window: int, expected: int) -> None:
    jobs = [Job(0, 10, 10, 10), Job(1, 30, 30, 6), Job(1, 30, 30, 6), Job(1, 40, 40, 4)]
    # all end earliest, at 70 instead of 80, if the last overtakes the second; a window of two doesn't see it
    assert simulate_reference(jobs, 10, semantics="cqsim", window=window).start == [0, 10, 40, expected]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_head_that_fits_but_that_the_window_put_aside_keeps_its_nodes(depth: int) -> None:
    waiting = [(30, 3), (10, 7), (30, 5), (40, 8), (30, 3)]
    jobs = [Job(0, 10, 10, 10)] + [Job(1, run, run, processors) for run, processors in waiting]
    # At 20, 7 are free, and the last three end earliest (at 110) if that of 8 goes first; it blocks, so nothing starts.
    # The backfill's head is that of 5, by score: its nodes are kept from now on, too few are left for the last.
    result = simulate_reference(jobs, 10, semantics="cqsim", backfill="easy", window=3, depth=depth)
    assert result.start == [0, 10, 10, 80, 40, 80]
