"""The engine gives every wait that CQSim gave, from CQSim's own view of the jobs and from the logs it read.

95 golden columns of eight traces, the smallest input of every trap in which a rule shows, and, on a real log, what must
not matter: node identities, stops, copies, files, the number of threads.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import twin_gym as tg
from twin_gym.twin import Twin

Ints = npt.NDArray[np.int64]
Loader = Callable[[Path, str], tg.Workload]

# machine, log, and how many of its job lines CQSim was given (None: all)
TRACES = {
    "theta2022_4k": (4360, "ALCF-Theta-2022-cqsimplus.swf.gz", 4_000),
    "theta2022_full": (4360, "ALCF-Theta-2022-cqsimplus.swf.gz", None),
    "kth_5k": (100, "KTH-SP2-1996-2.1-cln.swf.gz", 5_000),
    "kth_full": (100, "KTH-SP2-1996-2.1-cln.swf.gz", None),
    "lanl_8k": (1024, "LANL-CM5-1994-4.1-cln.swf.gz", 8_000),
    "lanl_30k": (1024, "LANL-CM5-1994-4.1-cln.swf.gz", 30_000),
    "sdsc_6k": (128, "SDSC-SP2-1998-4.2-cln.swf.gz", 6_000),
    "sdsc_full": (128, "SDSC-SP2-1998-4.2-cln.swf.gz", None),
}
POLICY = {"ljf": "longest", "spf": "smallest", "lpf": "largest"}
BACKFILL = {"none": "none", "easy": "easy", "cons": "conservative"}
ESTIMATES = {"native": "hybrid", "req": "requested", "perfect": "perfect"}


def golden(shared: Path, trace: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the jobs as CQSim saw them, and their waits, one column for each combination."""
    folder = shared / "oracle" / "cqsim"
    jobs, waits = (pd.read_csv(folder / f"{trace}.{what}.csv.gz") for what in ("jobs", "waits"))
    return jobs, waits.set_index("id")


def as_seen(shared: Path, trace: str) -> tg.Workload:
    """Make a workload of the jobs as CQSim saw them after its filter."""
    jobs, _ = golden(shared, trace)
    names = {"run": "runtime", "req_time": "requested_time", "req_procs": "nodes"}
    return tg.Workload.from_frame(jobs.rename(columns=names), strict=True)


def from_log(shared: Path, trace: str) -> tg.Workload:
    """Read the log itself, cut after as many job lines as CQSim was given."""
    _, name, lines = TRACES[trace]
    path = shared / "data" / "swf" / name
    if lines is None:
        return tg.datasets.load("swf", path, missing_requests="drop")
    taken = []
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.startswith(";"):
                lines -= 1
                if lines < 0:
                    break
            taken.append(line)
    return tg.datasets.load("swf", io.BytesIO("".join(taken).encode("latin-1")), missing_requests="drop")


def run_column(system: tg.System, workload: tg.Workload, column: str) -> tg.Result:
    """Run what a golden column stands for: ``policy.backfill.durations[.w3]``."""
    policy, backfill, durations, *window = column.split(".")
    return tg.simulate(
        system,
        workload,
        POLICY.get(policy, policy),
        BACKFILL[backfill],
        estimates=ESTIMATES[durations],
        semantics="cqsim",
        window=3 if window else 0,
    )


def waits_of(result: tg.Result) -> Ints:
    """Return every job's wait, s; all jobs must have started."""
    return result.jobs["wait"].to_numpy(np.int64)


@pytest.mark.parametrize("source", [as_seen, from_log])
@pytest.mark.parametrize("trace", TRACES)
def test_every_wait_of_every_column_is_cqsims(shared_dir: Path, trace: str, source: Loader) -> None:
    jobs, golden_waits = golden(shared_dir, trace)
    workload = source(shared_dir, trace)
    assert workload.id.tolist() == jobs["id"].tolist()
    system = tg.System.uniform(nodes=TRACES[trace][0])
    assert workload.capacity in (None, system.nodes)
    differing = {}
    for column in golden_waits:
        waits = waits_of(run_column(system, workload, column))
        count = int((waits != golden_waits[column].to_numpy()).sum())
        if count:
            differing[column] = count
    assert differing == {}


