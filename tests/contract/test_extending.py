"""docs/extending.md, carried out word for word in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from twin_gym.kernels.order import is_formula, moves
from twin_gym.policies import FAMILIES, TABLE

PACKAGES = ("envs", "agents", "conf", "datasets")
_BLOCK = re.compile(r"(?:<!-- (?P<task>.+?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)
_INSERT = re.compile(r'into (\S+) before "(.+)"$')


class Block(NamedTuple):
    """A piece of the page: what to do with it, its language, its text."""

    task: str | None
    language: str
    text: str


def blocks(root: Path) -> list[Block]:
    page = (root / "docs" / "extending.md").read_text(encoding="utf-8")
    return [Block(*match.groups()) for match in _BLOCK.finditer(page)]


@pytest.fixture(scope="module")
def copy(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed, with all that the page adds to it."""
    folder = tmp_path_factory.mktemp("extended")
    target = folder / "twin_gym"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(project_root / "twin_gym", target, ignore=ignored)
    for name in PACKAGES:
        shutil.copytree(project_root / name, target / name, ignore=ignored)
    for block in blocks(project_root):
        if block.task is None or block.task == "run":
            continue
        insert = _INSERT.match(block.task)
        if insert is None:
            path = (folder if block.task.startswith("machines") else target) / block.task
            assert not path.exists(), block.task
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            continue
        path = folder / insert[1]
        source = path.read_text(encoding="utf-8")
        assert source.count(insert[2]) == 1, f"the page says where to put it: {insert[2]!r} in {insert[1]}"
        path.write_text(source.replace(insert[2], block.text + insert[2]), encoding="utf-8")
    return folder


def run(words: list[str], folder: Path) -> str:
    """Run Python with the copy in place of the installed package."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "160"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_everything_that_the_page_shows_works(copy: Path, project_root: Path) -> None:
    assert "extended" in run(["-c", "import twin_gym; print(twin_gym.__file__)"], copy)
    shown = blocks(project_root)
    assert len(shown) == 11
    for block in shown:
        if block.task == "run":
            run(["-c", block.text], copy)
        elif block.language == "sh":
            for line in block.text.strip().splitlines():
                run(["-m", *line.replace("twin-gym", "twin_gym").split()], copy)
    listed = run(["-m", "twin_gym", "policies"], copy)
    assert "gentle" in listed
    assert "-t*sqrt(n)" in listed


@pytest.mark.slow
def test_the_new_policy_orders_by_its_formula(copy: Path) -> None:
    program = (
        "import twin_gym as tg\n"
        "log = tg.Workload.build(id=[1, 2, 3], submit=[0, 1, 2], runtime=[9] * 3, requested_time=[9, 40, 25],"
        " nodes=[4, 1, 4])\n"
        "print(tg.simulate(tg.System.uniform(nodes=4), log, 'gentle').jobs['start'].tolist())\n"
    )
    # 40 s x 1 before 25 s x 2
    assert "[0, 9, 18]" in run(["-c", program], copy)


def test_table_and_kernels_agree_on_every_policy() -> None:
    codes = [policy.code for policy in TABLE.values()]
    assert len(set(codes)) == len(codes)
    for policy in TABLE.values():
        assert moves(policy.code) == policy.moves, policy.name
        letters = set(re.findall(r"[a-z]+", policy.formula))
        assert is_formula(policy.code) == (policy.name not in {"priority", "replay", "random", *FAMILIES})
        if is_formula(policy.code):
            assert policy.moves == bool(letters & {"w", "z", "l"}), policy.name
