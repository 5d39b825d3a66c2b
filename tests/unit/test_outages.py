"""Outages: files and their mistakes; what an outage does to a schedule, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

import twin_gym as tg
from twin_gym.errors import OptionError
from twin_gym.outages import Outage, load_outages, parse_nodes


def test_node_lists():
    assert parse_nodes("0-3, 7") == (0, 1, 2, 3, 7)
    assert parse_nodes(5) == (5,)
    assert parse_nodes([1, "4-5"]) == (1, 4, 5)
    for wrong in ("", "a", "3-1", "1-", "-1", "1,,2"):
        with pytest.raises(OptionError, match=r"ids and ranges such as 0-3,7"):
            parse_nodes(wrong)


def test_yaml_and_csv_say_the_same(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "- {nodes: 0-3, start: 10, end: 20}\n- {nodes: [7], start: 5, end: 6, mode: fail, planned: false}\n"
    )
    (tmp_path / "a.csv").write_text('nodes,start,end,mode,planned\n0-3,10,20,,\n"7",5,6,fail,no\n')
    expected = (Outage((0, 1, 2, 3), 10, 20), Outage((7,), 5, 6, "fail", False))
    assert load_outages(tmp_path / "a.yaml") == load_outages(tmp_path / "a.csv") == expected
    (tmp_path / "empty.yaml").write_text("")
    assert load_outages(tmp_path / "empty.yaml") == ()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "- {nodes: 1, start: 5}", r"a\.yaml, outage 1: 'end' is missing"),
        ("a.yaml", "- {nodes: 1, start: 5, end: 5}", "outage 1: an outage must end after it starts"),
        ("a.yaml", "- {nodes: 1, start: 5, end: 6, mod: fail}", r"unknown key 'mod'\. Did you mean 'mode'"),
        ("a.yaml", "- {nodes: 1, start: 5, end: 6, mode: kill}", "outage mode 'kill' is unknown"),
        ("a.yaml", "- {nodes: 1, start: soon, end: 6}", "whole seconds"),
        ("a.yaml", "nodes: 1", "must hold a list"),
        ("a.yaml", "- {nodes: [1", r"a\.yaml, line 1: not valid YAML"),
        ("a.csv", "nodes,start,end,planned\n1,2,3,perhaps\n", r"a\.csv, line 2: planned='perhaps'"),
        ("a.csv", "nodes,start,end\n1,2,3\n1 1,2,\n", r"a\.csv, line 3: 'end' is missing"),
        ("a.txt", "", r"must be \.yaml, \.yml or \.csv"),
    ],
)
def test_mistakes_name_file_and_record(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(OptionError, match=message):
        load_outages(tmp_path / name)


def test_missing_file(tmp_path):
    with pytest.raises(OptionError, match="can't be read"):
        load_outages(tmp_path / "none.yaml")


def run(jobs: list[tuple[int, int, int, int]], *outages: Outage, **options: object) -> pd.DataFrame:
    """Run jobs (submit, runtime, requested time, nodes) on four nodes."""
    frame = pd.DataFrame(jobs, columns=["submit", "runtime", "requested_time", "nodes"])
    frame["id"] = range(1, len(jobs) + 1)
    workload = tg.Workload.from_frame(frame)
    return tg.simulate(tg.System.uniform(nodes=4), workload, outages=outages, **options).jobs


def test_planned_outage_is_kept_free_and_jobs_that_end_before_it_run():
    #  nodes 0-3 down from 100 to 200:  a job of 90 s fits before it, one of 150 s waits until it is over
    jobs = run([(0, 90, 90, 2), (0, 150, 150, 2)], Outage((0, 1, 2, 3), 100, 200), policy="fcfs")
    assert list(jobs["start"]) == [0, 200]


def test_planned_outage_of_some_nodes_leaves_the_others():
    jobs = run([(0, 150, 150, 2), (0, 150, 150, 2)], Outage((0, 1), 100, 200), policy="fcfs")
    assert list(jobs["start"]) == [
        0,
        150,
    ]  # the first on nodes 2-3, the second after it: 0-1 do not stay up long enough


def test_unplanned_outage_requeues_at_once_and_the_job_starts_from_scratch():
    jobs = run([(0, 100, 100, 4)], Outage((1,), 40, 60, "requeue", planned=False))
    assert list(jobs["start"]) == [60]
    assert list(jobs["end"]) == [160]
    assert list(jobs["restarts"]) == [1]


def test_unplanned_outage_requeues_onto_the_nodes_that_are_left():
    jobs = run([(0, 100, 100, 2)], Outage((1,), 40, 60, "requeue", planned=False))
    assert list(jobs["start"]) == [40]


def test_failed_job_ends_with_the_outage():
    jobs = run([(0, 100, 100, 2), (0, 10, 10, 4)], Outage((0,), 40, 50, "fail", planned=False))
    assert list(jobs["end"]) == [40, 60]
    assert list(jobs["state"]) == ["FAILED", "COMPLETED"]


def test_drained_node_goes_down_when_its_job_ends():
    #  node 0 is drained from 10 to 80; its job runs on until 50, and the job of four nodes has to wait until 80
    jobs = run([(0, 50, 50, 1), (20, 10, 10, 4)], Outage((0,), 10, 80, "drain", planned=False))
    assert list(jobs["start"]) == [0, 80]


def test_overlapping_outages_hold_a_node_until_both_are_over():
    outages = [Outage((0,), 10, 50, planned=False), Outage((0, 1), 30, 90, planned=False)]
    jobs = run([(20, 10, 10, 4)], *outages)
    assert list(jobs["start"]) == [90]
