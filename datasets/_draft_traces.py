"""Utilisation traces of a look-alike: a level for each job, phases about it, a slow start, and noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

PERIODS = (6, 120)
"""Shortest and longest period of the phases, samples."""


def positions(lengths: Ints) -> Ints:
    """Number the samples of every job from 0; shape (lengths.sum(),)."""
    offsets = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)


def utilisation(
    rng: np.random.Generator, lengths: Ints, low: float, high: float, noise: float = 0.03, ramp: int = 2
) -> Floats:
    """Draw how busy a device is over each job.

    Every job has a level, evenly between two bounds; it works in phases, a square wave about that level with a share of
    quiet time of its own, as codes do that alternate between computing and communication; it needs a few samples to get
    going; and every sample has noise.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    lengths : ndarray of int64, shape (J,)
        Samples of each job.
    low, high : float
        Bounds of the levels, fractions of the device's maximum.
    noise : float
        Standard deviation of the noise.
    ramp : int
        Samples until the level is reached.

    Returns
    -------
    ndarray of float32, shape (lengths.sum(),)
        Fractions; noise may carry some below 0 or above 1, as it does in measured data.
    """
    jobs = len(lengths)
    level = rng.uniform(low, high, jobs).astype(np.float32)
    depth = rng.beta(1.0, 3.0, jobs).astype(np.float32)
    quiet = rng.uniform(0.05, 0.5, jobs).astype(np.float32)
    period = np.exp(rng.uniform(np.log(PERIODS[0]), np.log(PERIODS[1]), jobs)).astype(np.float32)
    at = positions(lengths).astype(np.float32)
    phase = at / np.repeat(period, lengths)
    phase -= np.floor(phase)
    values = np.repeat(level, lengths)
    values *= 1 - np.repeat(depth, lengths) * (phase < np.repeat(quiet, lengths))
    values *= np.minimum((at + 1) / (ramp + 1), 1)
    values += noise * rng.standard_normal(len(at), dtype=np.float32)
    return values
