"""Recorded node numbers: kept where they can be true, forgotten where they can't."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twin_gym.workload import Ragged

from ._lists import Rows, offsets
from ._notes import Notes


def settle(given: Rows, nodes: npt.NDArray[np.int32 | np.int64], total: int, notes: Notes) -> Ragged | None:
    """Check recorded node numbers.

    Parameters
    ----------
    given : Rows
        Node numbers of J jobs; none where not recorded.
    nodes : ndarray of int32 or int64, shape (J,)
        Nodes of each job.
    total : int
        Places in the racks; numbers run from 0 to ``total - 1``.
    notes : Notes
        Of these J jobs; takes the jobs whose list was forgotten.

    Returns
    -------
    Ragged of int32 or None
        The numbers of jobs whose list is as long as they are large, names existing places, and each of them once. None
        if no job has any.
    """
    jobs = len(given.lengths)
    job = np.repeat(np.arange(jobs), given.lengths)
    values = given.values
    if values.dtype.kind == "f":
        values = np.where(np.isfinite(values), values, -1)
    values = values.astype(np.int64)
    recorded = given.lengths > 0
    bad = recorded & (given.lengths != nodes)
    bad[job[(values < 0) | (values >= total)]] = True
    key = np.sort(job * np.int64(total + 2) + np.clip(values, -1, total) + 1)
    bad[key[1:][key[1:] == key[:-1]] // (total + 2)] = True
    notes.note("node_list", bad, nodes=nodes, listed=given.lengths)
    good = recorded & ~bad
    if not good.any():
        return None
    return Ragged(values[np.repeat(good, given.lengths)].astype(np.int32), offsets(np.where(good, given.lengths, 0)))
