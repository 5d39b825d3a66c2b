"""Look-alikes: seeded, in the original schema, with a schedule that can be; and the samples that ship."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import twin_gym as tg
from twin_gym import datasets
from twin_gym.datasets import _samples
from twin_gym.datasets.lookalike import fake, fakes
from twin_gym.datasets.sample import samples
from twin_gym.errors import OptionError
from twin_gym.workload import UNKNOWN, Status, Workload

SYSTEMS = {"pm100": "marconi100", "fdata": "fugaku", "last": "lassen", "supercloud": "mit_supercloud"}


def digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def system_of(name: str, workload: Workload) -> tg.System:
    name = SYSTEMS.get(name, name)
    return tg.System.load(name) if name in tg.System.names() else tg.System.uniform(nodes=workload.capacity or 1)


def test_every_loader_of_a_public_data_set_has_one() -> None:
    assert set(fakes()) >= {
        "adastra", "aurora", "bluewaters", "fdata", "frontier", "gcloud2011", "kestrel", "last", "philly", "pm100",
        "supercloud",
    }  # fmt: skip
    assert set(fakes()) <= set(datasets.names())
    assert "lookalike" not in datasets.names()


@pytest.mark.parametrize("name", fakes())
def test_a_seed_is_a_file(name: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    first = fake(name, jobs=40, out=tmp_path / "a", seed=3, progress=lambda *done: seen.append(done))
    again = fake(name, jobs=40, out=tmp_path / "b", seed=3)
    other = fake(name, jobs=40, out=tmp_path / "c", seed=4)
    assert [path.relative_to(tmp_path / "a") for path in first] == [path.relative_to(tmp_path / "b") for path in again]
    assert digest(first) == digest(again) != digest(other)
    assert seen[-1][0] == seen[-1][1] == 40


@pytest.mark.parametrize("name", fakes())
def test_the_recorded_schedule_can_be(name: str, tmp_path: Path) -> None:
    fake(name, jobs=250, out=tmp_path, seed=11)
    workload = datasets.load(name, tmp_path)
    assert len(workload) > 200
    known = workload.start != UNKNOWN
    result = tg.simulate(system_of(name, workload), workload, policy="replay")
    assert np.array_equal(result.outcome.start[known], workload.start[known])


def test_one_job() -> None:
    with pytest.raises(OptionError, match="jobs=0"):
        fake("pm100", jobs=0, out="nowhere")


@pytest.mark.parametrize("name", fakes())
def test_a_single_job_will_do(name: str, tmp_path: Path) -> None:
    assert fake(name, jobs=1, out=tmp_path, seed=0)


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"no look-alike of 'pm10'. Did you mean 'pm100'"):
        fake("pm10", jobs=1, out=tmp_path)
    with pytest.raises(OptionError, match="seed=-1"):
        fake("pm100", jobs=1, out=tmp_path, seed=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="can't be written"):
        fake("pm100", jobs=1, out=tmp_path / "file")


def test_marginals_of_pm100(tmp_path: Path) -> None:
    (path,) = fake("pm100", jobs=5000, out=tmp_path, seed=1)
    table = pq.read_table(path)
    w = datasets.load("pm100", path, keep_shared=True, with_traces=False)
    # stated: more than half the jobs on one node, 1.6 h on average, outcomes in the shares of the peer's configurations
    assert 0.5 < np.mean(w.nodes == 1) < 0.6
    assert 4000 < w.runtime.mean() < 7000
    assert abs(np.mean(w.status == Status.COMPLETED) - 0.63) < 0.03
    assert 0.85 < np.mean(w.requested_time >= w.runtime) < 0.95
    assert w.offered_load() == pytest.approx(0.75, abs=0.15)
    hours = np.bincount((w.submit + w.epoch) // 3600 % 24, minlength=24)
    assert hours.max() > 3 * hours.min()  # day and night
    users = np.sort(np.bincount(w.user))[::-1]
    assert users[:10].sum() > 0.4 * len(w)  # few submit most
    empty = np.array(
        [length or 0 for length in pq.read_table(path)["node_power_consumption"].to_pylist() if not length]
    )
    assert len(empty) > 0
    assert table.schema.field("start_time").type.tz == "UTC"


@pytest.mark.parametrize("name", samples())
def test_samples_are_replayed_to_the_second(name: str) -> None:
    workload = datasets.load("sample", name)
    assert 20 < len(workload) < 200
    assert np.all(workload.start != UNKNOWN)
    result = tg.simulate(system_of(name, workload), workload, policy="replay")
    assert np.array_equal(result.outcome.start, workload.start)
    assert workload.name == f"sample/{name}"
    assert "no real job" in workload.origin


def test_samples_are_small_and_complete() -> None:
    assert samples() == sorted(_samples.JOBS)
    assert set(samples()) == set(fakes())

    def size(place: Any) -> int:
        if place.is_dir():
            return sum(map(size, place.iterdir()))
        return len(place.read_bytes())

    assert size(files("twin_gym.datasets") / "samples") <= _samples.LIMIT


def test_a_window_of_a_sample() -> None:
    whole = datasets.load("sample", "last")
    begin = whole.epoch + 600
    part = datasets.load("sample", "last", window=(begin, begin + 600))
    assert part.fingerprint() == whole.window(600, 600).fingerprint()
    with pytest.raises(OptionError, match=r"no sample 'pm10'. Did you mean 'pm100'"):
        datasets.load("sample", "pm10")


def test_the_samples_are_made_by_their_script(tmp_path: Path) -> None:
    assert _samples.make(tmp_path) <= 1.1 * _samples.LIMIT
    for name in samples():
        made = datasets.load(name, tmp_path / name)
        shipped = datasets.load("sample", name)
        assert len(made) == len(shipped)
