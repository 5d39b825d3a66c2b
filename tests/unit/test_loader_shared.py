"""What all loaders share: the cache, windows, lists of nodes, findings of foreign rows, the registry."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from twin_gym import datasets
from twin_gym.datasets import _cache, swf
from twin_gym.datasets._files import find
from twin_gym.datasets._hostlists import expand, numbered
from twin_gym.datasets._window import Span, span_of
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.validation import DEFECTS, FOREIGN, Finding, Report
from twin_gym.workload import UNKNOWN, Workload

LOG = "; MaxProcs: 8\n" + "\n".join(
    f"{k} {k * 10} 1 {5 + k} 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1" for k in range(1, 30)
)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Sources that were really read."""
    seen: list[object] = []
    real = swf.load

    def spy(source: object, *, capacity: int | None = None, strict: bool = False, progress: object = None) -> Workload:
        seen.append(source)
        return real(source, capacity=capacity, strict=strict)  # type: ignore[arg-type]

    monkeypatch.setattr(swf, "load", spy)
    return seen


# -------------------------------------------------------------------------------------------------------------- cache


def test_a_second_reading_comes_from_the_cache(tmp_path: Path, reads: list[object]) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    place = tmp_path / "kept"
    first = datasets.load("swf", path, cache=place)
    second = datasets.load("swf", path, cache=place, progress=print)
    assert len(reads) == 1
    assert second.fingerprint() == first.fingerprint()
    assert (str(second.report), second.origin, second.header) == (str(first.report), first.origin, first.header)


def test_what_changes_is_read_anew(tmp_path: Path, reads: list[object]) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    place = tmp_path / "kept"
    datasets.load("swf", path, cache=place)
    assert datasets.load("swf", path, cache=place, capacity=9).capacity == 9  # an option
    path.write_text(LOG.replace("60 -1", "61 -1"))  # the content, of equal length
    assert datasets.load("swf", path, cache=place).requested_time[0] == 61
    os.utime(path, (1, 1))  # the time of change
    datasets.load("swf", path, cache=place)
    assert len(reads) == 4


def test_content_counts_in_the_middle_of_large_files(tmp_path: Path) -> None:
    path = tmp_path / "large"
    keys = set()
    for at in (None, 10, 5 << 20, (10 << 20) - 10):
        data = bytearray(10 << 20)
        if at is not None:
            data[at] = 1
        path.write_bytes(data)
        os.utime(path, (1, 1))
        keys.add(_cache._key("swf", [path], {}))
    assert len(keys) == 4


def test_small_sources_and_file_objects_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "home", lambda: tmp_path / "home")
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    datasets.load("swf", path)
    assert not (tmp_path / "home").exists()
    monkeypatch.setattr(_cache, "WORTH", 10)
    datasets.load("swf", path, cache=False)
    with open(path, "rb") as file:
        datasets.load("swf", file, cache=tmp_path / "home")
    assert not (tmp_path / "home").exists()
    datasets.load("swf", path)
    assert len(list((tmp_path / "home").iterdir())) == 1


def test_a_damaged_cache_is_written_anew_and_one_that_cannot_be_written_is_no_error(
    tmp_path: Path, reads: list[object]
) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    place = tmp_path / "kept"
    datasets.load("swf", path, cache=place)
    next(place.iterdir()).write_bytes(b"PAR1 and then nothing")
    datasets.load("swf", path, cache=place)
    datasets.load("swf", path, cache=place)
    assert len(reads) == 2
    (tmp_path / "file").write_text("")
    assert len(datasets.load("swf", path, cache=tmp_path / "file")) == 29


def test_an_option_that_names_a_file_counts_with_its_content(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("s,r,n\n0,10,1\n")
    mapping = tmp_path / "map.yaml"
    for unit, runtime in (("s", 10), ("h", 36_000)):
        mapping.write_text(f"columns: {{submit: s, runtime: r, nodes: n}}\nunits: {{runtime: {unit}}}\n")
        jobs = datasets.load("table", tmp_path / "jobs.csv", mapping=mapping, cache=tmp_path / "kept")
        assert jobs.runtime.tolist() == [runtime]


# ------------------------------------------------------------------------------------------------------------ windows


def test_windows_are_calendar_time() -> None:
    assert span_of(None) is None
    assert span_of((60, "1970-01-01T00:02")) == Span(60, 120)
    assert span_of(("1970-01-01T01:00+01:00", 5)) == Span(0, 5)
    for wrong in ((1,), "12", (5, 5), ("soon", None), (2, 1)):
        with pytest.raises(OptionError, match="window"):
            span_of(wrong)  # type: ignore[arg-type]


def test_what_touches_a_window() -> None:
    submit = np.array([0, 0, 0, 9, 10, UNKNOWN])
    end = np.array([5, 6, UNKNOWN, 20, 20, 6])
    assert Span(5, 10).touches(submit, end).tolist() == [False, True, True, True, False, True]


# ------------------------------------------------------------------------------------------------------ lists of nodes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", {"n1"}),
        ("n1,m2", {"n1", "m2"}),
        ("n[001-003,7]", {"n001", "n002", "n003", "n7"}),
        ("x[1-2]c[0-1]", {"x1c0", "x1c1", "x2c0", "x2c1"}),
        ("a-[9-10].site,b", {"a-9.site", "a-10.site", "b"}),
    ],
)
def test_lists_are_expanded(text: str, names: set[str]) -> None:
    assert set(expand(text)) == names
    assert len(expand(text)) == len(names)


