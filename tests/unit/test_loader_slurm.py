"""Slurm's accounting by hand: units, states, arrays, steps, node lists, and what is said about bad files."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from twin_gym.datasets import load
from twin_gym.datasets._sacct import join
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status, Workload

FIELDS = "JobID|JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|AllocTRES|NodeList|ConsumedEnergyRaw|TotalCPU"  # noqa: E501
ROWS = [
    "1|1|ann|phys|long|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:10:00|2024-01-01T01:10:00|3600|90|2|16|billing=9,cpu=16,gres/gpu=4,node=2|n[9-10]|7200000|08:00:00",
    "1.batch|1.batch||phys||COMPLETED|2024-01-01T00:10:00|2024-01-01T00:10:00|2024-01-01T01:10:00|3600||1|8|cpu=8|n9|0|01:00:00",
    "2_7|3|bob|bio|short|CANCELLED by 1002|2024-01-01T00:01:00|2024-01-01T00:11:00|2024-01-01T00:21:00|500|UNLIMITED|1|8|cpu=8,node=1|n2||00:00.000",  # noqa: E501
    "4|4|bob|bio|short|RUNNING|2024-01-01T00:02:00|2024-01-01T00:12:00|Unknown|60|5|1|8|cpu=8,node=1|n3||00:00:00",
    "5|5|bob|bio|short|OUT_OF_MEMORY|2024-01-01T00:03:00|2024-01-01T00:13:00|2024-01-01T00:13:10|10|Partition_Limit|1|8|cpu=8,node=1|n3||1-00:00:00",
    "6|6|bob|bio|short|CANCELLED by 1002|2024-01-01T00:04:00|2024-01-01T00:14:00|2024-01-01T00:14:00|0|5|1|8||None assigned||00:00:00",  # noqa: E501
]


def sacct(*rows: str, fields: str = FIELDS) -> io.BytesIO:
    return io.BytesIO("\n".join([fields, *rows, ""]).encode())


def read(*rows: str, fields: str = FIELDS, **options: object) -> Workload:
    return load("slurm", sacct(*rows, fields=fields), **options)


def test_every_unit_by_hand() -> None:
    jobs = read(*ROWS)
    assert jobs.id.tolist() == [1, 3, 5]
    assert jobs.epoch == 1_704_067_200  # 2024-01-01T00:00:00Z
    assert jobs.submit.tolist() == [0, 60, 180]
    assert jobs.start.tolist() == [600, 660, 780]
    assert jobs.runtime.tolist() == [3600, 600, 10]  # end - start, 100 s of the second were suspended
    assert jobs.requested_time.tolist() == [5400, 365 * 86_400, 10]  # minutes; no limit; none of its own: the runtime
    assert jobs.nodes.tolist() == [2, 1, 1]
    assert jobs.status.tolist() == [Status.COMPLETED, Status.CANCELLED, Status.OUT_OF_MEMORY]
    assert [jobs.users[code] for code in jobs.user] == ["ann", "bob", "bob"]
    assert jobs.extra["gpus"].tolist() == [4, 0, 0]
    assert jobs.extra["array_job"].tolist() == [-1, 2, -1]
    assert jobs.extra["array_task"].tolist() == [-1, 7, -1]


def test_traces_are_means_over_nodes_and_time() -> None:
    jobs = read(*ROWS)
    power, cpu = jobs.traces["node_power"], jobs.traces["cpu"]
    assert (power.unit, power[0].tolist(), power[1].size) == ("W", [1000.0], 0)  # 7.2 MJ / 3600 s / 2 nodes
    assert cpu[0].tolist() == [0.5]  # 8 h of 16 CPUs x 1 h
    assert cpu[2].tolist() == [1.0]  # a day of 8 CPUs x 10 s is too much
    assert jobs.report.count("clipped") == 1
    assert read(*ROWS, cpus_per_node=32).traces["cpu"][0].tolist() == [0.125]
    assert not read(*ROWS, with_traces=False).traces


def test_nodes_are_numbered_in_natural_order_the_same_in_a_window() -> None:
    jobs = read(*ROWS)
    assert jobs.header["nodes"] == "n2,n3,n9,n10"
    assert jobs.capacity == 4
    assert [jobs.node_ids[job].tolist() for job in range(3)] == [[2, 3], [0], [1]]
    late = read(*ROWS, window=("2024-01-01T00:13:00", "2024-01-01T00:30:00"))
    assert late.header["nodes"] == jobs.header["nodes"]
    assert late.id.tolist() == [1, 3, 5]
    assert late.initial.tolist() == [True, True, False]
    assert [late.node_ids[job].tolist() for job in range(3)] == [[2, 3], [0], [1]]


def test_the_report_tells_what_became_of_every_row() -> None:
    counts = read(*ROWS).report.counts()
    assert counts == {
        "unfinished": 1, "never_ran": 1, "runtime_differs": 1, "step": 1, "clipped": 1, "no_requested_time": 1,
    }  # fmt: skip
    with pytest.raises(WorkloadError, match="strict=True"):
        read(*ROWS, strict=True)


def test_processors_instead_of_nodes() -> None:
    jobs = read(*ROWS, unit="processor")
    assert (jobs.unit, jobs.nodes.tolist(), jobs.capacity, jobs.node_ids) == ("processor", [16, 8, 8], None, None)


def test_local_times_have_a_zone_and_clocks_are_set_back() -> None:
    fields = "JobID|Submit|Start|End|NNodes"
    rome = read(
        "1|2024-07-01T12:00:00|2024-07-01T12:00:01|2024-07-01T12:00:11|1", fields=fields, time_zone="Europe/Rome"
    )
    assert rome.epoch == 1_719_828_000  # 10:00 UTC
    twice = "1|2024-10-27T01:59:50|2024-10-27T01:59:59|2024-10-27T03:00:00|1"  # 02:00 to 03:00 happened twice
    assert read(twice, fields=fields, time_zone="Europe/Rome").runtime.tolist() == [7201]


def test_unix_times_and_eligible_arrivals() -> None:
    fields = "JobID|Submit|Eligible|Start|End|AllocNodes"
    row = "1|1704067200|1704067260|1704067300|1704067310|3"
    assert read(row, fields=fields).start.tolist() == [100]
    eligible = read(row, fields=fields, arrivals="eligible")
    assert (eligible.epoch, eligible.start.tolist(), eligible.nodes.tolist()) == (1_704_067_260, [40], [3])


@pytest.mark.parametrize(
    ("fields", "row", "nodes"),
    [
        ("JobID|Submit|Elapsed|NodeList", "1|2024-01-01T00:00:00|00:01:05|x[1-2]c[0-1]", 4),
        ("JobID|Submit|Elapsed|AllocTRES", "1|2024-01-01T00:00:00|00:01:05|billing=4,cpu=4,node=7", 7),
        ("JobID|Submit|ElapsedRaw|ReqTRES", "1|2024-01-01T00:00:00|65|cpu=1,node=2", 2),
        ("jobid|submit|elapsed|reqnodes", "1|2024-01-01T00:00:00|01:05|5", 5),
    ],
)
def test_any_field_set_that_suffices(fields: str, row: str, nodes: int) -> None:
    jobs = read(row, fields=fields)
    assert (jobs.nodes.tolist(), jobs.runtime.tolist()) == ([nodes], [65])


def test_limits_as_text() -> None:
    fields = "JobID|Submit|Elapsed|NNodes|Timelimit"
    rows = [f"{k}|2024-01-01T00:00:00|1-00:00:01|1|{limit}" for k, limit in enumerate(["1-02:03:04", "UNLIMITED", ""])]
    assert read(*rows, fields=fields).requested_time.tolist() == [93_784, 365 * 86_400, 86_401]


def test_json_of_later_versions_wraps_its_numbers() -> None:
    def number(value: int | None, infinite: bool = False) -> dict[str, object]:
        return {"set": value is not None, "infinite": infinite, "number": value or 0}

    job = {
        "job_id": 7, "array": {"job_id": 5, "task_id": number(2)}, "het": {"job_id": 0, "job_offset": number(None)},
        "association": {"user": "ann"}, "account": "phys", "partition": "long", "nodes": "n[1-2]",
        "allocation_nodes": 2, "priority": number(99), "state": {"current": ["TIMEOUT"]},
        "time": {"submission": 1_704_067_200, "eligible": 1_704_067_200, "start": 1_704_067_260, "end": 1_704_067_560,
                 "elapsed": 300, "limit": number(5)},
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8}, {"type": "gres", "name": "gpu", "count": 4}],
                 "requested": []},
    }  # fmt: skip
    free = job | {"job_id": 8, "time": job["time"] | {"limit": number(None, infinite=True)}}  # type: ignore[operator]
    jobs = load("slurm", io.BytesIO(json.dumps({"jobs": [job, free]}).encode()))
    assert jobs.id.tolist() == [7, 8]
    assert jobs.requested_time.tolist() == [300, 365 * 86_400]
    assert (jobs.runtime[0], jobs.nodes[0], jobs.priority[0], jobs.status[0]) == (300, 2, 99.0, Status.TIMEOUT)
    assert jobs.extra["array_task"].tolist() == [2, 2]
    assert jobs.extra["gpus"].tolist() == [4, 4]


def test_sizes_allocated_or_requested() -> None:
    fields = "JobID|Submit|Elapsed|NNodes|ReqNodes"
    row = "1|2024-01-01T00:00:00|00:01:00|4|2"
    assert read(row, fields=fields).nodes.tolist() == [4]
    assert read(row, fields=fields, sizes="requested").nodes.tolist() == [2]


def test_without_titles_with_other_delimiters_and_compressed(tmp_path: Path) -> None:
    row = "1;2024-01-01T00:00:00;00:01:00;4;"
    jobs = load("slurm", io.BytesIO(row.encode()), fields=["JobID", "Submit", "Elapsed", "NNodes"])
    assert jobs.nodes.tolist() == [4]
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"JobID@@Submit@@Elapsed@@NNodes\n1@@2024-01-01T00:00:00@@00:01:00@@4\n"))
    assert load("slurm", path).nodes.tolist() == [4]
    assert load("slurm", io.BytesIO(b"JobID|Submit|Elapsed|NNodes\r\n1|2024-01-01T00:00:00|00:01:00|4\r\n")).nodes == [
        4
    ]


def test_names_in_an_old_encoding_stay_different() -> None:
    rows = [f"{k}|2024-01-01T00:00:00|00:01:00|1|{user}" for k, user in enumerate(("j\xfcrg", "j\xf6rg", "j\xfcrg"))]
    text = "\n".join(["JobID|Submit|Elapsed|NNodes|User", *rows]).encode("latin-1")
    jobs = load("slurm", io.BytesIO(text))
    assert jobs.user.tolist() == [1, 0, 1]
    assert jobs.users == ("j\\xf6rg", "j\\xfcrg")


def test_array_tasks_without_raw_numbers_get_new_ones() -> None:
    rows = [f"{job}|2024-01-01T00:00:00|00:01:00|1" for job in ("7_1", "7_2", "9")]
    jobs = read(*rows, fields="JobID|Submit|Elapsed|NNodes")
    assert jobs.id.tolist() == [10, 11, 9]
    assert jobs.report.count("no_id") == 2


# --------------------------------------------------------------------------------------------------------- bad files


def test_bars_in_names_are_joined_where_only_one_way_fits() -> None:
    names = ["jobid", "jobname", "user", "state", "submit", "comment", "nnodes"]
    row = ["1", "a", "b", "ann", "COMPLETED", "2024-01-01T00:00:00", "x", "y", "2"]
    assert join(row, names) == ["1", "a|b", "ann", "COMPLETED", "2024-01-01T00:00:00", "x|y", "2"]
    assert join(["1", "a", "b", "c"], ["jobid", "jobname", "user"]) == ["1", "a|b", "c"]
    assert join(["1", "a", "b", "ann", "x"], ["jobid", "jobname", "user", "comment"]) is None  # who is the user?
    assert join(["1", "a", "b", "c"], ["jobid", "state", "user"]) is None  # no field may hold a bar
    assert join(["x", "a", "b", "c"], ["jobid", "jobname", "user"]) is None


def test_rows_that_do_not_fit_are_counted() -> None:
    fields = "JobID|JobName|State|Submit|Elapsed|NNodes"
    good = "1|a|COMPLETED|2024-01-01T00:00:00|00:01:00|1"
    barred = "2|a|b|COMPLETED|2024-01-01T00:00:00|00:01:00|2"
    jobs = read(good, barred, "3|cut", fields=fields)
    assert jobs.nodes.tolist() == [1, 2]
    assert jobs.report.count("split_row") == 1
    assert jobs.report.count("malformed_row") == 1
    assert "3|cut" in str(jobs.report)


def test_wrong_dates_and_lists_are_counted() -> None:
    fields = "JobID|Submit|Start|End|NNodes|NodeList"
    rows = [
        "1|2024-01-01T00:00:00|yesterday|2024-01-01T00:00:10|1|n1",
        "2|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:00:10|1|n[1-",
        "3|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:00:10|2|n1",
        "4|2024-01-01T00:00:00|2024-01-01T00:00:20|2024-01-01T00:00:10|1|n1",
        "5|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:00:10|1|n1",
        "5|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:00:10||",
    ]
    jobs = read(*rows, fields=fields)
    assert jobs.id.tolist() == [2, 3, 5]
    counts = jobs.report.counts()
    assert counts["no_date"] == 1
    assert counts["never_ran"] == 2  # a start that is none, an end before the start
    assert counts["node_list"] == 2
    assert counts["no_nodes"] == 1


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "is empty"),
        ("JobID   JobName\n------- -------\n1   a\n", "fixed widths"),
        ("Name|Priority\na|1\n", "names no JobID"),
        ("1|COMPLETED\n", "fields=[JobID,...]"),
        ("JobID|Submit|Start|End\n1|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:00:10\n", "how many nodes"),
        ("JobID|Start|End|NNodes\n1|2024-01-01T00:00:00|2024-01-01T00:00:10|1\n", "when jobs were submitted"),
        ("JobID|Submit|NNodes\n1|2024-01-01T00:00:00|1\n", "how long they ran"),
        ("JobID|Submit|Elapsed|NNodes\n", "no job"),
        ("JobID|Submit|Elapsed|NNodes\n1|2024-01-01T00:00:00|00:01:00|1.5K\n", "'1.5K' is not a number"),
        ("JobID|Submit|Submit|NNodes\n1|2|3|4\n", "'submit' occurs twice"),
        ('{"jobs": [{"job_id": 1}]}', "sacct --json"),
        ('{"jobs": [', "sacct --json"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(text: str, fragment: str) -> None:
    with pytest.raises((WorkloadError, OptionError)) as caught:
        load("slurm", io.BytesIO(text.encode()))
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{"unit": "core"}, {"sizes": "all"}, {"arrivals": "start"}, {"time_zone": "Rome"}])
def test_wrong_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        read(*ROWS, **options)


def test_a_window_reads_what_the_whole_log_windowed_has() -> None:
    rng = np.random.default_rng(5)
    fields = "JobID|Submit|Start|End|NNodes"
    submit = np.sort(rng.integers(0, 86_400, 300)) + 1_704_067_200
    start = submit + rng.integers(0, 5000, 300)
    end = start + rng.integers(1, 20_000, 300)
    rows = [f"{k}|{a}|{b}|{c}|1" for k, (a, b, c) in enumerate(zip(submit, start, end, strict=True))]
    begin = 1_704_067_200 + 30_000
    whole = read(*rows, fields=fields)
    part = read(*rows, fields=fields, window=(begin, begin + 10_000))
    assert part.fingerprint() == whole.window(begin - whole.epoch, 10_000).fingerprint()
    assert 0 < len(part) < len(whole)
