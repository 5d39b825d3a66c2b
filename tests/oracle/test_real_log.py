"""On a real log: what must not matter to a schedule does not, and policies that CQSim was not asked for are right too.

Node identities, stops, copies, files and the number of threads must not matter.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracle.cqsim_record import TRACES, as_seen, from_log
from reference.scheduler import Job, simulate_reference

import twin_gym as tg
from twin_gym.twin import Twin

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


@pytest.mark.parametrize("placement", ["lowest", "contiguous"])
@pytest.mark.parametrize("backfill", ["none", "firstfit", "easy", "conservative"])
def test_reservations_on_nodes_matter_only_where_there_are_reservations(
    kth: tuple[tg.System, tg.Workload], kth_start: tg.Workload, backfill: str, placement: str
) -> None:
    by_node = tg.simulate(kth[0], kth_start, "fcfs", backfill, reservations="nodes", placement=placement)
    assert_no_node_twice(by_node)
    by_count = tg.simulate(kth[0], kth_start, "fcfs", backfill)
    assert (outcome(by_node) == outcome(by_count)) == (backfill in ("none", "firstfit"))


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


# ------------------------------------------------------------------------------- policies without a golden column


@pytest.mark.parametrize("policy", ["lcfs", "largest", "laf", "srf", "lrf", "sexp", "wfp2", "random", "priority"])
@pytest.mark.parametrize("trace", ["kth_5k", "lanl_8k"])
def test_other_policies_start_jobs_as_the_reference_does(shared_dir: Path, trace: str, policy: str) -> None:
    """The plain-Python reference has all of CQSim's golden waits, so it stands in where CQSim was not asked."""
    workload, system = as_seen(shared_dir, trace), tg.System.uniform(nodes=TRACES[trace][0])
    workload = workload.select(np.arange(len(workload)) < 800)
    columns = (workload.submit, workload.runtime, workload.requested_time, workload.nodes)
    jobs = [Job(*map(int, row)) for row in zip(*columns, strict=True)]
    for backfill in ("none", "easy", "conservative"):
        for estimates, window in (("hybrid", 0), ("requested", 3), ("perfect", 0)):
            options = {"estimates": estimates, "window": window, "semantics": "cqsim", "policy": policy}
            ours = tg.simulate(system, workload, backfill=backfill, **options).outcome.start.tolist()
            assert ours == simulate_reference(jobs, system.nodes, backfill=backfill, **options).start, (
                backfill,
                options,
            )
