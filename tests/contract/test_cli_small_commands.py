"""The small commands: help, version, lists, inspect, convert, completion, demo."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import twin_gym as tg
from twin_gym import cli
from twin_gym.commands.completion import candidates
from twin_gym.commands.times import instant, seconds
from twin_gym.errors import OptionError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def workload() -> tg.Workload:
    """A small workload with recorded starts and a calendar."""
    jobs = tg.datasets.load("synthetic", model="lublin", jobs=200, capacity=32, seed=1)
    frame = tg.simulate(tg.System.uniform(32), jobs, "fcfs", "easy").jobs
    return tg.Workload.from_frame(
        frame[["id", "submit", "start", "runtime", "requested_time", "nodes", "user"]],
        epoch=1_000_000_000,
        capacity=32,
        name="small",
    )


# ---------------------------------------------------------------------------------------------------- first steps


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in cli.COMMANDS)
    assert "examples" in text


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_explains_itself_by_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert cli.main(["help", name]) == 0
    assert capsys.readouterr().out == text
    assert f"usage: twin-gym {name}" in text
    assert "examples" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"twin-gym {version('twin-gym')}\n"


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["simulate", "--help"], ["policies"], ["complete", "twin-gym simulate po"]]
)
def test_what_should_be_instant_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import json, sys; from twin_gym import cli; cli.main(json.loads(sys.argv[1]));"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(words)], capture_output=True, text=True, check=True)
    heavy = {"gymnasium", "hydra", "matplotlib", "numba", "omegaconf", "pandas", "pyarrow"}
    assert not heavy & set(json.loads(done.stderr))


def test_python_m_twin_gym_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "twin_gym", "simulat"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("twin-gym: There is no command 'simulat'")


# ---------------------------------------------------------------------------------------------------- lists


def test_policies_shows_every_policy_with_its_formula_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for row in tg.policies().itertuples():
        (line,) = [line for line in lines if line.split()[:1] == [row.policy]]
        assert row.formula[:20] in line
        assert row.source[:12] in line
    assert all(
        any(line.split()[:1] == [mode] for line in lines) for mode in ("none", "firstfit", "easy", "conservative")
    )
    assert any("[s]" in line for line in lines)


def test_systems_shows_every_system_with_its_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["systems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in tg.System.names():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert f"{tg.System.load(name).nodes:,}" in line


# ---------------------------------------------------------------------------------------------------- files


def test_inspect_tells_and_draws(workload: tg.Workload, capsys: pytest.CaptureFixture[str]) -> None:
    workload.save("small.parquet")
    assert cli.main(["inspect", "small.parquet"]) == 0
    said = capsys.readouterr().out
    assert "200" in said
    assert "32 nodes" in said
    assert "2001-09-0" in said
    assert f"{100 * workload.offered_load():.1f} %" in said
    assert "recorded wait" in said
    assert Path("small.png").read_bytes()[:4] == b"\x89PNG"
    assert Path("small.png").stat().st_size > 50_000
    assert cli.main(["inspect", "small.parquet", "--start", "1d", "--duration", "2d", "--no-figure"]) == 0
    assert f"jobs          {len(workload.window(86_400, 172_800))}" in capsys.readouterr().out


def test_convert_keeps_what_the_formats_can_hold(workload: tg.Workload, capsys: pytest.CaptureFixture[str]) -> None:
    workload.save("a.parquet")
    for source, target in [
        ("a.parquet", "b.swf.gz"),
        ("b.swf.gz", "c.parquet"),
        ("c.parquet", "d.csv"),
        ("d.csv", "e.swf"),
    ]:
        assert cli.main(["convert", source, target, "--capacity", "32"]) == 0
        assert f"200 jobs written to {target}" in capsys.readouterr().out
    last = tg.datasets.load("swf", "e.swf")
    for name in ("id", "submit", "start", "runtime", "requested_time", "nodes"):
        assert np.array_equal(getattr(last, name), getattr(workload, name)), name
    assert last.capacity == 32
    assert tg.Workload.load("c.parquet").epoch == workload.epoch


def test_convert_of_a_table_with_dates(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dates.csv").write_text(
        "submit,start,runtime,nodes\n2024-03-01 12:00:00,2024-03-01 12:05:00,60,2\n2024-03-01T13:00:00Z,,30,1\n"
    )
    assert cli.main(["convert", "dates.csv", "dates.parquet"]) == 0
    read = tg.Workload.load("dates.parquet")
    assert read.submit.tolist() == [0, 3600]
    assert read.epoch == 1_709_294_400
    assert read.start[0] == 300


def test_convert_overwrites_only_when_told(workload: tg.Workload) -> None:
    workload.save("a.parquet")
    Path("b.csv").write_text("precious")
    assert cli.main(["convert", "a.parquet", "b.csv"]) == 2
    assert Path("b.csv").read_text() == "precious"
    assert cli.main(["convert", "a.parquet", "b.csv", "--overwrite"]) == 0
    assert Path("b.csv").read_text().startswith("id,")


@pytest.mark.slow
def test_demo_prints_the_comparison_and_leaves_the_pictures_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo"]) == 0
    said = capsys.readouterr().out
    pictures = [Path(line.strip()) for line in said.splitlines() if line.strip().endswith(".png")]
    assert len(pictures) >= 4
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in pictures)
    assert sum(line.split()[1:2] == ["easy"] for line in said.splitlines()) == 5
    assert cli.main(["demo"]) == 0  # again: its own results it may replace


# ---------------------------------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (90, 90),
        ("90", 90),
        ("2d", 172_800),
        ("2d12h", 216_000),
        ("1.5h", 5400),
        ("1w 30m", 606_600),
        ("-1h", -3600),
        (0, 0),
    ],
)
def test_lengths_of_time(text: int | str, value: int) -> None:
    assert seconds(text, "key") == value


@pytest.mark.parametrize("text", ["soon", "", "2x", "d", "1d2", True, "1:30"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="key="):
        seconds(text, "key")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1970-01-02", 86_000), ("1970-01-01T01:00", 3200), ("1970-01-01T01:00+01:00", -400), ("2h", 7200), (5, 5)],
)
def test_points_of_time_count_from_the_epoch(text: int | str, value: int) -> None:
    assert instant(text, "key", 400) == value


# ---------------------------------------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("twin-gym si", ["simulate"]),
        ("twin-gym co", ["compare", "completion", "convert"]),
        ("twin-gym simulate polic", ["policy="]),
        ("twin-gym simulate policy=wf", ["policy=wfp1", "policy=wfp2", "policy=wfp3"]),
        ("twin-gym simulate -m policy=fcfs,wfp3,lx", ["policy=fcfs,wfp3,lxf"]),
        ("twin-gym simulate backfill=e", ["backfill=easy"]),
        ("twin-gym compare backfills=[none,c", ["backfills=[none,conservative"]),
        ("twin-gym simulate system=fr", ["system=frontier"]),
        ("twin-gym simulate workload=lu", ["workload=lublin"]),
        ("twin-gym simulate workload=lo", ["workload=log.swf.gz"]),
        ("twin-gym simulate workload=swf workload.mis", ["workload.missing_requests="]),
        ("twin-gym simulate workload.lo", ["workload.load=", "workload.loader="]),
        ("twin-gym simulate kill_at_request=f", ["kill_at_request=false"]),
        ("twin-gym simulate --multi", ["--multirun"]),
        ("twin-gym inspect l", ["log.swf.gz"]),
        ("twin-gym inspect su", ["sub/"]),
        ("twin-gym inspect sub/", ["sub/x.csv"]),
        ("twin-gym completion z", ["zsh"]),
        ("twin-gym simulate 'open", []),
        ("twin-gym nonsense x", []),
        ("twin-gym", []),
    ],
)
def test_what_may_come_next(line: str, expected: list[str]) -> None:
    Path("log.swf.gz").touch()
    Path("notes.txt").touch()
    Path("sub").mkdir()
    Path("sub/x.csv").touch()
    assert candidates(line) == expected


def complete_in_bash(line: str, tmp_path: Path) -> list[str]:
    """Press the tab key in a real bash, with its own idea of where words end."""
    script = tmp_path / "completion.bash"
    program = tmp_path / "bin" / "twin-gym"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m twin_gym "$@"\n')
    program.chmod(0o755)
    words = line.replace("=", " = ").split() + ([""] if line.endswith((" ", "=")) else [])
    shell = f"""
        PATH={program.parent}:$PATH; source {script}; compopt() {{ :; }}
        COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        _twin_gym; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_bash_script_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "bash"]) == 0
    (tmp_path / "completion.bash").write_text(capsys.readouterr().out)
    assert complete_in_bash("twin-gym simu", tmp_path) == ["simulate"]
    assert complete_in_bash("twin-gym simulate policy=wf", tmp_path) == ["wfp1", "wfp2", "wfp3"]
    assert complete_in_bash("twin-gym simulate backfi", tmp_path) == ["backfill="]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_what_the_shell_can_read(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "twin-gym complete" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
