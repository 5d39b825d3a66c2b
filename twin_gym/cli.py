"""The command line `twin-gym`: finds the command by its first word, runs it, turns errors into one sentence."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NamedTuple

from twin_gym.errors import OptionError, suggest


class Command(NamedTuple):
    """One command: a module of `twin_gym.commands` with a function ``run(words) -> exit code``."""

    module: str
    summary: str


COMMANDS = {
    "demo": Command("demo", "reschedule a synthetic log under several policies: a table and pictures"),
    "simulate": Command("simulate", "reschedule a job log under one policy (-m: under several, one after the other)"),
    "compare": Command("compare", "reschedule a job log under many policies at once and compare them"),
    "policies": Command("listing", "the ordering policies and backfill modes, with formulas and sources"),
    "systems": Command("listing", "the machines that are described already"),
    "datasets": Command("datasets", "the public data sets that are read: list them, fetch one, make a look-alike"),
    "inspect": Command("inspect", "a job log at a glance: numbers and six pictures"),
    "convert": Command("convert", "convert a job log between .swf, .swf.gz, .parquet and .csv"),
    "envs": Command("envs", "the environments: their ids, and what each is"),
    "play": Command("play", "step an environment in the terminal, by a named agent or by yourself"),
    "evolve": Command("evolve", "search a priority function for a log, and compare it with policies on later windows"),
    "export-fmu": Command("export_fmu", "a system's cooling plant as an FMU"),
    "completion": Command("completion", "print the completion script of your shell"),
}
_COMPOSED = ("simulate", "compare", "play", "evolve")  # commands whose words are Hydra's
_HIDDEN = {"complete": Command("completion", "")}  # what the completion scripts call

_HELP = """\
usage: twin-gym COMMAND ...

A digital twin of a supercomputing facility: replay and reschedule real job logs.

commands
{commands}

examples
  twin-gym demo                                              see what it does
  twin-gym inspect log.swf.gz                                look at a log
  twin-gym simulate workload=log.swf.gz policy=wfp3 backfill=easy
  twin-gym compare workload=log.swf.gz policies=[fcfs,sjf,wfp3] backfills=[none,easy]
  twin-gym simulate -m policy=fcfs,sjf workload.load=0.7,0.9  a sweep: four runs
  eval "$(twin-gym completion bash)"                         complete names with the tab key

`twin-gym COMMAND --help` explains a command; --debug shows the traceback of an error; --version the version.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : list of str, optional
        The words after ``twin-gym``; those of the process by default.

    Returns
    -------
    int
        Exit code: 0 success, 2 a mistake of the user (one sentence on stderr), 1 a defect of twin_gym, 130 Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words or os.environ.get("HYDRA_FULL_ERROR") == "1"
    words = [word for word in words if word != "--debug"]
    try:
        code = _dispatch(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        kept = " ".join(str(part) for part in stop.args) or "nothing was written."
        print(f"\ntwin-gym: interrupted; {kept}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough: not an error worth a word
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        if debug:
            raise
        return _report(error)


def _dispatch(words: list[str]) -> int:
    if words and words[0] == "help":
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help"):
        print(_HELP.format(commands="\n".join(f"  {name:<12}{it.summary}" for name, it in COMMANDS.items())), end="")
        return 0
    name, *rest = words
    if name in ("-V", "--version"):
        from importlib.metadata import version

        print(f"twin-gym {version('twin-gym')}")
        return 0
    command = COMMANDS.get(name) or _HIDDEN.get(name)
    if command is None:
        raise OptionError(_unknown(name))
    if name in _COMPOSED and {"-h", "--help"} & {*rest}:  # answered without loading Hydra
        from twin_gym.commands.guide import guide

        print(guide(name), end="")
        return 0
    module = import_module(f"twin_gym.commands.{command.module}")
    return int(module.run(name, rest))


def _unknown(word: str) -> str:
    if "=" in word:
        return f"A command must come first: twin-gym simulate {word}.{suggest('simulate', COMMANDS)}"
    if word.startswith("-"):
        return f"There is no option {word} before a command; see twin-gym --help."
    return f"There is no command '{word}'.{suggest(word, COMMANDS)}"


def _report(error: Exception) -> int:
    from twin_gym.commands.sentences import sentence

    text = sentence(error)
    if text is None:
        reason = str(error).partition("\n")[0][:200]
        print(
            f"twin-gym: a defect of twin_gym, please report it: {type(error).__name__}: {reason} "
            "(the same command with --debug shows the traceback)",
            file=sys.stderr,
        )
        return 1
    print(f"twin-gym: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