def test_the_manifest_lists_95_columns_and_our_waits_have_its_digests(shared_dir: Path) -> None:
    with (shared_dir / "oracle" / "cqsim" / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 95
    assert {row["trace"] for row in rows} == set(TRACES)
    workloads = {trace: as_seen(shared_dir, trace) for trace in TRACES}
    for row in rows:
        system = tg.System.uniform(nodes=TRACES[row["trace"]][0])
        waits = waits_of(run_column(system, workloads[row["trace"]], row["combo"]))
        digest = hashlib.sha256(",".join(map(str, waits)).encode()).hexdigest()
        assert (len(waits), digest) == (int(row["jobs"]), row["sha256_of_waits"]), row


def test_batching_the_events_of_one_instant_moves_as_many_jobs_as_the_oracle_says(shared_dir: Path) -> None:
    """So the two semantics differ in that and in nothing else."""
    for trace, column, moved in (
        ("theta2022_4k", "fcfs.easy", 1_620),
        ("lanl_8k", "fcfs.easy", 594),
        ("lanl_8k", "wfp3.easy", 374),
        ("kth_5k", "fcfs.easy", 32),
        ("kth_5k", "fcfs.conservative", 124),
        ("sdsc_6k", "wfp3.conservative", 22),
        ("kth_5k", "wfp3.none", 0),
    ):
        policy, backfill = column.split(".")
        system, workload = tg.System.uniform(nodes=TRACES[trace][0]), as_seen(shared_dir, trace)
        waits = [
            waits_of(tg.simulate(system, workload, policy, backfill, estimates="hybrid", semantics=semantics))
            for semantics in ("cqsim", "cycle")
        ]
        assert int((waits[0] != waits[1]).sum()) == moved, (trace, column)


# ------------------------------------------------------------------- the smallest input of every trap, 10 processors


def starts(
    *jobs: tuple[int, int, int, int], nodes: int = 10, policy: str = "fcfs", backfill: str = "none", **options: Any
) -> list[int | None]:
    """Start times of jobs (submit, run, processors, request) by CQSim's rules, unless told otherwise."""
    frame = pd.DataFrame(jobs, columns=["submit", "runtime", "nodes", "requested_time"])
    options = {"semantics": "cqsim", "estimates": "hybrid", **options}
    result = tg.simulate(tg.System.uniform(nodes=nodes), tg.Workload.from_frame(frame), policy, backfill, **options)
    return [None if pd.isna(start) else int(start) for start in result.jobs["start"]]


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
    # CQSim's EASY: 4 starts at 3 (2 of 10 processors are left over by the head), 2 at 10, 3 never
    assert starts(*behind_a_head, backfill=backfill) == [0, 10, None, 10 if backfill == "none" else 3]


def test_the_filter_drops_what_never_ran_and_a_request_cuts_the_run() -> None:
    swf = [
        "; MaxProcs: 10",
        "1 0 -1 0 4 -1 -1 4 10 -1 1 1 1 1 1 1 -1 -1",  # ran 0 s
        "2 1 -1 10 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1",  # no request
        "3 2 -1 10 4 -1 -1 -1 10 -1 1 1 1 1 1 1 -1 -1",  # no processors requested
        "5 8 -1 30 4 -1 -1 4 10 -1 1 1 1 1 1 1 -1 -1",
    ]
    workload = tg.datasets.load("swf", io.BytesIO("\n".join(swf).encode()), missing_requests="drop")
    jobs = tg.simulate(tg.System.uniform(nodes=10), workload, semantics="cqsim").jobs
    assert jobs[["id", "start", "end"]].to_numpy(np.int64).tolist() == [[5, 8, 18]]


def test_unsorted_submits_are_sorted_first_where_cqsims_clock_runs_back() -> None:
    jobs = [(0, 10, 10, 10), (500, 10, 10, 10), (600, 10, 10, 10), (100, 10, 10, 10)]
    assert starts(*jobs) == [0, 100, 500, 600]


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_a_window_of_five_holds_five_jobs(backfill: str) -> None:
    jobs = [(0, 10, 10, 10)] + [(1, 10, 1, 10)] * 5
    assert starts(*jobs, backfill=backfill, window=5) == [0, 10, 10, 10, 10, 10]


@pytest.mark.parametrize(("window", "expected"), [(0, 40), (2, 40), (3, 10)])
def test_only_as_many_jobs_as_the_window_holds_are_rearranged(window: int, expected: int) -> None:
    jobs = [(0, 10, 10, 10), (1, 30, 6, 30), (1, 30, 6, 30), (1, 40, 4, 40)]
    # all end earliest, at 70 instead of 80, if the last overtakes the second; a window of two doesn't see it
    assert starts(*jobs, window=window) == [0, 10, 40, expected]


def test_ties_keep_the_order_of_the_pass_before() -> None:
    jobs = [(0, 20, 10, 20), (0, 100, 10, 100), (10, 50, 10, 50)]
    # at 20 the scores of the last two are both exactly -1.2, and the last one led at 10
    assert starts(*jobs, policy="sexp") == [0, 70, 20]
    assert starts(*jobs, policy="sexp", semantics="cycle") == [0, 20, 120]


def test_unicep_counts_one_processor_as_two() -> None:
    # without a guard log2(1) = 0 ends CQSim's run; with it the two serial jobs tie, and stay in order
    jobs = [(0, 20, 10, 20), (1, 10, 1, 10), (1, 10, 2, 10), (1, 10, 10, 10)]
    assert starts(*jobs, policy="unicep", backfill="easy") == [0, 20, 20, 30]


def test_the_cube_of_wfp3_is_cpythons_power() -> None:
    """No golden column shows the last bit of a cube; pairs of jobs whose true scores are equal do."""
    end, rng, telling = 100_000, np.random.default_rng(1), 0
    for _ in range(300):
        # 1 * (3 w/t)^3 = 27 * (w/t)^3, so that rounding alone decides who comes first on 27 processors
        w, t, m = (int(v) for v in rng.integers((50, 50, 2), (3_000, 3_000, 9)))
        small, large = (3 * w, t), (w * m, t * m)
        powers = [(small[0] / small[1]) ** 3.0 * 1, (large[0] / large[1]) ** 3.0 * 27]
        products = [a * a * a * n for a, n in ((small[0] / small[1], 1), (large[0] / large[1], 27))]
        jobs = [(0, end, 27, end), (end - small[0], 7, 1, small[1]), (end - large[0], 7, 27, large[1])]
        first = starts(*sorted(jobs), nodes=27, policy="wfp3")
        submitted_first = int(small[0] < large[0])  # 0: the small one; decides on a tie
        expected = submitted_first if powers[0] == powers[1] else int(powers[1] > powers[0])
        # which of the two, in order of submits, starts at `end`
        assert first[1 + (expected != submitted_first)] == end, (small, large)
        telling += (powers[0] > powers[1]) != (products[0] > products[1])
    assert telling > 20


# ------------------------------------------------------------------------- what must not matter, on a real log

COMBINATIONS = [
    ("fcfs", "none"),
    ("fcfs", "firstfit"),
    ("fcfs", "easy"),
    ("fcfs", "conservative"),
    ("wfp3", "easy"),
    ("sjf", "conservative"),
    ("sexp", "easy"),
    ("multifactor", "easy"),
]


@pytest.fixture(scope="module")
def kth(shared_dir: Path) -> tuple[tg.System, tg.Workload]:
    """The first months of KTH's SP2, with users."""
    return tg.System.uniform(nodes=100), from_log(shared_dir, "kth_5k")


@pytest.fixture(scope="module")
def kth_start(kth: tuple[tg.System, tg.Workload]) -> tg.Workload:
    """Its first 1,500 jobs."""
    return kth[1].select(np.arange(len(kth[1])) < 1_500)


def outcome(result: tg.Result) -> tuple[list[int], list[int], list[int]]:
    """Start, end and state of every job."""
    out = result.outcome
    return out.start.tolist(), out.end.tolist(), out.state.tolist()


@pytest.mark.parametrize("semantics", ["cycle", "cqsim"])
@pytest.mark.parametrize(("policy", "backfill"), COMBINATIONS)
def test_nodes_with_names_start_jobs_as_nodes_that_are_counted(
    kth: tuple[tg.System, tg.Workload], policy: str, backfill: str, semantics: str
) -> None:
    counted = tg.simulate(*kth, policy, backfill, semantics=semantics)
    assert counted.placement is None
    for placement in ("lowest", "contiguous"):
        named = tg.simulate(*kth, policy, backfill, semantics=semantics, placement=placement)
        assert outcome(named) == outcome(counted)
        assert_no_node_twice(named)


def assert_no_node_twice(result: tg.Result) -> None:
    """Every job has as many different nodes as it asked for, and each node one job at a time."""
    out, nodes = result.outcome, result.placement
    assert nodes is not None
    assert nodes.lengths.tolist() == out.nodes.tolist()
    job = np.repeat(np.arange(len(out)), nodes.lengths)
    order = np.lexsort((out.start[job], nodes.values))
    node, start, end = nodes.values[order], out.start[job][order], out.end[job][order]
    follows = node[1:] == node[:-1]
    assert (start[1:][follows] >= end[:-1][follows]).all()
    assert node.min() >= 0
    assert node.max() < result.scenario.nodes


@pytest.mark.parametrize("placement", ["count", "contiguous"])
@pytest.mark.parametrize("semantics", ["cycle", "cqsim"])
@pytest.mark.parametrize(("policy", "backfill"), COMBINATIONS)
def test_stopping_saving_and_going_on_changes_nothing(
    kth: tuple[tg.System, tg.Workload],
    kth_start: tg.Workload,
    tmp_path: Path,
    policy: str,
    backfill: str,
    semantics: str,
    placement: str,
) -> None:
    system, workload = kth[0], kth_start
    options = {"policy": policy, "backfill": backfill, "semantics": semantics, "placement": placement}
    rng, span = np.random.default_rng(7), workload.span
    twin = Twin(system, workload, **options)
    reason, stops = "", 0
    while reason != "done":
        kind = rng.integers(3)
        if kind == 0:
            reason = twin.advance(twin.clock + int(rng.integers(0, span // 20)))
        elif kind == 1:
            reason = twin.advance(events=int(rng.integers(1, 300)))
        else:
            twin.save(tmp_path / "state.npz")
            twin = Twin(system, workload, **options)
            twin.load(tmp_path / "state.npz")
        stops += 1
    assert stops > 10
    assert outcome(twin.result()) == outcome(tg.simulate(system, workload, **options))


def test_another_process_goes_on_from_a_file(
    kth: tuple[tg.System, tg.Workload], kth_start: tg.Workload, tmp_path: Path
) -> None:
    options = {"policy": "wfp3", "backfill": "easy"}
    twin = Twin(kth[0], kth_start, **options)
    twin.advance(events=1_000)
    assert twin.advance(events=1) == "events"
    twin.save(tmp_path / "state.npz")
    kth_start.save(tmp_path / "jobs.parquet")
    program = (
        "import sys, numpy as np, twin_gym as tg\n"
        "from twin_gym.twin import Twin\n"
        "jobs = tg.Workload.load(sys.argv[1] + '/jobs.parquet')\n"
        "twin = Twin(tg.System.uniform(nodes=100), jobs, policy='wfp3', backfill='easy')\n"
        "twin.load(sys.argv[1] + '/state.npz')\n"
        "assert twin.advance() == 'done'\n"
        "np.save(sys.argv[1] + '/start.npy', twin.result().outcome.start)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    expected = tg.simulate(kth[0], kth_start, **options).outcome.start
    assert np.load(tmp_path / "start.npy").tolist() == expected.tolist()


@pytest.mark.parametrize(("policy", "backfill"), COMBINATIONS)
def test_a_fork_and_its_twin_do_not_touch_each_other(
    kth: tuple[tg.System, tg.Workload], kth_start: tg.Workload, policy: str, backfill: str
) -> None:
    options = {"policy": policy, "backfill": backfill, "placement": "lowest"}
    expected = outcome(tg.simulate(kth[0], kth_start, **options))
    twin = Twin(kth[0], kth_start, **options)
    twin.advance(kth_start.span // 2)
    kept = twin.snapshot()
    before = outcome(twin.result())
    fork, other = twin.fork(), twin.fork()
    while other.advance(decisions=True) == "decision":  # the other way round from now on
        other.decide(policy="lcfs", backfill="none")
    assert outcome(twin.result()) == before
    fork.advance()
    assert outcome(fork.result()) == expected
    assert outcome(other.result()) != expected
    assert outcome(twin.result()) == before
    twin.advance()
    assert outcome(twin.result()) == expected
    twin.restore(kept)
    assert outcome(twin.result()) == before
    twin.advance()
    assert outcome(twin.result()) == expected
    twin.reset()
    twin.advance()
    assert outcome(twin.result()) == expected


def test_compare_is_simulate_for_every_row_with_any_number_of_threads(kth: tuple[tg.System, tg.Workload]) -> None:
    policies, backfills = ["fcfs", "sjf", "wfp3", "f1"], ["none", "easy", "conservative"]
    tables = [tg.compare(*kth, policies, backfills, workers=workers, keep=True) for workers in (1, 2)]
    results = [table.attrs.pop("results") for table in tables]
    alone = [tg.simulate(*kth, policy, backfill) for policy in policies for backfill in backfills]
    expected = pd.DataFrame(
        [{"policy": run.config.policy, "backfill": run.config.backfill, **run.summary} for run in alone]
    )
    for table, kept in zip(tables, results, strict=True):
        pd.testing.assert_frame_equal(table, expected, check_exact=True)
        assert [outcome(run) for run in kept] == [outcome(run) for run in alone]
