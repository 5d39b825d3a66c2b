"""Every statistic of a schedule as a small pure function of arrays, with its formula and its source.

Symbols, all times in s: w wait (start - submit), r runtime (end - start), T turnaround (end - submit = w + r, the
literature's response time); n nodes. Arrays have the shape (J,), one value for each job. What is undefined, such as the
mean of nothing, is None and never NaN, so that every number can be written as JSON.

Sources: [Feitelson 2001] "Metrics for parallel job scheduling and their convergence", JSSPP; [Goponenko 2022] "Metrics
for packing efficiency and fairness of HPC cluster batch job scheduling", SBAC-PAD; [Jain 1984] "A quantitative measure
of fairness and discrimination", DEC TR-301.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.floating[Any]]
Numbers = Ints | Floats


class Spread(NamedTuple):
    """Mean, median, 95th percentile and maximum; None where there is nothing to take them of."""

    mean: float | None
    median: float | None
    p95: float | None
    max: float | None


def spread(values: Numbers) -> Spread:
    """Describe a distribution; percentiles are interpolated linearly between the two nearest values."""
    if len(values) == 0:
        return Spread(None, None, None, None)
    median, p95 = np.quantile(values, (0.5, 0.95))
    return Spread(float(values.mean(dtype=np.float64)), float(median), float(p95), float(values.max()))


def slowdown(wait: Ints, runtime: Ints) -> Floats:
    """T / r: how much longer a job took than on an empty machine [Feitelson 2001]; NaN where r = 0."""
    ratio: Floats = np.full(len(runtime), np.nan)
    np.divide(np.add(wait, runtime, dtype=np.float64), runtime, out=ratio, where=runtime > 0)
    return ratio


def bounded_slowdown(wait: Ints, runtime: Ints, tau: float = 10.0) -> Floats:
    """max(1, T / max(r, tau)): a slowdown that very short jobs don't dominate [Feitelson 2001].

    Parameters
    ----------
    wait, runtime : (J,) int
        s.
    tau : float
        Runtime below which a job counts as this long, s.
    """
    turnaround = np.add(wait, runtime, dtype=np.float64)
    turnaround /= np.maximum(runtime, tau)
    return np.maximum(turnaround, 1.0, out=turnaround)


def awrt(nodes: Ints, runtime: Ints, turnaround: Ints) -> float | None:
    """sum(n r T) / sum(n r): area-weighted response time [Goponenko 2022], s.

    It does not depend on how work is cut into jobs, and falls only if the machine is packed better or earlier.
    """
    area = np.multiply(nodes, runtime, dtype=np.float64)
    total = area.sum()
    if not total > 0:
        return None
    area *= turnaround
    return float(area.sum() / total)


def psrt(nodes: Ints, wait: Ints, turnaround: Ints) -> float | None:
    """3 sum(n (T^4 - w^4)) / (4 sum(n (T^3 - w^3))): priority-weighted specific response time [Goponenko 2022], s.

    The weight of a job's node-seconds grows with its age, so that leaving old jobs behind costs more than AWRT shows.
    """
    late = turnaround.astype(np.float64)
    early = wait.astype(np.float64)
    # T^k - w^k = (T - w)(...): the direct difference loses all digits where a long wait precedes a short run
    area = (late - early) * nodes
    squares = late * late
    cube = squares + late * early
    early_squares = early * early
    cube += early_squares
    cube *= area
    weight = cube.sum()
    if not weight > 0:
        return None
    late += early
    squares += early_squares
    late *= squares
    late *= area
    return float(3.0 * late.sum() / (4.0 * weight))


def node_seconds(start: Ints, end: Ints, nodes: Ints | int, begin: int, finish: int) -> float:
    """sum(n (end - start)), of which only what lies between `begin` and `finish` counts, node-s."""
    held = np.minimum(end, finish)
    held -= np.maximum(start, begin)
    np.maximum(held, 0, out=held)
    return float(np.multiply(held, nodes, dtype=np.float64).sum())


def utilization(busy: float, nodes: int, makespan: float) -> float | None:
    """Busy node-seconds / (nodes * makespan), between 0 and 1; nodes that are down count as idle."""
    return busy / (nodes * makespan) if nodes * makespan > 0 else None


def throughput(jobs: int, makespan: float) -> float | None:
    """Jobs finished per hour of makespan, 1/h."""
    return 3600.0 * jobs / makespan if makespan > 0 else None


def mean_by(codes: Ints, values: Numbers, groups: int) -> Floats:
    """Mean of the values of each group that has any.

    Parameters
    ----------
    codes : (J,) int
        Group of each value; a negative code belongs to none.
    values : (J,) number
    groups : int
        Codes lie below this.

    Returns
    -------
    (g,) float64
        In the order of the codes, without groups that are empty.
    """
    known = codes >= 0
    if not known.all():
        codes, values = codes[known], values[known]
    count = np.bincount(codes, minlength=groups)
    total = np.bincount(codes, weights=values, minlength=groups)
    return total[count > 0] / count[count > 0]


def jain(values: Floats) -> float | None:
    """(sum x)^2 / (g sum x^2): Jain's fairness index [Jain 1984]; 1 if all are equal, 1/g if one has everything."""
    squares = float(np.square(values).sum())
    return float(values.sum() ** 2 / (len(values) * squares)) if squares > 0 else None


def size_edges(largest: int) -> Ints:
    """Upper bounds of the job-size classes 1, 2, 3-4, 5-8, 9-16 ... nodes, up to the one that holds `largest`."""
    return 2 ** np.arange(max(int(largest) - 1, 0).bit_length() + 1)


def size_classes(nodes: Ints, edges: Ints) -> Ints:
    """Return the index of the class of each job: the first whose upper bound is at least n."""
    return np.searchsorted(edges, nodes, side="left")


def size_names(edges: Ints) -> list[str]:
    """Names of size classes, such as ``1``, ``2``, ``3_4``, ``5_8``."""
    lower = [1, *(int(edge) + 1 for edge in edges[:-1])]
    return [str(low) if low == high else f"{low}_{high}" for low, high in zip(lower, map(int, edges), strict=True)]
