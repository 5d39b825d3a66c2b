"""Every block of docs/training.md runs, one after the other, and its examples exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(project_root: Path) -> str:
    return (project_root / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_blocks_run_in_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/training.md", "exec"), names)
    for name in ("train", "validation", "test", "watched", "again", "grouped"):
        names[name].close()  # type: ignore[attr-defined]
    assert {path.name for path in tmp_path.iterdir()} >= {"best", "model.zip", "normalize.pkl", "monitor.csv"}


def test_every_example_is_on_the_page(page: str, project_root: Path) -> None:
    named = set(re.findall(r"`examples/(\w+\.py)`", page))
    assert named == {path.name for path in (project_root / "examples").glob("*.py")}
