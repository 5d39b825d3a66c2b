"""Rows of Slurm's ``sacct``, as ``--parsable2`` or ``--json`` writes them, as one table of text columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from twin_gym.errors import OptionError, WorkloadError

from ._text import Block, Progress, Source, blocks, label

FREE = ("jobname", "submitline", "workdir", "comment", "admincomment", "systemcomment", "constraints", "container",
        "wckey", "reason")  # fmt: skip
"""Fields in which users and operators may have written anything, a delimiter too."""

_NUMBER, _DATE, _SPAN = r"\d*", r"(\d{4}-\d\d-\d\dT[\d:.]+|\d+|Unknown|None|)", r"[\d:.-]*|UNLIMITED|Partition_Limit"
SHAPES = {
    "jobid": r"\d+(_(\d+|\[.*\]))?(\+\d+)?(\..+)?", "jobidraw": r"\d+(\..+)?", "state": r"[A-Z_]+\+?( by \d+)?",
    "exitcode": r"\d+:\d+|", "submit": _DATE, "eligible": _DATE, "start": _DATE, "end": _DATE, "elapsed": _SPAN,
    "timelimit": _SPAN, "elapsedraw": _NUMBER, "timelimitraw": r"\d*|UNLIMITED|Partition_Limit", "nnodes": _NUMBER,
    "ncpus": _NUMBER, "allocnodes": _NUMBER, "alloccpus": _NUMBER, "reqnodes": _NUMBER, "reqcpus": _NUMBER,
    "priority": _NUMBER, "uid": _NUMBER, "cputimeraw": _NUMBER, "resvcpuraw": _NUMBER, "plannedcpuraw": _NUMBER,
    "consumedenergyraw": _NUMBER, "suspended": _SPAN, "reserved": _SPAN, "planned": _SPAN, "totalcpu": _SPAN,
    "usercpu": _SPAN, "systemcpu": _SPAN, "cputime": _SPAN, "derivedexitcode": r"\d+:\d+|", "flags": r"[\w,]*",
    "alloctres": r"[^| ]*", "reqtres": r"[^| ]*", "reqmem": r"[\w.?]*",
}  # fmt: skip
"""What fields look like whose form is fixed."""

WAYS = 1000
"""Ways to join the pieces of a row that are tried."""

HOW = (
    "write it with `sacct -a -X --parsable2 --format=JobIDRaw,User,Account,Partition,State,Submit,Start,End,"
    "Timelimit,NNodes,NodeList`"
)


class Rows(NamedTuple):
    """Rows of jobs, their fields by lower-case name as text; and what wasn't as it should be."""

    table: pa.Table
    lists: set[str]  # different lists of nodes of all jobs, wanted or not: they number the nodes
    steps: int
    malformed: list[str]
    repaired: list[str]


Keep = Callable[[pa.Table], pa.Array]


def read_rows(
    source: Source,
    fields: Sequence[str] | None,
    wanted: Sequence[str],
    keep: Keep,
    progress: Progress | None,
) -> Rows:
    """Read the wanted fields of all jobs; steps are left out at once.

    Parameters
    ----------
    source : path or file object
        The file, plain or ``.gz``.
    fields : sequence of str, optional
        Names of the fields of a file without a line of titles.
    wanted : sequence of str
        Lower-case names of the fields to read, as far as the file has them.
    keep : callable
        Tells of a table of jobs which rows are wanted; asked for some megabytes at a time.
    progress : callable, optional
        Called with the bytes read and of all.

    Raises
    ------
    WorkloadError
        If it is something else than sacct's output.
    """
    where = label(source)
    stream = blocks(source, progress)
    first = next(stream)
    if first.text.lstrip()[:1] == b"{":
        return _from_json(b"".join([first.text, *(block.text for block in stream)]), where, wanted, keep)
    names, delimiter, first = _titles(first, fields, where)
    parts, steps = [], 0
    malformed: list[str] = []
    repaired: list[str] = []
    lists: set[str] = set()
    for block in _chain(first, stream):
        table, broken = _parse(block, names, delimiter, where)
        mended = []
        for line in broken:
            pieces = join(line.split(delimiter), names)
            (malformed if pieces is None else repaired).append(line)
            if pieces is not None:
                mended.append(pieces)
        if mended:
            columns = zip(*mended, strict=True)
            more = pa.table([pa.array(column, pa.string()) for column in columns], names=table.column_names)
            table = pa.concat_tables([table, more])
        is_step = pc.match_substring(table["jobid" if "jobid" in names else "jobidraw"], ".").fill_null(False)
        steps += pc.sum(is_step).as_py() or 0
        table = table.select([name for name in wanted if name in table.column_names]).filter(pc.invert(is_step))
        lists |= _lists(table)
        parts.append(table.filter(keep(table)))
    return Rows(pa.concat_tables(parts), lists, steps, malformed, repaired)


