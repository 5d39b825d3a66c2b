"""The command line: what it composes, runs, prints and writes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import twin_gym as tg
from twin_gym import cli
from twin_gym.commands import schema
from twin_gym.commands.arguments import prepare
from twin_gym.commands.guide import guide
from twin_gym.commands.names import groups
from twin_gym.config import Multifactor, RunConfig
from twin_gym.power import ASSUMED

SMALL = ["workload.jobs=60", "workload.capacity=32", "figures=false"]
CSV = "id,submit,runtime,requested_time,nodes,user\n1,0,100,200,2,ann\n2,10,50,60,4,bob\n3,20,400,300,1,ann\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)


@pytest.fixture
def jobs() -> Path:
    """A small job table."""
    path = Path("jobs.csv")
    path.write_text(CSV)
    return path


def composed(capsys: pytest.CaptureFixture[str], command: str, *words: str) -> dict[str, Any]:
    """The configuration that a command composes of the words."""
    assert cli.main([command, *words, "--cfg", "job"]) == 0
    config: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return config


# ---------------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize("workload", groups("workload"))
def test_every_workload_composes(workload: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = composed(capsys, "simulate", f"workload={workload}")
    fields = schema.keys(schema.WORKLOADS.get(workload, schema.DatasetWorkload))
    assert set(config["workload"]) == {item.name for item in fields}


@pytest.mark.parametrize("system", groups("system"))
def test_every_system_composes_into_the_system_that_python_loads(
    system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = composed(capsys, "compare", f"system={system}")
    assert tg.System.from_dict(config["system"]) == tg.System.load(system)


def test_the_schema_has_the_defaults_of_python() -> None:
    command = schema.SimulateCommand()
    for name, value in RunConfig().to_dict().items():
        if name not in ("multifactor", "slowing"):
            assert getattr(command, name) == (list(value) if isinstance(value, tuple) else value), name
    assert vars(command.multifactor) == vars(Multifactor())
    assert vars(command.slowing) == vars(tg.Slowing())
    assert command.facility.assumed == ASSUMED
    compare = inspect.signature(tg.compare).parameters
    assert tuple(schema.CompareCommand().policies) == compare["policies"].default
    assert tuple(schema.CompareCommand().backfills) == compare["backfills"].default


@pytest.mark.parametrize("group", [name for name in schema.WORKLOADS if name not in ("swf", "parquet", "csv")])
def test_the_schema_of_a_synthetic_workload_has_the_defaults_of_its_model(group: str) -> None:
    from twin_gym.datasets import synthetic

    options = schema.WORKLOADS[group]()
    known: dict[str, Any] = {}
    for function in (synthetic.simple, synthetic.MODELS[group]):
        known |= {name: it.default for name, it in inspect.signature(function).parameters.items()}
    for item in schema.keys(schema.WORKLOADS[group], besides=schema.Shaping):
        if item.name in ("loader", "model", "capacity", "seed", "population"):  # these depend on the rest
            continue
        assert getattr(options, item.name) == known[item.name], item.name


@pytest.mark.parametrize("command", list(schema.COMMANDS))
def test_help_names_every_key_and_teaches_by_examples_that_compose(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text == guide(command)
    assert all(f"  {item.name}=" in text for item in schema.keys(schema.COMMANDS[command]))
    examples = [re.split(r"\s{2,}", line)[1].split() for line in text.splitlines() if line.startswith("  twin-gym")]
    assert len(examples) > 4
    for _, name, *words in examples:
        plain = [word for word in words if (word != "-m" and "," not in word) or "[" in word]
        composed(capsys, name, *[word for word in plain if word not in ("--cfg", "job")])


def test_keys_may_stand_before_and_after_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", "policy=sjf", "--cfg", "job", "depth=2", "--resolve", "backfill=easy"]) == 0
    config = yaml.safe_load(capsys.readouterr().out)
    assert (config["policy"], config["depth"], config["backfill"]) == ("sjf", 2, "easy")
    assert prepare(["--info", "defaults", "policy=sjf"]) == ["policy=sjf", "--info", "defaults"]


# ---------------------------------------------------------------------------------------------------- running


def test_simulate_gives_what_python_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", *SMALL, "workload.seed=3", "policy=sjf", "backfill=easy", "out=run", "csv=true"]) == 0
    said = capsys.readouterr().out
    workload = tg.datasets.load("synthetic", model="lublin", jobs=60, capacity=32, seed=3)
    expected = tg.simulate(tg.System.uniform(32), workload, "sjf", "easy")
    pd.testing.assert_frame_equal(tg.Result.load("run").jobs, expected.jobs)
    assert len(pd.read_csv("run/job_history.csv")) == 60
    assert "sjf, easy backfill" in said
    assert "60 of 60 jobs finished" in said
    assert "Written to run" in said
    assert yaml.safe_load(Path("run/command.yaml").read_text())["policy"] == "sjf"
    assert sorted(path.name for path in Path().iterdir()) == ["run"]  # nothing of Hydra's


def test_without_out_the_directory_is_named_by_time_policy_and_backfill() -> None:
    assert cli.main(["simulate", *SMALL, "policy=wfp3"]) == 0
    (directory,) = Path("runs").iterdir()
    assert directory.name.endswith("-wfp3-none")
    assert directory.name[:2] == "20"


def test_figures_are_drawn_unless_they_are_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", *SMALL, "figures=true", "out=drawn"]) == 0
    assert all(path.stat().st_size > 10_000 for path in Path("drawn/figures").glob("*.png"))
    assert len(list(Path("drawn/figures").glob("*.png"))) >= 2
    assert cli.main(["simulate", *SMALL, "out=plain"]) == 0
    assert not Path("plain/figures").exists()


def test_the_default_system_is_as_large_as_the_workload_and_any_other_as_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def nodes(*words: str) -> tuple[int, int]:
        assert cli.main(["simulate", "workload.jobs=60", "figures=false", "overwrite=true", "out=run", *words]) == 0
        result = tg.Result.load("run")
        return result.scenario.nodes, int(result.jobs["nodes"].max())

    assert nodes()[0] == 256
    assert nodes("workload.capacity=32")[0] == 32
    size, largest = nodes("system.nodes=16")  # the synthetic jobs follow
    assert size == 16
    assert largest <= 16
    assert nodes("system.nodes=16", "workload.capacity=64")[0] == 16
    assert nodes("system=frontier")[0] == tg.System.load("frontier").nodes


@pytest.mark.parametrize(
    "name", ["jobs.csv", "my jobs (1).csv", "a=b.csv", "a,b.csv", "it's.csv", "[x]{y}.csv", "é:ü.csv"]
)
def test_a_workload_may_be_named_by_its_file_whatever_it_is_called(name: str) -> None:
    Path(name).write_text(CSV)
    assert cli.main(["simulate", f"workload={name}", "figures=false", "out=run"]) == 0
    assert tg.Result.load("run").jobs["user"].tolist() == ["ann", "bob", "ann"]
    assert cli.main(["simulate", "workload=csv", f"workload.path={name}", "figures=false", "out=run2"]) == 0


def test_jobs_that_are_left_out_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("jobs.csv").write_text(CSV + "4,30,0,60,1,bob\n5,40,10,0,1,bob\n")
    assert cli.main(["simulate", "-m", "workload=jobs.csv", "figures=false", "policy=fcfs,sjf", "out=sweep"]) == 0
    said = capsys.readouterr().out
    assert said.count("jobs: 1 of 5 jobs left out (1 never_ran)") == 1
    assert said.count("jobs: 1 of 5 jobs repaired (1 no_requested_time)") == 1


def test_a_sweep_runs_every_combination_in_its_own_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", "-m", *SMALL, "policy=fcfs,sjf", "backfill=none,easy", "out=sweep"]) == 0
    names = sorted(path.name for path in Path("sweep").iterdir() if path.is_dir())
    assert names == ["00-fcfs-none", "01-fcfs-easy", "02-sjf-none", "03-sjf-easy"]
    said = capsys.readouterr().out
    for name in names:
        result = tg.Result.load(Path("sweep") / name)
        _, policy, backfill = name.split("-")
        assert (result.config.policy, result.config.backfill) == (policy, backfill)
    table = said[said.index("4 runs") :]
    assert [line.split()[:2] for line in table.splitlines() if "sjf" in line] == [["sjf", "none"], ["sjf", "easy"]]
    assert pd.read_csv("sweep/sweep.csv")["policy"].tolist() == ["fcfs", "fcfs", "sjf", "sjf"]


def test_a_sweep_goes_on_after_a_run_that_fails_and_says_so(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "-m", "figures=false", "workload=csv", "workload.path=none.csv,jobs.csv", "out=sweep"]
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert "run 0" in said.err
    assert "none.csv" in said.err
    assert "Traceback" not in said.err
    assert [path.name for path in Path("sweep").iterdir() if path.is_dir()] == ["01-fcfs-none"]


def test_compare_gives_what_python_gives(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", *SMALL, "policies=fcfs,f1", "backfills=[none,easy]", "out=both", "runs=true"]
    assert cli.main(words) == 0
    workload = tg.datasets.load("synthetic", model="lublin", jobs=60, capacity=32, seed=0)
    expected = tg.compare(tg.System.uniform(32), workload, ["fcfs", "f1"], ["none", "easy"])
    written = pd.read_csv("both/comparison.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    assert tg.Result.load("both/f1-easy").config.policy == "f1"
    assert "slowdown" in capsys.readouterr().out


def test_compare_draws_the_workload_and_the_comparison() -> None:
    assert cli.main(["compare", *SMALL, "figures=true", "policies=[fcfs]", "out=both"]) == 0
    pictures = {path.name: path.stat().st_size for path in Path("both/figures").iterdir()}
    assert set(pictures) == {"comparison.png", "workload.png"}
    assert min(pictures.values()) > 20_000


def test_the_shaping_of_a_workload() -> None:
    from twin_gym.commands.inputs import shape

    workload = tg.datasets.load("synthetic", model="lublin", jobs=500, capacity=32, seed=0)
    first = int(workload.submit[0])

    def shaped(**options: Any) -> tg.Workload:
        return shape(workload, schema.Shaping(**options), seed=5)

    assert shaped() is workload
    assert len(shaped(duration="2d")) == (workload.submit < first + 2 * 86400).sum()
    assert shaped(start="1d", duration="12h").submit[-1] < 43_200
    assert len(shaped(sample=20)) == 20
    assert np.array_equal(shaped(sample=20).nodes, workload.sample(20, 5).nodes)
    assert shaped(scale_arrivals=2.0).span == pytest.approx(workload.span / 2, abs=1)
    assert shaped(scale_nodes=2.0).capacity == 64
    assert not np.array_equal(shaped(shuffle=True).nodes, workload.nodes)


def test_outages_and_until_reach_the_twin(capsys: pytest.CaptureFixture[str]) -> None:
    Path("down.yaml").write_text("- {nodes: 0-31, start: 0, end: 50000000, mode: fail, planned: false}\n")
    words = ["simulate", *SMALL, "outages=down.yaml", "until=1d", "out=run"]
    assert cli.main(words) == 0
    result = tg.Result.load("run")
    assert result.clock == 86_400
    assert result.summary["jobs_finished"] == 0
