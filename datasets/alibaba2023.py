"""Alibaba's GPU cluster trace of 2023: 8,152 pods on 1,213 machines with 6,212 GPUs.

Data: https://github.com/alibaba/clusterdata, ``cluster-trace-gpu-v2023/csv``; Q. Weng and others, "Beware of
fragmentation: scheduling GPU-sharing workloads with fragmentation gradient descent", USENIX ATC 2023. Times are seconds
since an instant that isn't told. Verified on the full files.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import UNKNOWN, Status, Workload

from ._columns import names, whole
from ._csv import NAME, NUMBER, TEXT, blocks
from ._foreign import finish
from ._notes import Notes
from ._text import Progress
from ._window import Window, cut, span_of

Ints = npt.NDArray[np.int64]

PODS = "openb_pod_list_default.csv"
NODES = "openb_node_list_gpu_node.csv"
WHOLE = 1000
"""`gpu_milli` of a whole GPU."""
NEEDED = dict.fromkeys(("num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time"), NUMBER) | {
    "name": TEXT
}
OPTIONAL = {"cpu_milli": NUMBER, "memory_mib": NUMBER, "gpu_spec": NAME, "qos": NAME, "pod_phase": NAME}
ENDS = {"Succeeded": Status.COMPLETED, "Failed": Status.FAILED, "Running": Status.UNKNOWN, "Pending": Status.CANCELLED}


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    count: str = "gpu",
    capacity: int | None = None,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the list of pods, and beside it the list of machines.

    Parameters
    ----------
    path : path
        ``openb_pod_list_default.csv`` or another list of pods of this trace, or the folder that holds it. The list of
        machines is the file ``*openb_node_list*.csv`` in the same folder, if there is one.
    window : pair of numbers, optional
        Only pods that were submitted, waiting or running between two instants, seconds of the trace.
    count : {"gpu", "pod"}
        What sizes count: GPUs, of which a share counts as one (``unit="processor"``), pods without GPUs left out; or
        every pod as one.
    capacity : int, optional
        Size of the cluster; default: the GPUs of the list of machines, with ``count="gpu"``.
    missing_requests, strict
        As in `Workload.build`. No pod told how long it would run: requested times are runtimes.
    progress : callable, optional
        Called with the pods read, and of all.

    Returns
    -------
    Workload
        `partition` is the pod's quality of service, `extra` holds ``num_gpu``, ``gpu_milli`` (thousandths of each GPU
        asked for), ``cpu_milli``, ``memory_mib`` and the pod's name as ``pod``. Pods that were deleted before they were
        scheduled are left out; of those that still ran the trace tells an end, which is taken.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no pod is left.
    OptionError
        If `count` or `window` has an unknown value.
    """
    if count not in ("gpu", "pod"):
        raise OptionError(f"count={count!r} must be 'gpu' or 'pod'.")
    span = span_of(window)
    file = _pods(Path(path))
    where = str(file)
    batches = list(blocks(file, NEEDED, OPTIONAL, what="Alibaba's list of pods"))
    if not batches:
        raise WorkloadError(f"{where} holds titles but no pods; check that it was fetched completely.")
    table = pa.Table.from_batches(batches)
    if progress is not None:
        progress(len(table), len(table))
    digits = pc.struct_field(pc.extract_regex(table["name"], r"(?P<n>\d{1,15})$"), "n")
    ids = np.asarray(digits.cast(pa.int64()).fill_null(UNKNOWN))
    notes = Notes(ids, where)
    submit, start, end = (whole(table, name, where) for name in ("creation_time", "scheduled_time", "deletion_time"))
    gpus = whole(table, "num_gpu", where)
    notes.drop("unfinished", start == UNKNOWN, created=submit)
    if count == "gpu":
        notes.drop("left_out", gpus == 0, gpus=gpus)
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    keep = np.flatnonzero(notes.kept)
    if not keep.size:
        raise WorkloadError(f"{where} holds no pod that can be used: {'; '.join(notes.report().lines)}.")
    phases = table["pod_phase"].to_pylist() if "pod_phase" in table.column_names else [None] * len(table)
    qos = names(table, "qos")
    extra = {
        name: np.maximum(whole(table, name, where), -1)[keep]
        for name in ("num_gpu", "gpu_milli", "cpu_milli", "memory_mib")
        if name in table.column_names
    }
    workload = Workload.build(
        missing_requests=missing_requests,
        id=ids[keep],
        submit=submit[keep],
        start=start[keep],
        runtime=np.where(ran, end - start, UNKNOWN)[keep],
        nodes=gpus[keep] if count == "gpu" else np.ones(len(keep), dtype=np.int64),
        partition=None if qos is None else qos.take(keep),
        status=np.array([ENDS.get(str(phase), Status.UNKNOWN) for phase in phases], dtype=np.int8)[keep],
        extra=extra | {"pod": table["name"].to_numpy()[keep].astype(np.str_)},
        capacity=capacity or (_gpus_of(file.parent) if count == "gpu" else None),
        unit="processor" if count == "gpu" else "node",
        name="alibaba2023",
        origin=where,
    )
    return finish(cut(workload, span), notes, strict)


def _pods(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob("*openb_pod_list*.csv"))
    default = [file for file in found if file.name.endswith(PODS)]
    if len(found) == 1 or default:
        return (default or found)[0]
    if found:
        raise WorkloadError(f"{path} holds {len(found)} lists of pods; give the path of one, such as {found[0].name}.")
    raise WorkloadError(f"{path} holds no {PODS}, which Alibaba's trace has; check the path.")


def _gpus_of(folder: Path) -> int | None:
    """Return the GPUs of all machines, if there is a list of them."""
    found = sorted(folder.glob("*openb_node_list*.csv"))
    if not found:
        return None
    file = next((file for file in found if file.name.endswith(NODES)), found[0])
    batches = blocks(file, {"gpu": NUMBER}, what="Alibaba's list of machines")
    return int(sum(pc.sum(batch["gpu"]).as_py() or 0 for batch in batches)) or None