def _lists(table: pa.Table) -> set[str]:
    return set(pc.unique(table["nodelist"]).to_pylist()) if "nodelist" in table.column_names else set()


def _chain(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    if first.text.strip():
        yield first
    yield from rest
    if not first.text.strip():  # titles only: an empty table still has columns
        yield Block(first.line, b"")


def _titles(block: Block, fields: Sequence[str] | None, where: str) -> tuple[list[str], str, Block]:
    """Return the names of the fields, the delimiter, and the block without its line of titles."""
    line, _, rest = block.text.partition(b"\n")
    text = line.decode("utf-8", "replace").rstrip("\r")
    delimiter = re.search(r"[^\w/%]+", text)
    if fields is not None:
        names = list(fields)
        rest = block.text
        if delimiter is None and len(names) > 1:
            raise WorkloadError(f"{where}: its first line, {text[:60]!r}, holds no delimiter; {HOW}.")
        found = next((sign for sign in ("|", ";", "\t", ",") if text.count(sign) >= len(names) - 1), "|")
        if text.endswith(found) and text.count(found) == len(names):
            names.append("")
    else:
        if delimiter is None or (delimiter.group().isspace() and "\t" not in delimiter.group()):
            raise WorkloadError(f"{where} isn't sacct's --parsable2 output (fields in fixed widths are cut); {HOW}.")
        found = delimiter.group()
        names = text.split(found)
    lower = [name.strip().lower() for name in names]
    if not {"jobid", "jobidraw"} & set(lower):
        hint = "" if fields is None else " in fields"
        raise WorkloadError(
            f"{where}: its first line, {text[:60]!r}, names no JobID{hint}: without a line of titles give the names by "
            f"fields=[JobID,...]; if it isn't sacct's output, {HOW}."
        )
    twice = [name for name in lower if name and lower.count(name) > 1]
    if twice:
        raise OptionError(f"{where}: the field '{twice[0]}' occurs twice; ask sacct for each field once.")
    return lower, found, Block(block.line + (fields is None), rest)


def _parse(block: Block, names: list[str], delimiter: str, where: str) -> tuple[pa.Table, list[str]]:
    """Parse whole lines; lines with too many or too few fields are returned as they are."""
    kept = [name or "_end" for name in names]
    broken: list[str] = []
    if not block.text.strip():
        return pa.table([pa.array([], pa.string()) for _ in kept], names=kept), broken
    text = block.text
    try:
        text.decode()
    except UnicodeDecodeError:  # a name in an old encoding; written out, so that different names stay different
        text = text.decode("utf-8", "backslashreplace").encode()
    if len(delimiter) > 1:  # Arrow knows delimiters of one character only
        text, delimiter = text.replace(delimiter.encode(), b"\x1f"), "\x1f"

    def refuse(row: csv.InvalidRow) -> str:
        broken.append(row.text.rstrip("\r"))
        return "skip"

    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(column_names=kept, block_size=max(len(text), 1 << 20), use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False, invalid_row_handler=refuse),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(kept, pa.string()), check_utf8=False),
        )
    except pa.ArrowInvalid as error:
        raise WorkloadError(f"{where}, after line {block.line}: {str(error).splitlines()[0].rstrip('.')}.") from error
    return table, broken


