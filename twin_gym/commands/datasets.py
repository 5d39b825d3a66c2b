"""`twin-gym datasets`: the public data sets that twin_gym reads; `twin-gym datasets fetch NAME` gets one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from twin_gym.commands.progress import bar
from twin_gym.commands.tables import console, table
from twin_gym.commands.words import Parser
from twin_gym.errors import OptionError, suggest

if TYPE_CHECKING:
    from twin_gym.datasets._catalogue import Entry

ACTIONS = ("fetch", "fake", "show")


def run(name: str, words: list[str]) -> int:
    """List the data sets, or do with one what the first word says."""
    if words and not words[0].startswith("-"):
        action, *rest = words
        if action not in ACTIONS:
            raise OptionError(f"There is no `twin-gym {name} {action}`.{suggest(action, ACTIONS)}")
        return {"fetch": _fetch, "fake": _fake, "show": _show}[action](rest)
    return _list(words)


def _list(words: list[str]) -> int:
    parser = Parser(
        "datasets",
        "The public data sets that twin_gym reads: what they are, how large, and whether they are here.",
        "  twin-gym datasets                        the list\n"
        "  twin-gym datasets show pm100             licence, citation, page and files of one\n"
        "  twin-gym datasets fetch adastra          download one\n"
        "  twin-gym datasets fake pm100 --jobs 20000 --out pm100    a look-alike, nothing to download\n"
        "  twin-gym simulate workload=adastra       simulate what was fetched\n"
        "  twin-gym simulate workload=pm100 workload.path=job_table.parquet",
    )
    parser.add_argument("--catalogue", help="a catalogue of your own (YAML), such as of a mirror")
    given = parser.parse_args(words)
    from twin_gym.datasets import catalogue
    from twin_gym.datasets._catalogue import home, present

    listed = table("Public data sets: workload=LOADER workload.path=...")
    for title, style, justify in (
        ("name", "bold", "left"), ("loader", "", "left"), ("what", "", "left"), ("size", "", "right"),
        ("licence", "dim", "left"), ("here", "", "left"),
    ):  # fmt: skip
        listed.add_column(title, style=style, justify=justify)  # type: ignore[arg-type]
    for entry in catalogue(given.catalogue).values():
        there = "yes" if present(entry) else "" if entry.files else "by hand"
        size = _size(entry.size) if entry.size else "?"
        listed.add_row(entry.name, entry.loader, entry.what, size, entry.licence, there)
    out = console()
    out.print(listed)
    out.print(
        f"Fetched ones are put in {home()}/NAME. `twin-gym datasets show NAME` tells whom to cite; other loaders:\n"
        "workload=slurm reads sacct's output, workload=swf the Standard Workload Format, workload=table any table.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return 0


def _show(words: list[str]) -> int:
    parser = Parser("datasets show", "One data set: licence, citation, page, files.", "  twin-gym datasets show pm100")
    parser.add_argument("name", help="its name, see `twin-gym datasets`")
    parser.add_argument("--catalogue", help="a catalogue of your own (YAML)")
    given = parser.parse_args(words)
    entry = _entry(given.name, given.catalogue)
    from twin_gym.datasets._catalogue import home, present

    place = present(entry)
    facts = {
        "name": f"{entry.name} (workload={entry.loader})",
        "what": entry.what,
        "size": _size(entry.size) if entry.size else "not known",
        "licence": entry.licence,
        "cite": entry.citation,
        "page": entry.page,
        "here": str(place) if place else f"no; {_how(entry, str(home() / entry.name))}",
    }
    out = console()
    for fact, value in facts.items():
        out.print(f"{fact:<10}{value}", markup=False, highlight=False, soft_wrap=True)
    for file in entry.files:
        checked = "SHA-256 known" if file.sha256 else "no checksum known"
        size = _size(file.size) if file.size else "size not known"
        out.print(f"{'file':<10}{file.name}, {size}, {checked}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _fetch(words: list[str]) -> int:
    parser = Parser(
        "datasets fetch",
        "Download a data set; one that broke off is taken up where it stopped, and what arrives is checked.",
        "  twin-gym datasets fetch adastra\n"
        "  twin-gym datasets fetch fdata --only 23_03.parquet --to data/fdata\n"
        "  twin-gym datasets fetch pm100 --catalogue mirror.yaml",
    )
    parser.add_argument("name", help="its name, see `twin-gym datasets`")
    parser.add_argument("--to", help="folder to put it in (default: where workload=NAME finds it)")
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE", help="some of its files")
    parser.add_argument("--retries", type=int, default=4, help="how often to try again (default: 4)")
    parser.add_argument("--catalogue", help="a catalogue of your own (YAML), such as of a mirror")
    given = parser.parse_args(words)
    entry = _entry(given.name, given.catalogue)
    from twin_gym.datasets import fetch
    from twin_gym.datasets._catalogue import home

    out = console()
    place = given.to or home() / entry.name
    if entry.files:
        out.print(f"{entry.name} goes to {place}", markup=False, highlight=False, soft_wrap=True)
    with _bytes(entry.name) as tell:
        paths = fetch(
            entry.name,
            to=given.to,
            only=given.only,
            catalogue=given.catalogue,
            retries=max(given.retries, 0),
            progress=tell,
        )
    known = {file.name: file for file in entry.files}
    for path in paths:
        checked = "SHA-256 verified" if known[path.name].sha256 else "no checksum is known for it"
        out.print(f"{path}  {path.stat().st_size:,} bytes, {checked}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"Licence: {entry.licence}. Cite: {entry.citation}.", markup=False, highlight=False, soft_wrap=True)
    return 0


def _fake(words: list[str]) -> int:
    from twin_gym.datasets.lookalike import fake, fakes

    parser = Parser(
        "datasets fake",
        f"Write a look-alike of a data set in its own schema; of {', '.join(fakes())}.",
        "  twin-gym datasets fake pm100 --jobs 20000 --out pm100",
    )
    parser.add_argument("name", help="which data set")
    parser.add_argument("--jobs", type=int, default=10_000, help="how many jobs (default: 10000)")
    parser.add_argument("--out", help="folder for the files (default: the name)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other jobs (default: 0)")
    given = parser.parse_args(words)
    with bar(f"Writing {given.name}") as report:
        paths = fake(given.name, jobs=given.jobs, out=given.out or given.name, seed=given.seed, progress=report)
    out = console()
    for path in paths:
        out.print(f"{path}  {path.stat().st_size:,} bytes", markup=False, highlight=False, soft_wrap=True)
    return 0


def _entry(name: str, path: str | None) -> Entry:
    from twin_gym.datasets._catalogue import entry

    return entry(name, path)


def _how(entry: Entry, place: str) -> str:
    return f"`twin-gym datasets fetch {entry.name}` puts it in {place}" if entry.files else entry.manual


@contextmanager
def _bytes(name: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a progress bar over bytes."""
    with bar(f"Fetching {name}") as report:
        yield None if report is None else lambda file, done, total: report(done, total)


def _size(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"
