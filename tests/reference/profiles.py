"""What the scheduler believes of the future, in plain Python: free nodes by count, or node by node around outages."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable


class CountProfile:
    """Steps of free nodes, as CQSim keeps them.

    Parameters
    ----------
    now : int
        Time of the first step, s.
    free : int
        Free nodes now.
    running : iterable of (int, int)
        Believed end and nodes of the running jobs, in the order of (believed end, start).
    """

    def __init__(self, now: int, free: int, running: Iterable[tuple[int, int]]) -> None:
        self.now = now
        self.times = [now]
        self.free = [free]
        for end, nodes in running:
            free += nodes
            # the first job opens a step of its own even when it is about to end now
            if len(self.times) > 1 and end == self.times[-1]:
                self.free[-1] = free
            else:
                self.times.append(end)
                self.free.append(free)

    def fits(self, nodes: int, length: int) -> bool:
        """Tell whether a job could run from now on."""
        end = self.now + length
        return all(free >= nodes for time, free in zip(self.times, self.free, strict=True) if time < end)

    def place(self, nodes: int, length: int, first: int = 0) -> int:
        """Reserve nodes in the earliest step (not before the step `first`) and return its index."""
        step = first
        while True:
            end = self.times[step] + length
            during = range(step, bisect_left(self.times, end))
            short = [k for k in during if self.free[k] < nodes]
            if not short:
                break
            step = short[0] + 1
        last = during[-1]
        for k in range(step, last + 1):
            self.free[k] -= nodes
        if last + 1 == len(self.times) or self.times[last + 1] != end:
            self.times.insert(last + 1, end)
            self.free.insert(last + 1, self.free[last] + nodes)
        return step


class NodeProfile:
    """Steps of the sets of nodes that are believed free.

    Parameters
    ----------
    now : int
        Time of the first step, s.
    nodes : int
        Size of the machine.
    held : iterable of (set of int, int, int)
        Nodes held by running jobs and outages, from when (inclusive) to when (exclusive) by belief.
    """

    def __init__(self, now: int, nodes: int, held: Iterable[tuple[set[int], int, int]]) -> None:
        held = list(held)
        edges = {time for _, start, end in held for time in (start, end) if time > now}
        self.times = [now, *sorted(edges)]
        self.free = [
            set(range(nodes)) - {node for ids, start, end in held if start <= time < end for node in ids}
            for time in self.times
        ]

    def available(self, step: int, length: int) -> set[int]:
        """Return the nodes that are free from the start of a step for a time."""
        end = self.times[step] + length
        free = [self.free[k] for k in range(step, len(self.times)) if self.times[k] < end]
        return set.intersection(*free)

    def place(self, nodes: int, length: int, choose: Callable[[set[int]], set[int]]) -> tuple[int, set[int]] | None:
        """Reserve nodes in the earliest step; return its index and the nodes, or None if there is no such step."""
        for step, time in enumerate(self.times):
            available = self.available(step, length)
            if len(available) < nodes:
                continue
            chosen = choose(available)
            end = time + length
            last = max(k for k in range(len(self.times)) if self.times[k] < end)
            if last + 1 == len(self.times) or self.times[last + 1] != end:
                self.times.insert(last + 1, end)
                self.free.insert(last + 1, set(self.free[last]))
            for k in range(step, last + 1):
                self.free[k] -= chosen
            return step, chosen
        return None

    def take(self, nodes: set[int]) -> None:
        """Remove the nodes of a job that starts, for good."""
        for free in self.free:
            free -= nodes


def lowest(free: set[int], count: int) -> set[int]:
    """Return the lowest free nodes."""
    return set(sorted(free)[:count])


def contiguous(free: set[int], count: int) -> set[int]:
    """Return runs of neighbours, each the smallest that suffices for the rest, else the largest."""
    runs: list[list[int]] = []
    for node in sorted(free):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    nodes: set[int] = set()
    while len(nodes) < count:
        rest = count - len(nodes)
        enough = [run for run in runs if len(run) >= rest]
        # both keep the first, that is the lowest, of equals
        run = min(enough, key=len) if enough else max(runs, key=len)
        runs.remove(run)
        nodes.update(run[:rest])
    return nodes