def join(pieces: list[str], names: list[str]) -> list[str] | None:
    """Join the pieces of a row whose free texts hold delimiters, if there is one way only that fits all fields.

    Parameters
    ----------
    pieces : list of str
        The row, cut at every delimiter.
    names : list of str
        Lower-case names of the fields.

    Returns
    -------
    list of str or None
        One text per field; None if no way fits, or several that differ in a field that isn't free text.
    """
    extra = len(pieces) - len(names)
    free = [place for place, name in enumerate(names) if name in FREE]
    if extra <= 0 or not free:
        return None
    found: dict[tuple[str, ...], list[str]] = {}
    for tried, bars in enumerate(combinations(range(extra + len(free) - 1), len(free) - 1)):
        if tried == WAYS:
            return None
        edges = (-1, *bars, extra + len(free) - 1)
        share = dict(zip(free, (b - a - 1 for a, b in pairwise(edges)), strict=True))
        row, at = [], 0
        for place in range(len(names)):
            width = 1 + share.get(place, 0)
            row.append("|".join(pieces[at : at + width]))
            at += width
        if all(name not in SHAPES or re.fullmatch(SHAPES[name], text) for name, text in zip(names, row, strict=True)):
            fixed = tuple(text for name, text in zip(names, row, strict=True) if name not in FREE)
            found.setdefault(fixed, row)
    return next(iter(found.values())) if len(found) == 1 else None


def _from_json(text: bytes, where: str, wanted: Sequence[str], keep: Keep) -> Rows:
    try:
        jobs = json.loads(text)["jobs"]
        rows = [_of_json(job) for job in jobs]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WorkloadError(f"{where} isn't the output of `sacct --json` (squeue's doesn't tell runtimes).") from error
    names = [name for name in wanted if any(name in row for row in rows)]
    table = pa.table([pa.array([row.get(name) for row in rows], pa.string()) for name in names], names=names)
    return Rows(table.filter(keep(table)), _lists(table), 0, [], [])


def _of_json(job: dict[str, Any]) -> dict[str, str | None]:
    """Return the fields of one job of ``sacct --json`` under the names of ``--format``."""
    time, array = job["time"], job["array"]
    state = job["state"]["current"]
    offset = _plain(job.get("het", {}).get("job_offset"))
    task = _plain(array.get("task_id"))
    shown = str(job["job_id"])
    if _plain(array.get("job_id")) and task is not None:
        shown = f"{_plain(array['job_id'])}_{task}"
    elif _plain(job.get("het", {}).get("job_id")) and offset is not None:
        shown = f"{_plain(job['het']['job_id'])}+{offset}"
    limit = time.get("limit")
    endless = isinstance(limit, dict) and limit.get("infinite")
    fields = {
        "jobidraw": job["job_id"],
        "jobid": shown,
        "user": job.get("user") or job["association"].get("user"),
        "account": job.get("account"),
        "partition": job.get("partition"),
        "state": " ".join(state) if isinstance(state, list) else state,
        "submit": _plain(time["submission"]) or None,
        "eligible": _plain(time.get("eligible")) or None,
        "start": _plain(time["start"]) or None,
        "end": _plain(time["end"]) or None,
        "elapsedraw": _plain(time["elapsed"]),
        "timelimitraw": "UNLIMITED" if endless or limit is None else _plain(limit),
        "allocnodes": _plain(job.get("allocation_nodes")),
        "nodelist": job.get("nodes"),
        "priority": _plain(job.get("priority")),
        "alloctres": _tres(job["tres"]["allocated"]),
        "reqtres": _tres(job["tres"]["requested"]),
    }
    return {name: None if value is None else str(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    """Return a number of the JSON, which later versions wrap as ``{"set": true, "infinite": false, "number": 5}``."""
    return (value["number"] if value.get("set") else None) if isinstance(value, dict) else value


def _tres(items: list[dict[str, Any]]) -> str:
    named = ((item["type"], item.get("name"), item.get("count")) for item in items)
    return ",".join(f"{kind}/{name}={count}" if name else f"{kind}={count}" for kind, name, count in named if count)