@pytest.mark.parametrize(
    "text", ["n[1-", "n]", "n[2-1]", "None assigned", "@all", "n[1-5]!n2", "n[1-999999999999]", ","]
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(WorkloadError, match="no list of nodes"):
        expand(text)


def test_nodes_are_numbered_in_natural_order() -> None:
    nodes = numbered(["n[9-10]", None, "n2", "n[", ""], ["n1"])
    assert nodes.names == ("n1", "n2", "n9", "n10")
    assert nodes.rows.values.tolist() == [2, 3, 1]
    assert nodes.rows.lengths.tolist() == [2, 0, 1, 0, 0]
    assert nodes.wrong.tolist() == [False, False, False, True, False]


# ---------------------------------------------------------------------------------------------------------- the others


def test_findings_of_loaders_survive_saving(tmp_path: Path) -> None:
    from dataclasses import replace

    jobs = Workload.build(submit=[0], runtime=[1], nodes=[1])
    jobs = replace(jobs, report=Report(3, 1, (Finding("step", 2, ("a", "b")),)) + jobs.report)
    jobs.save(tmp_path / "a.parquet")
    assert Workload.load(tmp_path / "a.parquet").report == jobs.report
    assert not set(FOREIGN) & set(DEFECTS)
    assert {entry.action for entry in FOREIGN.values()} <= {"dropped", "repaired", "kept"}


def test_files_of_a_path(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv.gz", "c.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find(tmp_path, (".csv", ".csv.gz"))] == ["a.csv.gz", "b.csv"]
    assert [path.name for path in find(f"{tmp_path}/*.csv", (".csv",))] == ["b.csv"]
    assert [path.name for path in find([tmp_path / "c.txt", tmp_path / "b.csv"], ())] == ["c.txt", "b.csv"]
    for wrong in (tmp_path / "no", f"{tmp_path}/*.parquet", []):
        with pytest.raises(WorkloadError):
            find(wrong, (".csv",))


def test_the_registry() -> None:
    names = datasets.names()
    assert {"swf", "synthetic", "slurm", "table", "alcf", "alibaba2023"} <= set(names)
    assert "lookalike" not in names
    for name in names:
        assert all(isinstance(option, str) for option in datasets.options_of(name)), name
    with pytest.raises(OptionError, match="Did you mean 'slurm'"):
        datasets.load("slrum", "x")
    with pytest.raises(OptionError, match="Did you mean 'time_zone'"):
        datasets.load("slurm", "x", timezone="UTC")


# ---------------------------------------------------------------------------------------------------------- mutations

SOURCES = {
    "slurm": b"JobID|JobIDRaw|JobName|User|State|Submit|Start|End|TimelimitRaw|NNodes|AllocTRES|NodeList\n"
    + b"".join(
        b"%d|%d|x|u%d|COMPLETED|2024-01-01T00:%02d:00|2024-01-01T01:00:00|2024-01-01T02:00:00|90|2|cpu=4,node=2|n[%d-%d]\n"
        % (k, k, k % 3, k, k, k + 1)
        for k in range(20)
    ),
    "table": b"id,submit,start,end,nodes,requested_time,user,status\n"
    + b"".join(
        b"%d,2024-01-01 00:%02d:00,2024-01-01 01:00:00,2024-01-01T02:00:00Z,%d,3600,u%d,COMPLETED\n"
        % (k, k, k % 4 + 1, k)
        for k in range(20)
    ),
    "alcf": b"QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,WALLTIME_SECONDS,NODES_USED,LOCATION,EXIT_STATUS\n"
    + b"".join(
        b'2022-01-01 00:%02d:00,2022-01-01 01:00:00.5,2022-01-01 02:00:00,7200,2,"x%d,y%d",0\n' % (k, k, k)
        for k in range(20)
    ),
    "alibaba2023": b"name,num_gpu,gpu_milli,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    + b"".join(b"openb-pod-%04d,%d,500,LS,Running,%d,%d,%d\n" % (k, k % 3, k, k + 90, k + 5) for k in range(20)),
}


@pytest.mark.parametrize("loader", SOURCES)
def test_bytes_that_were_changed_are_read_or_answered_in_one_sentence(loader: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    path = tmp_path / "openb_pod_list.csv"
    read, said = 0, []
    for _ in range(120):
        text = bytearray(SOURCES[loader])
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(text)))
            end = at + int(rng.integers(1, 30))
            kind = rng.integers(4)
            if kind == 0:
                del text[at:end]
            elif kind == 1:
                text[at] = rng.integers(1, 256)
            elif kind == 2:
                text[at:at] = text[: int(rng.integers(60))]
            else:
                text[at:end] = bytes(rng.choice(list(b'|,\n" -:019aZ[]'), end - at).tolist())
        path.write_bytes(text)
        try:
            jobs = datasets.load(loader, path)
            assert jobs.report.kept == len(jobs)
            read += 1
        except (WorkloadError, OptionError) as error:
            said.append(str(error))
    assert [text for text in said if "\n" in text or str(path) not in text] == []
    assert read > 5
