"""`twin-gym envs`: the environments that are registered, and the specification of each."""

from __future__ import annotations

import inspect

from twin_gym.commands.tables import console, table
from twin_gym.commands.words import Parser
from twin_gym.errors import OptionError, suggest


def run(name: str, words: list[str]) -> int:
    """Print the list, or one specification."""
    parser = Parser(
        name,
        "The environments, or what one of them is: description, action, observation, reward, end.",
        "  twin-gym envs\n  twin-gym envs SelectJob\n  twin-gym play SelectJob agent=sjf",
    )
    parser.add_argument("id", nargs="?", help="one of them: TwinGym/SelectJob-v0, or SelectJob")
    given = parser.parse_args(words)
    import gymnasium as gym

    from twin_gym.envs import ids, register_envs

    registered = register_envs()
    if given.id is not None:
        full = full_id(given.id, registered)
        print(f"{full}\n\n{inspect.getdoc(getattr(ids, str(gym.spec(full).entry_point).partition(':')[2]))}")
        return 0
    listed = table("Environments: gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=N)")
    listed.add_column("id", style="bold")
    listed.add_column("the agent")
    listed.add_column("action")
    listed.add_column("observation", style="dim")
    small = {"loader": "synthetic", "model": "lublin", "jobs": 300, "capacity": 64}
    for full in registered:
        env = gym.make(full, workload=small).unwrapped
        summary = (inspect.getdoc(type(env)) or "").partition("\n")[0].rstrip(".")
        listed.add_row(full, summary[:1].lower() + summary[1:], str(env.action_space), str(env.observation_space))
        env.close()
    console().print(listed)
    return 0


def full_id(name: str, registered: list[str]) -> str:
    """Return the id that is meant by a name: ``TwinGym/SelectJob-v0``, ``SelectJob`` or ``select_job``.

    Raises
    ------
    OptionError
        If there is none; the nearest one is suggested.
    """
    plain = {_plain(full): full for full in registered}
    wanted = _plain(name)
    if wanted not in plain:
        short = [full.partition("/")[2].removesuffix("-v0") for full in registered]
        raise OptionError(f"There is no environment {name!r}.{suggest(name, short)}")
    return plain[wanted]


def _plain(name: str) -> str:
    return name.rpartition("/")[2].removesuffix("-v0").replace("_", "").lower()
