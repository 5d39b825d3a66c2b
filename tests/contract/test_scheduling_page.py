"""The page on scheduling: its examples give what it says, and it names every policy, mode and option there is."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import twin_gym as tg
from twin_gym.config import BACKFILLS, ESTIMATES, PLACEMENTS, RESERVATIONS, SEMANTICS
from twin_gym.outages import MODES


def test_its_examples_run(project_root: Path) -> None:
    page = project_root / "docs" / "models" / "scheduling.md"
    failures, tried = doctest.testfile(str(page), module_relative=False, verbose=False)
    assert tried >= 5
    assert failures == 0


@pytest.mark.parametrize(
    "names", [tg.policies()["policy"], BACKFILLS, ESTIMATES, SEMANTICS, PLACEMENTS, RESERVATIONS, MODES]
)
def test_it_names_every_choice(project_root: Path, names: object) -> None:
    page = (project_root / "docs" / "models" / "scheduling.md").read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in page or f"={name}`" in page, name
