"""The Standard Workload Format itself: its fields, and its header of comments ``; Key: value``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from twin_gym.workload import UNITS

FIELDS = (
    "id", "submit", "wait", "runtime", "used_procs", "cpu_time", "memory", "requested_procs", "requested_time",
    "requested_memory", "status", "user", "group", "executable", "queue", "partition", "preceding_job", "think_time",
)  # fmt: skip
"""The 18 fields in their order; later ones, as in Alea's dialect, are skipped."""

KEPT = {
    "used_procs": "used_procs",
    "cpu_time": "cpu_time",
    "memory": "memory",
    "requested_memory": "requested_memory",
    "executable": "executable",
    "queue": "queue_number",
    "partition": "partition_number",
    "preceding_job": "preceding_job",
    "think_time": "think_time",
}
"""Fields that no column of a workload holds, and their names in `Workload.extra`, where any job has them."""

CALENDAR = 500_000_000
"""Submit times from here on (1985; no log lasts 16 years) are Unix times, not seconds since the log's begin."""

STANDARD = frozenset(
    {
        "Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion", "MaxJobs", "MaxRecords",
        "Preemption", "UnixStartTime", "TimeZone", "TimeZoneString", "StartTime", "EndTime", "MaxNodes", "MaxProcs",
        "MaxRuntime", "MaxMemory", "AllowOveruse", "MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions",
        "Partition", "Note", "User", "Group", "Unit",
    }
)  # fmt: skip
"""The standard's keys, and ours: User and Group name numbers as Queue does, Unit says what sizes count."""

KEYED = re.compile(r"\s*;(\s*)([A-Za-z]\w*)\s*:(?!//)\s*(.*)$")


def read_header(comments: Iterable[str]) -> dict[str, str]:
    """Return the values by key; those of repeated keys, and of lines that continue one, are joined by newlines."""
    values: dict[str, list[str]] = {}
    last = "Note"
    for comment in comments:
        text = comment.strip().removeprefix(";").strip()
        keyed = KEYED.match(comment)
        # a deeper indented line goes on with the value above, whatever colons it holds
        if keyed and ((len(keyed[1]) <= 1 and "\t" not in keyed[1]) or keyed[2] in STANDARD):
            last, text = keyed[2], keyed[3].strip()
        elif not text:
            continue
        values.setdefault(last, []).append(text)
    return {key: "\n".join(lines) for key, lines in values.items()}


def write_header(header: Mapping[str, str]) -> str:
    """Return the comments from which `read_header` reads the same header."""
    lines = []
    for key, value in header.items():
        label = key if re.fullmatch(r"[A-Za-z]\w*", key) else "Note"
        lines += [f"; {label}: {line.strip()}".rstrip() for line in value.splitlines() or [""]]
    return "".join(f"{line}\n" for line in lines)


def numbered(value: str) -> dict[int, str]:
    """Return the names in a header value such as ``1  express``, one per line, by number."""
    found = (re.match(r"\s*(\d+)\s+(\S.*)", line) for line in value.splitlines())
    return {int(entry[1]): entry[2].strip() for entry in found if entry}


def names_of(digits: Iterable[str], value: str) -> tuple[str, ...]:
    """Name numbers as a header value does; one without a name of its own shows as itself."""
    named = numbered(value)
    numbers = list(digits)
    names = [named.get(int(number), number) for number in numbers]
    if len(set(names)) == len(names):
        return tuple(names)
    times = Counter(names)
    pairs = zip(names, numbers, strict=True)
    return tuple(name if times[name] == 1 else f"{name} ({number})" for name, number in pairs)


def leading(text: str | None) -> int | None:
    """Return the positive number that a header value begins with, as in ``338 (batch partition; 512 total)``."""
    found = re.match(r"\s*(\d+)", text or "")
    return (int(found.group(1)) or None) if found else None


def unit_of(header: Mapping[str, str], titled: bool = False) -> str:
    """Return what sizes count by the header: nodes if it has as many nodes as processors, or only nodes."""
    if header.get("Unit") in UNITS:
        return header["Unit"]
    procs, nodes = leading(header.get("MaxProcs")), leading(header.get("MaxNodes"))
    return "node" if titled or (nodes is not None and procs in (None, nodes)) else "processor"
