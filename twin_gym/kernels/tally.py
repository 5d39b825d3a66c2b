"""What an environment adds up while time passes, and the objectives that are read off it.

An objective is a function of the sums so far, so the reward of a step is the difference of its values before and after:
over an episode the differences add up to the value at the end, whatever happened between.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.jit import inner, kernel
from twin_gym.kernels.state import UNKNOWN

BOUND = 10.0  # of the bounded slowdown, s

TALLY = np.dtype(
    [
        ("begin", np.float64),  # when the episode began, s
        ("clock", np.float64),  # up to when time is counted, s
        ("started", np.float64),  # jobs
        ("wait", np.float64),  # s, of all started jobs
        ("turnaround", np.float64),  # s
        ("slowdown", np.float64),
        ("bounded", np.float64),
        ("area", np.float64),  # node-seconds of all started jobs
        ("response", np.float64),  # the same, each times its turnaround, s
        ("busy", np.float64),  # node-seconds held so far
        ("queued", np.float64),  # job-seconds waited so far
        ("energy", np.float64),  # believed, J
        ("peak", np.float64),  # believed, W
        ("excess", np.float64),  # energy above the target power, J
        ("square", np.float64),  # sum over users of (sum of their bounded slowdowns / their jobs)^2
        ("linear", np.float64),  # sum over users of (sum of their bounded slowdowns / their jobs)
        ("users", np.float64),  # with a started job
        ("invalid", np.float64),  # actions that could not be done
        ("cooling", np.float64),  # energy of the cooling plant, J
        ("cost", np.float64),  # integral of power times price per kWh, W s
        ("carbon", np.float64),  # of power times carbon intensity, W s g/kWh
        ("ramp", np.float64),  # largest change between the mean powers of two minutes in succession, W
        ("thermal", np.float64),  # K s that the CDUs' supply was above its limit
    ]
)
# A user's started jobs, the sum of their bounded slowdowns, the nodes that they hold now, the jobs that wait (working
# space), and the believed node-seconds of those that started.
SHARE = np.dtype([(name, np.float64) for name in ("jobs", "bounded", "nodes", "queued", "work")])

# Objectives, in the order of `objectives`.
NAMES = (
    "wait",
    "turnaround",
    "slowdown",
    "bounded_slowdown",
    "awrt",
    "utilization",
    "throughput",
    "queue",
    "energy",
    "peak_power",
    "excess_power",
    "fairness",
    "invalid",
    "cost",
    "carbon",
    "ramp",
    "thermal",
)
METERED = ("cost", "carbon", "ramp", "thermal")  # known only where power is metered
COUNT = len(NAMES)


@inner()
def clear(total, clock):
    """Begin an episode."""
    total.begin = total.clock = clock
    total.started = total.wait = total.turnaround = total.slowdown = total.bounded = 0.0
    total.area = total.response = total.busy = total.queued = total.energy = total.peak = total.excess = 0.0
    total.square = total.linear = total.users = total.invalid = 0.0
    total.cooling = total.cost = total.carbon = total.ramp = total.thermal = 0.0


@inner(forceinline=True)
def is_initial(who, jobs, setup):
    """Tell whether a job ran already when the clock began, so that nobody decides on it."""
    if who < setup.before:
        return UNKNOWN < jobs.recorded_start[setup.first + who] < setup.clock
    return jobs.initial[setup.first + who] != 0


@inner()
def tally_start(who, jobs, setup, row):
    """Count a job that has just started, in full: how long it will run is known to nobody but the tally."""
    if row.share.shape[0] > 0:
        row.share[jobs.user[setup.first + who]].nodes += row.job[who].nodes
    if not is_initial(who, jobs, setup):
        count_job(who, 1.0, jobs, setup, row)


@inner()
def count_job(who, sign, jobs, setup, row):
    """Count a job (1), or take back what was counted of one that was killed (-1)."""
    total, job = row.tally[0], row.job
    wait = np.float64(job[who].start - job[who].submit)
    if row.boot.shape[0] > 0:
        wait += row.boot[who]
    run = np.float64(job[who].end - job[who].start)
    bounded = max((wait + run) / max(run, BOUND), 1.0)
    area = sign * run * job[who].nodes
    total.started += sign
    total.wait += sign * wait
    total.turnaround += sign * (wait + run)
    total.slowdown += sign * ((wait + run) / max(run, 1.0))
    total.bounded += sign * bounded
    total.area += area
    total.response += area * (wait + run)
    if row.share.shape[0] > 0:
        user = row.share[jobs.user[setup.first + who]]
        before = user.bounded / max(user.jobs, 1.0)
        total.users -= min(user.jobs, 1.0)
        user.jobs += sign
        user.bounded += sign * bounded
        user.work += sign * np.float64(job[who].plan) * job[who].nodes
        total.users += min(user.jobs, 1.0)
        after = user.bounded / max(user.jobs, 1.0)
        total.linear += after - before
        total.square += after * after - before * before


@inner()
def log_load(time, row):
    """Note what is drawn up to a time; what stays the same is one entry."""
    sim, loads = row.sim[0], row.loads
    last = sim.loads - 1
    if last >= 0 and (loads[last].watts == sim.drawn or sim.loads == loads.shape[0]):
        loads[last].until = time
        return
    loads[sim.loads].until = time
    loads[sim.loads].watts = sim.drawn
    sim.loads += 1


@inner(forceinline=True)
def tally_time(time, setup, row):
    """Count what holds from the clock to a later time."""
    total, sim = row.tally[0], row.sim[0]
    elapsed = np.float64(time - sim.clock)
    power = setup.idle_watts + sim.drawn
    total.busy += elapsed * (setup.nodes - sim.free)
    total.queued += elapsed * (sim.end - sim.first)
    total.energy += elapsed * power
    total.excess += elapsed * max(power - setup.target_watts, 0.0)
    total.peak = max(total.peak, power)
    if row.loads.shape[0] > 0 and time > sim.clock:
        log_load(time, row)
    total.clock = np.float64(time)


@kernel()
def objectives(total, setup, out):
    """Write the value of every objective so far.

    Parameters
    ----------
    total : TALLY record
    setup : SETUP record
    out : (COUNT,) float64
        Mean wait [s], mean turnaround [s], mean slowdown and mean bounded slowdown over all jobs of the episode (a job
        that has not started counts 0); AWRT [s]; utilization [0, 1]; started jobs/h; mean queue length; energy [kWh];
        highest power [kW]; energy above the target power [kWh]; Jain's index of the users' mean bounded slowdowns;
        invalid actions; cost [currency]; carbon [kg CO2]; largest change of power [kW/min]; supply above its limit
        [K h].
    """
    count = np.float64(max(setup.counted, 1))
    elapsed = max(total.clock - total.begin, 1.0)
    out[0] = total.wait / count
    out[1] = total.turnaround / count
    out[2] = total.slowdown / count
    out[3] = total.bounded / count
    out[4] = total.response / total.area if total.area > 0.0 else 0.0
    out[5] = total.busy / (elapsed * setup.nodes)
    out[6] = 3600.0 * total.started / elapsed
    out[7] = total.queued / elapsed
    out[8] = (total.energy + total.cooling) / 3.6e6
    out[9] = total.peak / 1e3
    out[10] = total.excess / 3.6e6
    out[11] = total.linear * total.linear / (total.users * total.square) if total.square > 0.0 else 0.0
    out[12] = total.invalid
    out[13] = total.cost / 3.6e6
    out[14] = total.carbon / 3.6e9
    out[15] = total.ramp / 1e3
    out[16] = total.thermal / 3600.0
