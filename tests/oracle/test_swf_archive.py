"""Every log beside the checkout: read with the counts that its documents give and a plain Python loop finds again."""

from __future__ import annotations

import gzip
import io
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas as pd
import pytest

from twin_gym.datasets import swf
from twin_gym.workload import UNKNOWN


class Facts(NamedTuple):
    """What the documents beside the logs say, over all job lines; None where they don't."""

    jobs: int
    never_ran: int | None = None
    over_limit: int | None = None
    widest: int | None = None
    capacity: int | None = None


LOGS = {
    "ALCF-Theta-2022-cqsimplus.swf.gz": Facts(23911, 0, 6264, None, 4360),
    "ALCF-Theta-2023-cqsimplus.swf.gz": Facts(8401, 0, 2354, None, 4360),
    "ALCF-mira-3000jobs-6col.txt": Facts(3000, widest=16384),
    "ALCF-theta-3000jobs-6col.txt": Facts(3000, widest=512),
    "CEA-Curie-2011-2.1-cln.swf.gz": Facts(312826, 17286, 5416, 79920, 93312),
    "CERIT-SC-2013-wagap-alea.swf.gz": Facts(17900, None, 702, 256),
    "CTC-SP2-1996-3.1-cln.swf.gz": Facts(77222, 17, 7174, 336, 338),
    "HPC2N-2002-2.2-cln.swf.gz": Facts(202871, 0, 14817, 200, 240),
    "KTH-SP2-1996-2.1-cln.swf.gz": Facts(28476, 8, 475, None, 100),
    "LANL-CM5-1994-4.1-cln.swf.gz": Facts(122060, 2, 40180, None, 1024),
    "LLNL-Thunder-2007-1.1-cln.swf.gz": Facts(121039, 7426, 1101, 3860, 4008),
    "NASA-iPSC-1993-3-first-day-228jobs.swf": Facts(228, None, 0, 128, 128),
    "NASA-iPSC-1993-3.1-cln.swf.gz": Facts(18239, None, 0, None, 128),
    "SDSC-BLUE-2000-4.2-cln.swf.gz": Facts(243306, 10770, 23434, 1152, 1152),
    "SDSC-Par-1996-3.1-cln.swf.gz": Facts(32135, None, 0, 320, 400),
    "SDSC-SP2-1998-4.2-cln.swf.gz": Facts(59715, 5681, 4134, 128, 128),
    "Sandia-Ross-2001-1.1-cln.swf.gz": Facts(57882, 2277, 3688, 1524, 1524),
    "lublin_256.swf.gz": Facts(10000, capacity=256),
}

ARCHIVE = {name: facts for name, facts in LOGS.items() if ".swf" in name}

CQSIM = [
    # jobs as CQSim saw them, their log, job lines taken (None: all)
    ("theta2022_4k", "ALCF-Theta-2022-cqsimplus.swf.gz", 4000),
    ("theta2022_full", "ALCF-Theta-2022-cqsimplus.swf.gz", None),
    ("kth_5k", "KTH-SP2-1996-2.1-cln.swf.gz", 5000),
    ("kth_full", "KTH-SP2-1996-2.1-cln.swf.gz", None),
    ("lanl_8k", "LANL-CM5-1994-4.1-cln.swf.gz", 8000),
    ("lanl_30k", "LANL-CM5-1994-4.1-cln.swf.gz", 30000),
    ("sdsc_6k", "SDSC-SP2-1998-4.2-cln.swf.gz", 6000),
    ("sdsc_full", "SDSC-SP2-1998-4.2-cln.swf.gz", None),
]


def opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")  # type: ignore[return-value]


def job_lines(path: Path) -> list[bytes]:
    with opened(path) as file:
        return [line for line in file if line.strip() and not line.startswith(b";")]


class Recount(NamedTuple):
    """A log by a plain loop over its lines."""

    jobs: int
    never_ran: int
    over_limit: int
    widest: int
    kept: list[tuple[int, int, int, int, int, int]]  # id, submit, wait, runtime, nodes, requested time; by submit


def recount(path: Path) -> Recount:
    jobs = never_ran = over_limit = widest = 0
    kept = []
    for line in job_lines(path):
        number, submit, wait, run, used, _, _, procs, limit = (int(float(field)) for field in line.split()[:9])
        jobs += 1
        never_ran += run <= 0
        over_limit += run > limit > 0
        nodes = procs if procs > 0 else used
        widest = max(widest, procs, used)
        if submit >= 0 and run > 0 and nodes > 0:
            kept.append((number, submit, wait, run, nodes, limit if limit > 0 else run))
    kept.sort(key=lambda job: job[1])
    return Recount(jobs, never_ran, over_limit, widest, kept)


def test_every_log_is_known_here(shared_dir: Path) -> None:
    assert {path.name for path in (shared_dir / "data" / "swf").iterdir()} == set(LOGS)


