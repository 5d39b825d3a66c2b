"""The reference never breaks what must be true of any schedule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as budget

from reference.invariants import check_invariants
from reference.scheduler import simulate_reference
from reference.strategies import Case, cases


def run(case: Case):
    return simulate_reference(case.jobs, case.nodes, outages=case.outages, **case.options)


@given(cases())
@budget(max_examples=120)
def test_invariants_hold(case: Case) -> None:
    check_invariants(case, run(case))


@given(cases(policies=("fcfs",), backfills=("easy", "conservative"), outages=False, windows=False, until=False))
@budget(max_examples=120)
def test_the_head_starts_no_later_than_promised(case: Case) -> None:
    check_invariants(case, run(case))
