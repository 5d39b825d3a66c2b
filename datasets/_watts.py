"""From measured watts to how busy a device is, and to what was not measured: the GPUs of a node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.system import Node

Floats = npt.NDArray[np.float32]


def busy(watts: npt.NDArray[Any], devices: int, idle_w: float, max_w: float) -> npt.NDArray[Any]:
    """Return how busy the devices of a node are: (P / N - idle) / (max - idle), not clipped.

    Parameters
    ----------
    watts : ndarray
        Power of all devices of that kind in one node, W.
    devices : int
        How many there are, N.
    idle_w, max_w : float
        Power of one, idle and fully used, W.

    Returns
    -------
    ndarray
        Fractions: 0 idle, 1 fully used.
    """
    return (watts - devices * idle_w) / (devices * (max_w - idle_w))


def cpu_busy(watts: npt.NDArray[Any], node: Node) -> npt.NDArray[Any]:
    """Return how busy the CPUs are by the power of all CPUs of one node, W."""
    return busy(watts, node.cpus, node.cpu_idle_w, node.cpu_max_w)


def gpu_busy(watts: npt.NDArray[Any], node: Node) -> npt.NDArray[Any]:
    """Return how busy the GPUs are by the power of all GPUs of one node, W."""
    return busy(watts, node.gpus, node.gpu_idle_w, node.gpu_max_w)


def gpu_watts(whole: npt.NDArray[Any], cpu: npt.NDArray[Any], memory: npt.NDArray[Any], node: Node) -> npt.NDArray[Any]:
    """Return what the GPUs of one node draw, where that isn't metered: what CPUs, memory, NICs and storage leave.

    All in W per node; NICs and storage are taken as constants of the system.
    """
    left: npt.NDArray[Any] = whole - cpu - memory - (node.nics * node.nic_idle_w + node.nvme_w)
    return left


def positive(watts: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return power with 0 in place of what is negative, which no node gives back, and where that was."""
    wrong = watts < 0
    return np.maximum(watts, 0).astype(np.float32, copy=False), wrong


def fraction(values: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return values cut to 0..1 (NaN stays), and which were outside."""
    outside = (values < 0) | (values > 1)
    return np.clip(values, 0, 1).astype(np.float32, copy=False), outside