@pytest.mark.parametrize("name", ARCHIVE)
def test_jobs_kept_and_dropped(name: str, shared_dir: Path) -> None:
    path, facts = shared_dir / "data" / "swf" / name, LOGS[name]
    found = recount(path)
    for told in ("jobs", "never_ran", "over_limit", "widest"):
        assert getattr(facts, told) in (None, getattr(found, told)), f"{told}: the documents say otherwise"

    log = swf.load(path)
    report = log.report
    assert (report.read, report.kept, len(log)) == (found.jobs, len(found.kept), len(found.kept))
    assert report.dropped == sum(report.count(name) for name in ("no_submit", "never_ran", "no_nodes"))
    assert log.capacity == facts.capacity
    ids, submits, waits, runs, nodes, limits = (np.array(column) for column in zip(*found.kept, strict=True))
    first = 0 if submits[0] < 5e8 else submits[0]
    np.testing.assert_array_equal(log.id, ids)
    np.testing.assert_array_equal(log.submit, submits - first)
    np.testing.assert_array_equal(log.start, np.where(waits >= 0, submits - first + waits, UNKNOWN))
    np.testing.assert_array_equal(log.runtime, runs)
    np.testing.assert_array_equal(log.nodes, nodes)
    np.testing.assert_array_equal(log.requested_time, limits)
    assert report.count("over_limit") == np.count_nonzero(runs > limits)
    if log.capacity is not None:
        assert report.count("over_capacity") == np.count_nonzero(nodes > log.capacity)


@pytest.mark.parametrize(
    ("name", "inversions"), [("ALCF-Theta-2023-cqsimplus.swf.gz", 2726), ("KTH-SP2-1996-2.1-cln.swf.gz", 0)]
)
def test_submits_out_of_order(name: str, inversions: int, shared_dir: Path) -> None:
    log = swf.load(shared_dir / "data" / "swf" / name)
    assert log.report.count("unsorted") == inversions
    assert (np.diff(log.submit) >= 0).all()


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", "1996-09-23 12:00:31+00:00"),
        ("CEA-Curie-2011-2.1-cln.swf.gz", "2011-02-01 14:38:44+00:00"),  # its StartTime, in UTC
        ("ALCF-Theta-2022-cqsimplus.swf.gz", "2022-01-01 07:14:14+00:00"),
        ("CERIT-SC-2013-wagap-alea.swf.gz", "2012-12-31 23:22:27+00:00"),
    ],
)
def test_the_calendar(name: str, begin: str, shared_dir: Path) -> None:
    log = swf.load(shared_dir / "data" / "swf" / name)
    assert log.epoch_known
    assert str(pd.Timestamp(log.epoch, unit="s", tz="UTC")) == begin


@pytest.mark.parametrize("name", [name for name in LOGS if name not in ARCHIVE])
def test_tables_with_titles(name: str, shared_dir: Path) -> None:
    path, facts = shared_dir / "data" / "swf" / name, LOGS[name]
    rows = [tuple(map(int, line.split())) for line in job_lines(path)[1:]]
    log = swf.load(path)
    assert (len(log), int(log.nodes.max()), log.unit, log.capacity) == (facts.jobs, facts.widest, "node", None)
    expected = sorted(rows, key=lambda row: row[1])
    assert log.id.tolist() == [row[0] for row in expected]
    assert (log.submit + log.epoch).tolist() == [row[1] for row in expected]
    assert log.runtime.tolist() == [row[2] for row in expected]
    assert log.nodes.tolist() == [row[3] for row in expected]
    assert log.extra["perc"].tolist() == [row[5] for row in expected]


@pytest.mark.parametrize("name", ARCHIVE)
def test_written_and_read_again(name: str, shared_dir: Path, tmp_path: Path) -> None:
    log = swf.load(shared_dir / "data" / "swf" / name)
    swf.save(log, tmp_path / "log.swf")
    again = swf.load(tmp_path / "log.swf")
    assert again.fingerprint() == log.fingerprint()
    assert again.header.items() >= {key: log.header[key] for key in log.header if key != "UnixStartTime"}.items()


@pytest.mark.parametrize(("oracle", "name", "lines"), CQSIM, ids=[case[0] for case in CQSIM])
def test_the_jobs_that_cqsim_saw(oracle: str, name: str, lines: int | None, shared_dir: Path) -> None:
    seen = pd.read_csv(shared_dir / "oracle" / "cqsim" / f"{oracle}.jobs.csv.gz")
    text = b"".join(islice(job_lines(shared_dir / "data" / "swf" / name), lines))
    log = swf.load(io.BytesIO(text), missing_requests="drop")
    np.testing.assert_array_equal(log.id, seen["id"])
    np.testing.assert_array_equal(log.submit - log.submit[0], seen["submit"])
    np.testing.assert_array_equal(np.minimum(log.runtime, log.requested_time), seen["run"])
    np.testing.assert_array_equal(log.requested_time, seen["req_time"])
    np.testing.assert_array_equal(log.nodes, seen["req_procs"])
