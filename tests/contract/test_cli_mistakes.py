"""Mistakes at the command line: one sentence on stderr, exit code 2, no traceback, nothing left behind."""

from __future__ import annotations

import errno
import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from twin_gym import cli

CSV = "id,submit,runtime,requested_time,nodes\n1,0,100,200,2\n2,10,50,60,4\n"
LINE = " ".join(["1", "0", "1", "10", "4", "-1", "-1", "4", "20", "-1", "1", *["-1"] * 7])
SWF = gzip.compress(("; MaxProcs: 8\n" + f"{LINE}\n" * 5000).encode())


def parquet() -> bytes:
    """A Parquet file of somebody else."""
    file = io.BytesIO()
    pd.DataFrame({"a": [1]}).to_parquet(file)
    return file.getvalue()


BROKEN = {
    "truncated.swf.gz": SWF[: len(SWF) // 2],
    "no_gzip.swf.gz": b"no gzip at all\n",
    "binary.swf": bytes(range(256)) * 40,
    "empty.swf": b"",
    "comments.swf": b"; Version: 2\n; MaxProcs: 8\n",
    "negative.swf": LINE.replace("1 0 1 10", "1 -5 1 10").encode() + b"\n",
    "words.swf": LINE.encode() + b"\n2 zero 1 10 4 -1 -1 4 20 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
    "empty.csv": b"",
    "header.csv": b"id,submit,runtime,requested_time,nodes\n",
    "columns.csv": b"id,submitted,runtime,nodes\n1,2,3,4\n",
    "binary.csv": bytes(range(256)) * 40,
    "negative.csv": b"id,submit,runtime,requested_time,nodes\n1,-7,10,10,1\n",
    "damaged.parquet": b"PAR1 and then nothing",
    "empty.parquet": b"",
    "foreign.parquet": parquet(),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a failing command says; it must be one line on stderr."""
    assert cli.main(list(words)) == 2
    said = capsys.readouterr()
    assert said.err.startswith("twin-gym: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.out + said.err
    assert len(said.err) > 25
    return said.err


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["simulat"], "Did you mean 'simulate'?"),
        (["polices"], "Did you mean 'policies'?"),
        (["policy=fcfs"], "twin-gym simulate policy=fcfs"),
        (["--foo"], "--foo"),
        (["simulate", "polcy=sjf"], "Did you mean 'policy'?"),
        (["simulate", "policy=sjff"], "Did you mean 'sjf'?"),
        (["simulate", "policy=ljf"], "'longest' or 'largest'"),
        (["simulate", "-m", "policy=fcfs,wpf3"], "Did you mean 'wfp3'?"),
        (["simulate", "backfill=esy"], "Did you mean 'easy'?"),
        (["simulate", "estimates=perfekt"], "Did you mean 'perfect'?"),
        (["simulate", "semantics=cycl"], "Did you mean 'cycle'?"),
        (["simulate", "placement=low"], "Did you mean 'lowest'?"),
        (["simulate", "workload=lubin"], "Did you mean 'lublin'?"),
        (["simulate", "system=fronteer"], "Did you mean 'frontier'?"),
        (["simulate", "system.nodse=3"], "Did you mean 'nodes'?"),
        (["simulate", "workload.jbos=3"], "Did you mean 'jobs'?"),
        (["simulate", "multifactor.agee=3"], "Did you mean 'age'?"),
        (["simulate", "workload=swf", "workload.strat=3"], "Did you mean 'start'?"),
        (["simulate", "policies=[fcfs]"], "twin-gym compare"),
        (["simulate", "workload.path=x"], "workload=swf"),
        (["simulate", "workload=swf"], "workload.path"),
        (["simulate", "depth=many"], "depth=many must be a whole number"),
        (["simulate", "depth=0"], "depth=0"),
        (["simulate", "kill_at_request=maybe"], "true or false"),
        (["simulate", "workload.load=much"], "workload.load=much must be a number"),
        (["simulate", "workload.load=-1"], "load"),
        (["simulate", "workload.jobs=0"], "jobs"),
        (["simulate", "policy"], "key=value"),
        (["simulate", ""], "key=value"),
        (["simulate", "policy=fcfs,sjf"], "-m"),
        (["simulate", "tau=(1"], "quote"),
        (["simulate", "workload.start=${nothing}"], "nothing"),
        (["simulate", "workload.start=soon"], "workload.start=soon"),
        (["simulate", "workload.start=2011-13-01"], "2011-13-01"),
        (["simulate", "workload.start=2011-02-01"], "doesn't say when it begins"),
        (["simulate", "workload.start=9000d", "workload.duration=1d"], "beyond the end"),
        (["simulate", "workload.duration=0"], "empty"),
        (["simulate", "workload.sample=1000000"], "1000000"),
        (["simulate", "system.nodes=0"], "nodes"),
        (["simulate", "workload=/no/where.swf.gz"], "/no/where.swf.gz"),
        (["simulate", "workload=some/log.txt"], ".swf.gz"),
        (["simulate", "outages=nowhere.yaml"], "nowhere.yaml"),
        (["simulate", "--multi"], "Did you mean '--multirun'?"),
        (["simulate", "--cfg", "jb"], "Did you mean 'job'?"),
        (["simulate", "--cfg"], "--cfg"),
        (["simulate", "-m", "policy=fcfs,sjf", "--cfg", "job"], "choose one of"),
        (["simulate", "--config-name", "other"], "other"),
        (["simulate", "--config-dir", "nowhere"], "nowhere"),
        (["simulate", "out=taken"], "taken"),
        (["simulate", "out=taken/below"], "taken"),
        (["compare", "policies=[fcfs,sjff]"], "Did you mean 'sjf'?"),
        (["compare", "backfills=[esy]"], "Did you mean 'easy'?"),
        (["compare", "policy=fcfs"], "twin-gym simulate"),
        (["compare", "policies=[]"], "at least one"),
        (["inspect"], "file"),
        (["inspect", "nowhere.swf"], "nowhere.swf"),
        (["inspect", "taken"], ".parquet"),
        (["inspect", "jobs.csv", "--out", "picture.bmp"], ".png"),
        (["convert", "jobs.csv"], "target"),
        (["convert", "jobs.csv", "jobs.txt"], ".parquet"),
        (["convert", "jobs.csv", "jobs.csv"], "--overwrite"),
        (["convert", "jobs.csv", "no/jobs.swf"], "no/jobs.swf"),
        (["convert", "jobs.csv", "jobs.swf", "--strickt"], "--strickt"),
        (["completion", "tcsh"], "bash"),
        (["policies", "extra"], "extra"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_sentence(words: list[str], fragment: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("jobs.csv").write_text(CSV)
    Path("taken").write_text("a file")
    assert fragment in complaint(capsys, *words)
    assert sorted(path.name for path in Path().iterdir()) == ["jobs.csv", "taken"]  # nothing is left behind


@pytest.mark.parametrize("name", list(BROKEN))
@pytest.mark.parametrize("command", ["simulate", "inspect", "convert"])
def test_a_log_that_cannot_be_used_gets_one_sentence_that_names_it(
    name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(BROKEN[name])
    words = {"simulate": [f"workload={name}"], "inspect": [name], "convert": [name, "out.parquet"]}[command]
    assert name in complaint(capsys, command, *words)
    assert [path.name for path in Path().iterdir()] == [name]


def test_a_run_is_never_replaced_unless_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "workload.jobs=60", "figures=false", "out=run"]
    assert cli.main(words) == 0
    before = Path("run/stats.json").read_bytes()
    capsys.readouterr()
    assert "overwrite=true" in complaint(capsys, *words, "policy=sjf")
    assert Path("run/stats.json").read_bytes() == before
    assert cli.main([*words, "policy=sjf", "overwrite=true"]) == 0
    assert Path("run/stats.json").read_bytes() != before


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_what_is_no_run_is_never_replaced(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    assert "mine" in complaint(capsys, command, "workload.jobs=60", "out=mine", "overwrite=true")
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("code", "word"), [(errno.ENOSPC, "space"), (errno.EACCES, "ermission"), (errno.EROFS, "ead-only")]
)
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_disk_that_takes_no_more_gets_one_sentence_and_leaves_nothing(
    command: str, code: int, word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Path.write_text

    def full(path: Path, *content: Any, **options: Any) -> int:
        if ".partial" in str(path):
            raise OSError(code, "refused", str(path))
        return original(path, *content, **options)

    monkeypatch.setattr(Path, "write_text", full)
    words = [command, "workload.jobs=60", "figures=false", "out=runs/run"]
    said = complaint(capsys, *words)
    assert word in said.replace("disk is full", "space")
    assert "runs/run" in said
    assert not [path for path in Path("runs").iterdir()]


def test_an_unwritable_place_is_found_before_any_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    monkeypatch.setattr("twin_gym.commands.inputs.Reader.inputs", lambda *_, **__: pytest.fail("began to work"))
    assert "may not write" in complaint(capsys, "simulate", "out=there/run")
    assert "may not write" in complaint(capsys, "compare", "out=there/run")


def test_a_defect_of_ours_is_called_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("twin_gym.commands.listing.run", broken)
    assert cli.main(["policies"]) == 1
    said = capsys.readouterr().err
    assert "a defect of twin_gym" in said
    assert "--debug" in said
    assert said.count("\n") == 1
    with pytest.raises(ZeroDivisionError):
        cli.main(["policies", "--debug"])


def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="sjff"):
        cli.main(["simulate", "policy=sjff", "--debug"])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(ValueError, match="sjff"):
        cli.main(["simulate", "policy=sjff"])


def test_ctrl_c_says_what_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from twin_gym import twin

    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    words = ["simulate", "-m", "workload.jobs=60", "figures=false", "out=sweep", "policy=fcfs,sjf"]
    with monkeypatch.context() as patch:
        patch.setattr(twin.Twin, "advance", interrupted)
        assert cli.main(words) == 130
    assert "nothing was written" in capsys.readouterr().err

    advance, calls = twin.Twin.advance, []

    def second(self: Any, *given: Any) -> str:
        calls.append(1)
        return interrupted() if self.config.policy == "sjf" else advance(self, *given)

    monkeypatch.setattr(twin.Twin, "advance", second)
    assert cli.main(words) == 130
    said = capsys.readouterr()
    assert "1 finished run kept in sweep" in said.err
    assert "Traceback" not in said.err
    assert calls
    assert Path("sweep/00-fcfs-none/stats.json").exists()


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    shell = f"{sys.executable} -m twin_gym policies | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
