"""How fast jobs run when a power cap slows them: all at one frequency, the highest that keeps the cap.

At the share f of the full frequency jobs draw f^exponent of their power above idle, and do
1 / (sensitivity / f + 1 - sensitivity) of their work. As all are slowed alike, the order of their ends never changes:
ends are kept in milliseconds of work done at full speed, and one clock of work says when the first of them comes.
"""

from __future__ import annotations

import math

import numpy as np

from twin_gym.kernels.jit import inner

MILLI = 1000  # of a second


@inner()
def frequency_of(setup, drawn):
    """Return the highest share of the full frequency, not below the lowest, at which jobs keep the limit."""
    if drawn <= setup.limit:
        return 1.0
    return max(math.pow(setup.limit / drawn, 1.0 / setup.exponent), setup.floor)


@inner(forceinline=True)
def rate_of(setup, frequency):
    """Return how much work is done, as a share of that at full frequency."""
    return 1.0 / (setup.sensitivity / frequency + 1.0 - setup.sensitivity)


@inner()
def time_of_end(setup, row):
    """Return when the running job that ends first will, if nothing changes, s."""
    sim = row.sim[0]
    rate = rate_of(setup, frequency_of(setup, sim.drawn))
    return sim.clock + np.int64(math.ceil(max(row.heap[0].time - sim.work, 0) / (MILLI * rate)))


@inner()
def work_on(time, setup, row):
    """Let jobs work from the clock to a later time, and note their frequency if it is another than before."""
    sim = row.sim[0]
    frequency = frequency_of(setup, sim.drawn)
    sim.work += np.int64(np.rint(MILLI * rate_of(setup, frequency) * (time - sim.clock)))
    if sim.paces == 0 or row.paces[sim.paces - 1].frequency != frequency:
        row.paces[sim.paces].time = sim.clock
        row.paces[sim.paces].frequency = frequency
        sim.paces += 1
