"""The text of `twin-gym simulate --help` and `twin-gym compare --help`: examples first, then every key."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from twin_gym.commands.names import CHOICES, groups, policy_names
from twin_gym.commands.schema import COMMANDS, WORKLOADS, DatasetWorkload, Key, Shaping, keys

_EXAMPLES = {
    "simulate": """\
  twin-gym simulate                                        the default: a synthetic log, first come first served
  twin-gym simulate policy=wfp3 backfill=easy              another order of the queue, with EASY backfill
  twin-gym simulate workload=log.swf.gz                    a log of yours (.swf, .swf.gz, .parquet, .csv)
  twin-gym simulate workload=log.swf.gz workload.start=30d workload.duration=7d
  twin-gym simulate workload.jobs=20000 workload.load=0.9  a busier synthetic log
  twin-gym simulate policy=replay placement=recorded workload=log.swf.gz
  twin-gym simulate -m policy=fcfs,sjf backfill=none,easy  a sweep: four runs and one table
  twin-gym simulate policy=sjf --cfg job                   show the composed configuration, run nothing""",
    "compare": """\
  twin-gym compare                                         three orders, with and without EASY backfill
  twin-gym compare policies=[fcfs,sjf,wfp3] backfills=[none,easy,conservative]
  twin-gym compare policies=fcfs,sjf,wfp3                  the same without brackets, which zsh wants quoted
  twin-gym compare workload=log.swf.gz workload.duration=30d estimates=perfect
  twin-gym compare -m workload.load=0.7,0.8,0.9            one comparison per load
  twin-gym compare --cfg job                               show the composed configuration, run nothing""",
    "play": """\
  twin-gym play SelectJob                                  first come first served picks, a screen for each step
  twin-gym play SelectJob agent=sjf+easy delay=0.2
  twin-gym play TwinGym/Backfill-v0 agent=you              pick yourself
  twin-gym play DispatchPolicy agent=random steps=20 workload=log.swf.gz env.episode_jobs=100
  twin-gym play SelectJob reward=cost_aware env.window=16 env.prepopulate=fcfs+easy""",
    "evolve": """\
  twin-gym evolve                                          a function for the default log, with EASY backfill
  twin-gym evolve workload=log.swf.gz env.episode_jobs=1024 generations=100
  twin-gym evolve env.backfill=none objective=wait
  twin-gym evolve family=exponential population=24 seed=1
  twin-gym evolve -m seed=0,1,2                            three searches
  twin-gym simulate policy=learned:runs/.../best.yaml backfill=easy""",
}
_FIXED = ("workload.loader", "workload.model")  # what makes the group what it is
_PURPOSE = {
    "simulate": "Reschedule a job log under one policy, print its numbers and write the run to a directory.",
    "compare": "Reschedule a job log under every given policy with every given backfill mode and compare them.",
    "evolve": "Search the weights of a priority function (CMA-ES) on the earlier part of a log, choose among them on\n"
    "the middle part, and compare the best with policies on windows of the last part. Needs twin-gym[evolve].",
    "play": "Step an environment in the terminal, a screen for each step, and print what came of it.",
}


def guide(command: str) -> str:
    """Return the help text of a Hydra command."""
    listed = [item for item in keys(COMMANDS[command]) if item.name not in ("system", "workload", "env", "reward")]
    of_env = "env" in COMMANDS[command].__dataclass_fields__
    sections = [
        f"usage: twin-gym {command} {'[ID] ' if of_env else ''}[key=value ...] [-m] [--cfg job] [--config-dir DIR] "
        "[--debug]",
        _PURPOSE[command],
        f"examples\n{_EXAMPLES[command]}",
        f"what to run\n{_line('system=uniform', 'the machine: ' + ', '.join(groups('system')))}\n"
        f"{_line('workload=lublin', 'the jobs: a file, or one of ' + ', '.join(groups('workload')))}",
        "keys\n" + "\n".join(_describe(item) for item in listed),
    ]
    if of_env:
        sections[3] += "\n" + "\n".join(
            _line(f"{group}={default}", f"{what}: " + ", ".join(name for name in groups(group) if name != "options"))
            for group, default, what in (
                ("env", "select_job", "the environment"),
                ("reward", "bounded_slowdown", "what is rewarded"),
            )
        )
        sections.append("keys of env\n" + "\n".join(_line(f"env.{name}", text) for name, text in environment_keys()))
    sections.append("keys of every workload\n" + "\n".join(_describe(item) for item in keys(Shaping, "workload.")))
    for group in ("lublin", "swf"):
        own = [
            _describe(item) for item in keys(WORKLOADS[group], "workload.", besides=Shaping) if item.name not in _FIXED
        ]
        sections.append(f"keys of workload={group}\n" + "\n".join(own))
    sections.append(
        "keys of a data set: workload=pm100, slurm, alcf, table ...\n"
        + "\n".join(
            _describe(item) for item in keys(DatasetWorkload, "workload.", besides=Shaping) if item.name not in _FIXED
        )
    )
    sections.append(
        "names\n"
        + "\n".join(_line(name, ", ".join(values)) for name, values in {"policy": policy_names(), **CHOICES}.items())
    )
    sections.append(
        f"The keys of another workload or system: twin-gym {command} workload=weibull --cfg job\n"
        "Hydra's own machinery works: -m sweeps over a,b,c; key={a:1} sets a mapping; --config-dir DIR finds your own\n"
        "system/NAME.yaml and workload/NAME.yaml; --hydra-help lists the rest."
    )
    return "\n\n".join(sections) + "\n"


def environment_keys() -> list[tuple[str, str]]:
    """Return the keys of every environment with their defaults, and what is said of them in ``conf/env``."""
    text = (files("twin_gym.conf") / "env" / "options.yaml").read_text(encoding="utf-8")
    lines = [line.partition(" # ") for line in text.splitlines() if line and not line.startswith("#")]
    return [(setting.strip().replace(": ", "=", 1), said) for setting, _, said in lines]


def _describe(item: Key) -> str:
    return _line(f"{item.name}={_value(item.default)}", item.text)


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return f"[{','.join(value)}]"
    return str(value)


def _line(left: str, right: str, width: int = 34) -> str:
    return f"  {left:<{width}}  {right}"
