"""Lists of nodes as batch systems write them, ``n[001-003,7]``, and node names as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.errors import WorkloadError
from twin_gym.workload import Workload

from ._lists import Rows
from ._notes import Notes
from ._places import settle


class Nodes(NamedTuple):
    """Node lists of J jobs as numbers: the place of each node in `names`."""

    rows: Rows
    names: tuple[str, ...]
    wrong: npt.NDArray[np.bool_]  # rows that hold something which is no list of nodes


@lru_cache(maxsize=1 << 16)
def expand(text: str) -> tuple[str, ...]:
    """Return the names that a list of nodes stands for, in its order of numbers.

    >>> expand("n[001-003,7]")
    ('n7', 'n001', 'n002', 'n003')

    Raises
    ------
    WorkloadError
        If it is no list of nodes.
    """
    complaint = f"{text!r} is no list of nodes; write it as n[001-003,7] or n1,n2."
    if not re.fullmatch(r"[\w.\-,\[\]]+", text):  # ClusterShell's operators and groups are no part of a log
        raise WorkloadError(complaint)
    if "[" not in text:  # most jobs: no parser needed
        names = tuple(name for name in text.split(",") if name)
        if not names or "]" in text:
            raise WorkloadError(complaint)
        return names
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # slow to import, needed for brackets

    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, AssertionError) as error:  # the latter for ranges beyond reason
        raise WorkloadError(complaint) from error


def numbered(texts: Sequence[str | None], others: Iterable[str | None] = ()) -> Nodes:
    """Expand lists of nodes and number the nodes.

    Parameters
    ----------
    texts : sequence of str or None
        One list per job; None or blank where nothing is recorded.
    others : iterable of str or None
        Lists of jobs that aren't wanted, so that a part of a log numbers nodes as the whole does.

    Returns
    -------
    Nodes
        Numbers are places in the natural order of all names that occur (``n2`` before ``n10``), from 0.
    """
    lists: dict[str, tuple[str, ...]] = {"": ()}
    wrong = set()
    for text in dict.fromkeys([*texts, *others]):
        try:
            lists[text or ""] = expand(text) if text else ()
        except WorkloadError:
            lists[text or ""] = ()
            wrong.add(text)
    names = tuple(sorted({name for nodes in lists.values() for name in nodes}, key=natural))
    place = {name: number for number, name in enumerate(names)}
    numbers = {text: np.array([place[name] for name in nodes], dtype=np.int32) for text, nodes in lists.items()}
    parts = [numbers[text or ""] for text in texts]
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    values = np.concatenate([np.empty(0, dtype=np.int32), *parts])
    return Nodes(Rows(values, lengths), names, np.array([text in wrong for text in texts], dtype=bool))


def placed(workload: Workload, nodes: Nodes, at: npt.NDArray[np.int64], where: str) -> Workload:
    """Give jobs their node numbers, and the header the names; lists that can't be true are forgotten and counted.

    Parameters
    ----------
    workload : Workload
        J jobs.
    nodes : Nodes
        Lists of the rows of the source.
    at : ndarray of int64, shape (J,)
        Row of each job.
    where : str
        What messages call the source.
    """
    if not nodes.names:
        return workload
    wrong, unfit = Notes(workload.id, where), Notes(workload.id, where)
    wrong.note("node_list", nodes.wrong[at])
    found = settle(nodes.rows.take(at), workload.nodes, len(nodes.names), unfit)
    header = {**workload.header, "nodes": ",".join(nodes.names)}
    return wrong.onto(unfit.onto(replace(workload, node_ids=found, header=header)))


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key by which digits count as numbers."""
    return [(int(part), part) if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", name)]
