"""`twin-gym envs` and `twin-gym play`, and policies from files on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import twin_gym as tg
from twin_gym import cli
from twin_gym.agents import Heuristic, find_agent
from twin_gym.commands.names import groups
from twin_gym.envs import register_envs
from twin_gym.envs.options import EnvOptions, env_options
from twin_gym.envs.rewards import presets, weights_of
from twin_gym.envs.single import TwinEnv
from twin_gym.envs.world import World
from twin_gym.errors import TwinGymError
from twin_gym.learned import PriorityFunction

SMALL = ["workload.jobs=120", "workload.capacity=32", "env.episode_jobs=20", "env.window=6"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_id_is_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["envs"]) == 0
    listed = capsys.readouterr().out
    for name in register_envs():
        assert name in listed
        for spelling in (name, name.partition("/")[2].removesuffix("-v0")):
            assert cli.main(["envs", spelling]) == 0
            assert "Version history" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["SelectJob", "dispatch_policy", "TwinGym/Backfill-v0", "Inspect"])
def test_an_agent_plays_an_episode_to_its_end(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["play", name, "agent=sjf+easy", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "of 32 nodes busy" in said
    assert "bounded_slowdown" in said
    assert cli.main(["play", name, "agent=sjf+easy", *SMALL]) == 0
    assert capsys.readouterr().out == said


def test_weights_dictionaries_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "play",
        "PriorityWeights",
        "agent=random",
        "steps=2",
        "env.interval=0",
        "env.layout=dict",
        "reward=wait",
        *SMALL,
    ]
    assert cli.main(words) == 0
    assert "Stopped after 2 steps" in capsys.readouterr().out


def test_whoever_sits_there_picks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["nonsense", "5", "0", "0", "q"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    assert cli.main(["play", "SelectJob", "agent=you", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "'nonsense' is none of the actions" in said
    assert "Stopped after 2 steps" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["envs", "SelctJob"], "Did you mean 'SelectJob'"),
        (["play", "SelctJob"], "Did you mean 'SelectJob'"),
        (["play", "SelectJob", "agent=fcsf"], "Did you mean 'fcfs'"),
        (["play", "SelectJob", "env.windw=3"], "env.windw is not a key of env. Did you mean 'window'"),
        (["play", "SelectJob", "env.window=0"], "window=0 must be a whole number"),
        (["play", "SelectJob", "reward=wiat"], "reward=wiat is unknown. Did you mean 'wait'"),
        (["play", "PriorityWeights"], "agent=fcfs does not play task=weights"),
        (["play", "Backfill", "agent=fcfs"], "choose +easy"),
        (["play", "SelectJob", "first=-1"], "must lie between"),
        (["simulate", "policy=learned:nowhere.yaml"], "No such file"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_learned_policy_is_named_by_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    PriorityFunction("loglinear", (-1.0, -1.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)).save("best.yaml")
    words = ["workload.jobs=60", "workload.capacity=32", "figures=false"]
    assert cli.main(["simulate", "policy=learned:best.yaml", *words]) == 0
    assert "best-none" in capsys.readouterr().out
    assert cli.main(["compare", "policies=[fcfs,learned:best.yaml]", "backfills=[easy]", "out=both", *words]) == 0
    assert "learned:best.yaml,easy" in Path("both/comparison.csv").read_text()
    assert cli.main(["compare", "policies=[loglinear]", "weights=[1,0,0,0,0,0,0,0,0,0]", *words]) == 0


# ------------------------------------------------------------------------------------------------ configurations


def test_configured_options_are_those_of_the_environments(project_root: Path) -> None:
    told = yaml.safe_load((project_root / "conf" / "env" / "options.yaml").read_text())
    defaults = EnvOptions()
    besides = {"system", "workload", "reward"}
    assert set(told) == set(EnvOptions.__dataclass_fields__) - besides
    for name, value in told.items():
        default = getattr(defaults, name)
        if name == "pool":
            value, default = [tuple(pair) for pair in value], [tuple(pair) for pair in default]
        elif isinstance(value, list):
            value, default = tuple(value), tuple(default)
        assert value == default, name


@pytest.mark.parametrize("env", [name for name in groups("env") if name != "options"])
def test_every_environment_and_reward_can_be_named(env: str, capsys: pytest.CaptureFixture[str]) -> None:
    for reward in groups("reward"):
        assert cli.main(["play", f"env={env}", f"reward={reward}", "--cfg", "job"]) == 0
        config = yaml.safe_load(capsys.readouterr().out)
        options = env_options(**config["env"], reward=config["reward"])
        assert (weights_of(options.reward) == weights_of(presets()[reward])).all()


# ------------------------------------------------------------------------------------------------ agents


@pytest.mark.parametrize("task", ["select", "dispatch", "inspect", "backfill"])
def test_a_heuristic_makes_the_schedule_of_its_policy_in_every_environment(task: str) -> None:
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=150, capacity=64, load=0.9, seed=3)
    system = tg.System.uniform(nodes=64)
    for name in ("fcfs", "sjf+easy", "wfp3+conservative", "f1+firstfit", "saf+easy"):
        agent = find_agent(name)
        assert isinstance(agent, Heuristic)
        if task == "backfill" and agent.backfill != "easy":
            continue
        options = env_options(task=task, system=system, workload=log, window=150, episode_jobs=150)
        env = TwinEnv(world=World.of(agent.environment(options)))
        agent.begin(env.batch)
        observation, info = env.reset(seed=0)
        over = False
        while not over:
            action = agent.act(observation[None], info["action_mask"][None])[0]
            observation, _, over, _, info = env.step(action)
        expected = tg.simulate(system, log, agent.policy, agent.backfill)
        assert env.batch._state.job["start"][0].tolist() == expected.jobs["start"].tolist(), name


@pytest.mark.parametrize("name", ["replay", "loglinear", "sjf+esay", "nobody"])
def test_there_is_no_such_agent(name: str) -> None:
    with pytest.raises(TwinGymError):
        find_agent(name)
