"""`twin-gym play ID`: an environment in the terminal, step by step, played by a named agent or by who sits there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from twin_gym.commands.envs import full_id
from twin_gym.commands.hydra_app import Job, launch
from twin_gym.commands.inputs import Reader, plain
from twin_gym.commands.tables import console, table, tell_losses
from twin_gym.errors import OptionError

if TYPE_CHECKING:
    from twin_gym.envs.single import TwinEnv

_GROUPS = {
    "SelectJob": "select_job",
    "DispatchPolicy": "dispatch_policy",
    "Backfill": "backfill",
    "Inspect": "inspect",
    "PriorityWeights": "priority_weights",
}


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    if words and "=" not in words[0] and not words[0].startswith("-"):
        chosen = full_id(words[0], [f"TwinGym/{known}-v0" for known in _GROUPS])
        words = [f"env={_GROUPS[chosen.partition('/')[2].removesuffix('-v0')]}", *words[1:]]
    reader = Reader(tell_losses)
    launch(name, words, lambda job: _play(job, reader))
    return 0


def _play(job: Job, reader: Reader) -> float:
    """Play one episode; return its sum of rewards, turned round for sweepers that minimise."""
    from twin_gym.agents import find_agent
    from twin_gym.envs.options import env_options
    from twin_gym.envs.single import TwinEnv
    from twin_gym.envs.world import World

    config = job.config
    agent = None if config.agent == "you" else find_agent(config.agent, config.seed)
    system, workload = reader.machine(config, fitted=job.fitted)
    options = env_options(**plain(config.env), system=system, workload=workload, reward=plain(config.reward))
    if agent is not None:
        wanted, options = options, agent.environment(options)
        if options.task != wanted.task:
            raise OptionError(f"agent={config.agent} does not play task={wanted.task}, but task={options.task}.")
    elif options.task == "weights":
        raise OptionError("agent=you picks by numbers; weights are set by agents alone.")
    env = TwinEnv(world=World.of(options), render_mode="ansi")
    if agent is not None:
        agent.begin(env.batch)
    observation, info = env.reset(seed=config.seed, options=None if config.first is None else {"first": config.first})
    step, total, over = 0, 0.0, False
    _show(env, f"step 0 of {config.agent}", config.delay)
    while not over and (config.steps is None or step < config.steps):
        if agent is None:
            answer = _ask(env)
            if answer is None:
                break
            action = np.asarray(answer)
        else:
            mask = info.get("action_mask")
            action = np.asarray(agent.act(_batched(observation), None if mask is None else mask[None])[0])
        observation, reward, over, _, info = env.step(action)
        total += reward
        step += 1
        said = int(action) if action.ndim == 0 else np.round(action, 2).tolist()
        _show(env, f"step {step}: action {said}, reward {reward:.4g}, {total:.4g} in all", config.delay)
    _tell(info, step, total, over)
    return -total


def _batched(observation: Any) -> Any:
    """Return an observation as that of a batch of one."""
    if isinstance(observation, dict):
        return {name: values[None] for name, values in observation.items()}
    return observation[None]


def _show(env: TwinEnv, title: str, delay: float) -> None:
    out = console()
    if out.is_terminal and delay > 0:
        out.clear()
    out.print(title, style="bold", markup=False, highlight=False)
    out.print(env.render(), markup=False, highlight=False)
    out.print()
    time.sleep(delay)


def _ask(env: TwinEnv) -> int | None:
    """Ask for an action until one that makes sense is given; None: enough."""
    legal = [int(k) for k in env.action_masks().nonzero()[0]]
    shown = ", ".join(map(str, legal[:12])) + (" ..." if len(legal) > 12 else "")
    while True:
        try:
            answer = input(f"action ({shown}; q ends): ").strip()
        except EOFError:
            return None
        if answer in ("q", "quit"):
            return None
        if answer.isdecimal() and int(answer) in legal:
            return int(answer)
        print(f"{answer!r} is none of the actions that make sense now.")


def _tell(info: dict[str, Any], steps: int, total: float, over: bool) -> None:
    """Print what came of an episode."""
    out = console()
    if not over:
        out.print(f"Stopped after {steps} steps; reward so far {total:.6g}.", highlight=False)
        return
    numbers = table("The episode")
    numbers.add_column("objective", style="bold")
    numbers.add_column("value", justify="right")
    numbers.add_row("steps", f"{steps:,}")
    numbers.add_row("reward", f"{total:,.4g}")
    for name, value in info.items():
        if name.startswith("objective/"):
            numbers.add_row(name.removeprefix("objective/"), f"{float(value):,.4g}")
    out.print(numbers)
