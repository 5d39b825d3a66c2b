"""`twin-gym completion SHELL` prints a script that asks `twin-gym complete`, below, what may come next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from twin_gym.commands import schema
from twin_gym.commands.arguments import FLAGS
from twin_gym.commands.guide import environment_keys
from twin_gym.commands.names import CHOICES, FORMATS, groups, loader_options, policy_names
from twin_gym.commands.words import Parser

_SCRIPTS = {
    "bash": r"""# twin-gym completion for bash; in ~/.bashrc:  eval "$(twin-gym completion bash)"
_twin_gym() {
    local IFS=$'\n' word cut
    COMPREPLY=($(twin-gym complete "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    # bash breaks words at = and : and replaces the last piece only
    word="${COMP_LINE:0:COMP_POINT}"; word="${word##* }"
    for cut in = :; do
        if [[ $COMP_WORDBREAKS == *"$cut"* && $word == *"$cut"* ]]; then
            COMPREPLY=("${COMPREPLY[@]#"${word%"$cut"*}$cut"}"); break
        fi
    done
    [[ ${#COMPREPLY[@]} -gt 0 && ( ${COMPREPLY[0]} == *[=./] || $word == *=\[* ) ]] && compopt -o nospace
    return 0
}
complete -F _twin_gym twin-gym
""",
    "zsh": r"""#compdef twin-gym
# twin-gym completion for zsh; in ~/.zshrc, after compinit:  eval "$(twin-gym completion zsh)"
_twin_gym() {
    local -a found
    found=("${(@f)$(twin-gym complete "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    compadd -Q -S '' -- ${(M)found:#*[=/]}  # to be continued: no space after it
    compadd -Q -- ${found:#*[=/]}
}
compdef _twin_gym twin-gym
""",
    "fish": r"""# twin-gym completion for fish; in ~/.config/fish/config.fish:  twin-gym completion fish | source
complete -c twin-gym -f -a '(twin-gym complete (commandline -cp) 2>/dev/null)'
""",
}


def run(name: str, words: list[str]) -> int:
    """Print a shell's completion script, or (``complete``, for the scripts) the candidates of a line."""
    if name == "complete":
        print("\n".join(candidates(words[0] if words else "")))
        return 0
    parser = Parser(
        "completion",
        "Print the script that makes the tab key complete commands, keys, policies, systems, workloads and files.",
        '  eval "$(twin-gym completion bash)"      in ~/.bashrc\n'
        '  eval "$(twin-gym completion zsh)"       in ~/.zshrc, after compinit\n'
        "  twin-gym completion fish | source       in ~/.config/fish/config.fish",
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="your shell")
    print(_SCRIPTS[parser.parse_args(words).shell], end="")
    return 0


def candidates(line: str) -> list[str]:
    """Return the words that may stand at the end of a command line.

    Parameters
    ----------
    line : str
        The line up to the cursor, beginning with the program's name.

    Returns
    -------
    list of str
        Whole words that begin with the line's last word.
    """
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote: nothing sensible to offer
        return []
    if not words or line[-1:].isspace():
        words.append("")
    if len(words) < 2:
        return []
    *before, last = words[1:]
    return sorted({word for word in _offers(before, last) if word.startswith(last)})


def _offers(before: list[str], last: str) -> Iterator[str]:
    from twin_gym.cli import COMMANDS

    if not before:
        yield from (*COMMANDS, "--help", "--version")
    elif before[0] in schema.COMMANDS:
        yield from _hydra_offers(before[0], before[1:], last)
    elif before[0] in ("inspect", "convert"):
        yield from _files(last)
    elif before[0] == "completion" and len(before) == 1:
        yield from _SCRIPTS
    elif before[0] == "datasets":
        yield from _data_sets(before[1:])


def _data_sets(before: list[str]) -> Iterator[str]:
    from twin_gym.commands.datasets import ACTIONS

    if not before:
        yield from ACTIONS
    elif before[0] == "fake" and len(before) == 1:
        from twin_gym.datasets.lookalike import fakes

        yield from fakes()
    elif before[0] in ACTIONS and len(before) == 1:
        from twin_gym.datasets import catalogue

        yield from catalogue()


def _hydra_offers(command: str, before: list[str], last: str) -> Iterator[str]:
    name, equals, value = last.partition("=")
    if equals:
        head = value[: max(value.rfind(","), value.rfind("[")) + 1]  # of a list or sweep, complete the last one
        for choice in _values(name, value.removeprefix(head)):
            yield f"{name}={head}{choice}"
    elif last.startswith("-"):
        yield from (flag for flag in FLAGS if flag.startswith("--"))
    else:
        given = {word.partition("=")[0] for word in before}
        workload = next((word.partition("=")[2] for word in reversed(before) if word.startswith("workload=")), "lublin")
        own = loader_options(workload) if workload in groups("workload") else {}
        options = schema.WORKLOADS.get(workload, schema.DatasetWorkload if own else schema.Shaping)
        for key in (*schema.keys(schema.COMMANDS[command]), *schema.keys(options, "workload.")):
            if key.name not in given:
                yield f"{key.name}="
        if "env" in schema.COMMANDS[command].__dataclass_fields__:
            names = (setting.partition("=")[0] for setting, _ in environment_keys())
            yield from (f"env.{name}=" for name in names if f"env.{name}" not in given)
        yield from (f"workload.options.{name}=" for name in own if f"workload.options.{name}" not in given)


def _values(key: str, value: str) -> Iterator[str]:
    if key in ("policy", "policies"):
        yield from policy_names()
    elif key == "agent":
        yield from (*policy_names(), "first", "random", "you")
    elif key in ("system", "workload", "env", "reward"):
        yield from groups(key)
        if key == "workload":
            yield from _files(value)
    elif key.removesuffix("s") in CHOICES or key in CHOICES:
        yield from CHOICES.get(key) or CHOICES[key.removesuffix("s")]
    elif key in ("workload.path", "outages"):
        yield from _files(value, every=key == "outages")
    elif any(isinstance(item.default, bool) for item in _all_keys() if item.name == key):
        yield from ("true", "false")


def _all_keys() -> Iterator[schema.Key]:
    for command in schema.COMMANDS.values():
        yield from schema.keys(command)
    for options in schema.WORKLOADS.values():
        yield from schema.keys(options, "workload.")


def _files(start: str, every: bool = False) -> Iterator[str]:
    """Yield folders and workload files (or every file) whose path begins with `start`."""
    from pathlib import Path

    folder, slash, _ = start.rpartition("/")
    root = Path(folder + slash).expanduser() if slash else Path()
    try:
        entries = list(root.iterdir())
    except OSError:
        return
    for entry in entries:
        path = folder + slash + entry.name
        if entry.is_dir():
            yield f"{path}/"
        elif every or entry.name.endswith(tuple(FORMATS)):
            yield path
