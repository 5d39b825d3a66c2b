"""Aurora (ALCF): its public job log, a table of the family that the loader ``alcf`` reads, on the system ``aurora``.

Data: https://reports.alcf.anl.gov/data/aurora.html, ``ANL-ALCF-DJC-AURORA_<first day>_<last day>.csv(.gz)``. There is
neither power nor utilisation in it, so that jobs have no traces. Jobs are numbered by the number in JOB_NAME; sizes are
NODES_REQUESTED. Times carry no zone; they are taken as UTC. Verified on the schema and on hand-made rows, not on the
full file.
"""

from __future__ import annotations

from dataclasses import replace

from twin_gym.system import System
from twin_gym.workload import Workload

from . import alcf
from ._files import Paths
from ._text import Progress
from ._window import Window


def load(
    path: Paths,
    *,
    window: Window = None,
    time_zone: str = "UTC",
    with_nodes: bool = True,
    system: str = "aurora",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read one or more files of Aurora's jobs.

    Parameters
    ----------
    path : path or list of paths
        Files (plain or ``.gz``), a pattern, or a folder of them.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    time_zone : str
        Zone of the times.
    with_nodes : bool
        Whether to read the names of the nodes.
    system : str
        System whose size is the machine's.
    missing_requests, strict, progress
        As in the loader ``alcf``.

    Returns
    -------
    Workload
        See the loader ``alcf``.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    workload = alcf.load(
        path,
        window=window,
        time_zone=time_zone,
        with_nodes=with_nodes,
        capacity=System.load(system).nodes,
        missing_requests=missing_requests,
        strict=strict,
        progress=progress,
    )
    return replace(workload, name="Aurora")
