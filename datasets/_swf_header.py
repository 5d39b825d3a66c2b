"""The header of a log in the Standard Workload Format: comments of the form ``; Key: value``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

STANDARD = frozenset(
    [
        "Version",
        "Computer",
        "Installation",
        "Acknowledge",
        "Information",
        "Conversion",
        "MaxJobs",
        "MaxRecords",
        "Preemption",
        "UnixStartTime",
        "TimeZone",
        "TimeZoneString",
        "StartTime",
        "EndTime",
        "MaxNodes",
        "MaxProcs",
        "MaxRuntime",
        "MaxMemory",
        "AllowOveruse",
        "MaxQueues",
        "Queues",
        "Queue",
        "MaxPartitions",
        "Partitions",
        "Partition",
        "Note",
        "User",
        "Group",
        "Unit",
    ]
)
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
    """Name numbers as a header value does; a number without a name, or with one that isn't its alone, shows as itself."""
    named = numbered(value)
    numbers = list(digits)
    names = [named.get(int(number), number) for number in numbers]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(
        name if names.count(name) == 1 else f"{name} ({number})" for name, number in zip(names, numbers, strict=True)
    )
