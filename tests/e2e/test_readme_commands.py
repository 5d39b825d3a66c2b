"""The README's commands work as they stand and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import twin_gym as tg
from twin_gym import cli
from twin_gym.datasets import swf

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CONSOLE = [block for kind, block in BLOCKS if kind == "console"]
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command in an empty folder."""
    monkeypatch.chdir(tmp_path)


def same(said: str, printed: str) -> None:
    """Compare what is printed with what the README says: words exactly, numbers to 1 % (NumPy's streams may change)."""
    words, expected = said.split(), printed.split()
    assert len(words) == len(expected), said
    for word, wanted in zip(words, expected, strict=True):
        try:
            number = float(wanted.replace(",", "").rstrip("%"))
        except ValueError:
            assert word == wanted
        else:
            assert float(word.replace(",", "").rstrip("%")) == pytest.approx(number, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.split()[2])
def test_a_command_prints_what_the_readme_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, printed = block.partition("\n")
    assert command.startswith("$ twin-gym ")
    assert cli.main(shlex.split(command)[2:]) == 0
    same(capsys.readouterr().out, printed)


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_a_command_without_output_works(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = tg.datasets.load("synthetic", model="lublin", jobs=1000, capacity=64, seed=2)
    swf.save(log, "log.swf.gz")
    words = shlex.split(line, comments=True)
    assert words[0] == "twin-gym"
    if "simulate" in words and "--help" not in words:
        words.append("figures=false")  # they are drawn by the tests of figures
    assert cli.main(words[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_python_examples_run_and_print_what_the_readme_says() -> None:
    examples = [block for kind, block in BLOCKS if kind == "python"]
    (printed,) = (block for kind, block in BLOCKS if kind == "text")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for example in examples:
            exec(compile(example, "README.md", "exec"), {})
    assert len(examples) == 2
    same(out.getvalue(), printed)


def test_the_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^    |`)make ([a-z-]+)", README, re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_link_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("http")]
    assert links
    assert all((ROOT / link).exists() for link in links), links


def test_the_policies_are_as_many_as_the_readme_says() -> None:
    assert len(tg.policies()) == 27
    assert "Twenty-seven orderings" in README
