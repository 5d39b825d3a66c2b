"""The job table: how it is made from frames and columns, and what it says of itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from unit.workload_strategies import workloads

from twin_gym.columns import Labels
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import COLUMNS, UNKNOWN, Ragged, Status, Trace, Workload


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 2], "submit": [0, 60], "runtime": [10, 20], "nodes": [1, 2], **columns})


def test_columns_have_their_types_and_are_read_only() -> None:
    workload = Workload.from_frame(frame(requested_time=[30, 30]))
    for name, dtype in COLUMNS.items():
        column = getattr(workload, name)
        assert column.dtype == dtype, name
        assert column.shape == (2,)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_the_frame_of_the_caller_stays_writable_and_unchanged() -> None:
    table = frame(requested_time=[30, 30])
    before = table.copy()
    Workload.from_frame(table)
    pd.testing.assert_frame_equal(table, before)
    submit = np.array([5, 3])
    Workload.build(submit=submit, runtime=[1, 1], nodes=[1, 1])
    submit[0] = 7


def test_jobs_without_numbers_are_numbered_in_the_order_of_the_table() -> None:
    workload = Workload.build(submit=[9, 3], runtime=[1, 2], nodes=[1, 1])
    assert workload.id.tolist() == [2, 1]
    assert workload.runtime.tolist() == [2, 1]


def test_dates_become_seconds_and_the_calendar_is_kept() -> None:
    submit = pd.to_datetime(["2024-03-01T12:00:30+02:00", "2024-03-01T12:00:00+02:00"], utc=True)
    workload = Workload.from_frame(
        frame(
            submit=submit, start=[submit[0] + pd.Timedelta("90s"), pd.NaT], runtime=pd.to_timedelta([1, 2], unit="min")
        )
    )
    assert workload.epoch == pd.Timestamp("2024-03-01T10:00:00Z").timestamp()
    assert workload.epoch_known
    assert workload.submit.tolist() == [0, 30]
    assert workload.start.tolist() == [UNKNOWN, 120]
    assert workload.runtime.tolist() == [120, 60]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_of_every_resolution_and_zone(unit: str, zone: str | None) -> None:
    submit = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])).dt.tz_localize(zone).dt.as_unit(unit)
    workload = Workload.from_frame(frame(submit=submit))
    assert workload.submit.tolist() == [0, 86400]
    assert workload.epoch == pd.Timestamp("2020-01-01", tz=zone or "UTC").timestamp()


def test_a_given_epoch_wins_over_the_first_submit() -> None:
    submit = pd.to_datetime([1000, 1060], unit="s", utc=True)
    assert Workload.from_frame(frame(submit=submit), epoch=900).submit.tolist() == [100, 160]


def test_dates_in_one_column_only_are_refused() -> None:
    table = frame(submit=pd.to_datetime([1000, 1060], unit="s"), start=[5, 6])
    with pytest.raises(WorkloadError, match="'submit' holds dates but 'start' doesn't"):
        Workload.from_frame(table)


def test_runtime_may_be_given_by_start_and_end() -> None:
    table = frame(start=[5, 70], end=[15, np.nan]).drop(columns="runtime")
    workload = Workload.from_frame(table)
    assert workload.runtime.tolist() == [10]
    assert workload.end.tolist() == [15]
    assert workload.report.counts() == {"never_ran": 1, "no_requested_time": 1}


def test_a_missing_column_is_named_with_the_nearest() -> None:
    with pytest.raises(WorkloadError, match=r"no column 'runtime'\. Did you mean 'run_time'\?"):
        Workload.from_frame(frame().rename(columns={"runtime": "run_time"}))


def test_text_in_a_number_column_is_named() -> None:
    with pytest.raises(WorkloadError, match="Column 'nodes', row 2: 'many' is not a number"):
        Workload.from_frame(frame(nodes=["3", "many"]))


def test_a_repeated_column_is_refused() -> None:
    table = pd.concat([frame(), frame()[["nodes"]]], axis=1)
    with pytest.raises(WorkloadError, match="'nodes' occurs twice"):
        Workload.from_frame(table)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(WorkloadError, match="'runtime' has 1 rows where 'submit' has 2"):
        Workload.build(submit=[0, 1], runtime=[1], nodes=[1, 1])
    with pytest.raises(WorkloadError, match="'cpu' has 1 rows"):
        Workload.build(submit=[0, 1], runtime=[1, 1], nodes=[1, 1], traces={"cpu": Trace.scalars([0.5], "1")})


def test_names_are_kept_once_and_gaps_are_unknown() -> None:
    workload = Workload.from_frame(
        frame(user=["bob", None], account=[np.nan, 12], partition=pd.Categorical(["x", "y"]))
    )
    assert (workload.users, workload.user.tolist()) == (("bob",), [0, -1])
    assert (workload.accounts, workload.account.tolist()) == (("12",), [-1, 0])
    assert (workload.partitions, workload.partition.tolist()) == (("x", "y"), [0, 1])


def test_names_of_dropped_jobs_are_forgotten() -> None:
    workload = Workload.from_frame(frame(user=["ann", "bob"], runtime=[0, 5]))
    assert (workload.users, workload.user.tolist()) == (("bob",), [0])


def test_names_of_several_types_and_blank_ones() -> None:
    workload = Workload.from_frame(frame(user=[7, "ann"], account=[" ", "x"]))
    assert [workload.users[code] for code in workload.user] == ["7", "ann"]
    assert (workload.accounts, workload.account.tolist()) == (("x",), [-1, 0])


def test_states_by_name_and_number() -> None:
    names = Workload.from_frame(frame(status=["COMPLETED", "CANCELLED by 7"]))
    assert names.status.tolist() == [Status.COMPLETED, Status.CANCELLED]
    numbers = Workload.from_frame(frame(status=[6, 99]))
    assert numbers.status.tolist() == [Status.TIMEOUT, Status.UNKNOWN]


def test_further_columns_are_kept() -> None:
    table = frame(gpus=[4, 8], note=["x", None], ratio=[0.5, np.nan], when=pd.to_datetime([5, 6], unit="s"))
    extra = Workload.from_frame(table).extra
    assert extra["gpus"].tolist() == [4, 8]
    assert extra["note"].tolist() == ["x", ""]
    assert extra["ratio"].tolist()[0] == 0.5
    assert extra["when"].tolist() == [5, 6]


@given(workloads())
def test_a_frame_gives_the_workload_back(workload: Workload) -> None:
    again = Workload.from_frame(
        workload.to_frame(), epoch=workload.epoch or None, capacity=workload.capacity, unit=workload.unit
    )
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(workload, name), err_msg=name)
    assert (again.users, again.accounts, again.partitions) == (workload.users, workload.accounts, workload.partitions)
    assert list(again.extra) == list(workload.extra)


def test_a_window_survives_the_way_through_a_frame() -> None:
    log = Workload.build(submit=[0, 50, 120], runtime=[200, 10, 10], nodes=[1, 1, 1], start=[10, 150, 130])
    window = log.window(100)
    again = Workload.from_frame(window.to_frame())
    assert again.submit.tolist() == [-100, -50, 20]
    assert again.initial.tolist() == [True, False, False]
    assert again.start.tolist() == [-90, 50, 30]


def test_offered_load_by_hand() -> None:
    workload = Workload.build(submit=[0, 100], runtime=[50, 30], nodes=[4, 10], capacity=10)
    assert workload.span == 100
    assert workload.offered_load() == pytest.approx((4 * 50 + 10 * 30) / (10 * 100))
    assert workload.offered_load(5) == pytest.approx(1.0)


def test_offered_load_needs_a_capacity_and_a_span() -> None:
    with pytest.raises(WorkloadError, match="pass capacity="):
        Workload.build(submit=[0, 1], runtime=[1, 1], nodes=[1, 1]).offered_load()
    with pytest.raises(WorkloadError, match="submitted at once"):
        Workload.build(submit=[1, 1], runtime=[1, 1], nodes=[1, 1]).offered_load(4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"unit": "core"}, "unit='core' must be one of node or processor"),
        ({"capacity": 0}, "capacity=0 must be a positive number"),
        ({"missing_requests": "guess"}, "missing_requests='guess' must be 'fallback' or 'drop'"),
    ],
)
def test_wrong_options(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        Workload.build(submit=[0], runtime=[1], nodes=[1], **options)  # type: ignore[arg-type]


def test_columns_that_do_not_exist_or_lack_or_clash() -> None:
    with pytest.raises(WorkloadError, match=r"no column 'requested'\. Did you mean 'requested_time'"):
        Workload.build(submit=[0], runtime=[1], nodes=[1], requested=[5])  # type: ignore[call-arg]
    with pytest.raises(WorkloadError, match="needs a column 'nodes'"):
        Workload.build(submit=[0], runtime=[1])  # type: ignore[call-arg]
    with pytest.raises(WorkloadError, match="'user' is a column of its own"):
        Workload.build(submit=[0], runtime=[1], nodes=[1], extra={"user": np.array([1])})
    with pytest.raises(WorkloadError, match="a name occurs twice in 'users'"):
        Workload.build(submit=[0, 1], runtime=[1] * 2, nodes=[1] * 2, user=Labels(np.array([0, 1]), ("a", "a")))


def test_an_unknown_trace_is_refused() -> None:
    with pytest.raises(WorkloadError, match="'heat' is no trace; choose from cpu, gpu"):
        Workload.build(submit=[0], runtime=[1], nodes=[1], traces={"heat": Trace.scalars([1.0], "W")})


def test_the_fingerprint_follows_the_content_not_the_name() -> None:
    columns = {"submit": [0, 1], "runtime": [1, 1], "nodes": [1, 1], "user": ["a", "b"]}
    print_of = Workload.build(**columns, name="x", origin="y").fingerprint()
    assert Workload.build(**columns, name="z").fingerprint() == print_of
    changes = [{"nodes": [1, 2]}, {"user": ["a", "c"]}, {"epoch": 5}, {"capacity": 8}, {"unit": "processor"}]
    changes += [{"node_ids": Ragged.from_rows([[1], []])}, {"extra": {"e": np.array([1, 2])}}]
    changes += [{"traces": {"cpu": Trace.scalars([0.5, 0.5], unit)}} for unit in ("1", "%")]
    prints = {Workload.build(**(columns | change)).fingerprint() for change in changes}
    assert len(prints | {print_of}) == len(changes) + 1


def test_repr_is_short() -> None:
    workload = Workload.build(submit=[0, 86400], runtime=[1, 1], nodes=[1, 1], capacity=1000, name="log")
    assert repr(workload) == "<Workload log: 2 jobs on 1,000 nodes, 1.0 days of submits>"
