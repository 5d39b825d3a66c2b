"""The order of the queue: the score of every ordering policy, larger first.

Scores use `math.pow`, `math.log2`, `math.log10` and `math.sqrt` in the order of operations in which the formulas are
written, so that they agree to the last bit with CPython's float arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from twin_gym.kernels.jit import inner, kernel
from twin_gym.kernels.queue import sort_queue
from twin_gym.kernels.state import CUT, REQUEST, RUNTIME

FCFS = 0
LCFS = 1
SJF = 2
LONGEST = 3
SMALLEST = 4
LARGEST = 5
SAF = 6
LAF = 7
SRF = 8
LRF = 9
SEXP = 10
LXF = 11
WFP1 = 12
WFP2 = 13
WFP3 = 14
UNICEP = 15
F1 = 16
F2 = 17
F3 = 18
F4 = 19
BAL = 20
PRIORITY = 21
MULTIFACTOR = 22
REPLAY = 23
RANDOM = 24
LOGLINEAR = 90
EXPONENTIAL = 91
MOVING = 100  # formulas that are added: numbers from 25 on, or from here on if their order changes as time passes


@kernel(forceinline=True)
def moves(policy):
    """Tell whether the order by this policy changes as time passes."""
    return SEXP <= policy <= UNICEP or policy == BAL or policy == MULTIFACTOR or policy >= LOGLINEAR


@kernel(forceinline=True)
def is_formula(policy):
    """Tell whether a score by this policy needs nothing but the job, the clock and the queue."""
    return policy <= BAL or (policy > RANDOM and policy != LOGLINEAR and policy != EXPONENTIAL)


@kernel()
def formula(policy, w, t, n, s, z, l):  # noqa: E741 - the letters of the published formulas
    """Score a waiting job by a policy that needs nothing but the job itself.

    Parameters
    ----------
    policy : int
        One of the constants of this module.
    w : int
        Wait so far, s.
    t : float
        Requested walltime, s.
    n : float
        Requested nodes.
    s : float
        Submit time since the workload's first submit, s.
    z, l : float
        Longest wait (1 if that is 0) and shortest request in the queue, s.
    """
    if policy == FCFS:
        return -s
    if policy == LCFS:
        return s
    if policy == SJF:
        return -t
    if policy == LONGEST:
        return t
    if policy == SMALLEST:
        return -n
    if policy == LARGEST:
        return n
    if policy == SAF:
        return -n * t
    if policy == LAF:
        return n * t
    if policy == SRF:
        return -t / n
    if policy == LRF:
        return t / n
    if policy == SEXP:
        return -(w + t) / t
    if policy == LXF:
        return (w + t) / t
    if policy == WFP1:
        return w / t * n
    if policy == WFP2:
        return math.pow(w / t, 2.0) * n
    if policy == WFP3:
        return math.pow(w / t, 3.0) * n
    if policy == UNICEP:
        return w / (math.log2(max(n, 2.0)) * t)
    if policy == F1:
        return -(math.log10(t) * n + 870.0 * math.log10(max(s, 1.0)))
    if policy == F2:
        return -(math.sqrt(t) * n + 25600.0 * math.log10(max(s, 1.0)))
    if policy == F3:
        return -(t * n + 6860000.0 * math.log10(max(s, 1.0)))
    if policy == F4:
        return -(t * math.sqrt(n) + 530000.0 * math.log10(max(s, 1.0)))
    return w / z + l / t


@kernel()
def uniform(seed, number):
    """Return a uniform number in [0, 1) that depends on the seed and the job's number alone (splitmix64)."""
    x = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(number + 1)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel()
def accrue(usage, who, now, half_life):
    """Bring a user's decayed node-seconds up to date (the last entry is the total of all users).

    Between two changes usage decays with the half-life H while k running nodes add to it:
    usage(t) = usage(t0) 2^(-(t-t0)/H) + k H/ln 2 (1 - 2^(-(t-t0)/H)), and usage + k (t-t0) for H = inf.
    """
    elapsed = now - usage[who].time
    if elapsed > 0:
        if math.isinf(half_life):
            usage[who].amount += usage[who].nodes * float(elapsed)
        else:
            decay = math.pow(2.0, -elapsed / half_life)
            usage[who].amount = usage[who].amount * decay + usage[who].nodes * (half_life / math.log(2.0)) * (
                1.0 - decay
            )
        usage[who].time = now


@kernel()
def charge(usage, who, nodes, now, half_life):
    """Let a user accrue usage on `nodes` more (or, negative, fewer) nodes from now on."""
    total = usage.shape[0] - 1
    accrue(usage, who, now, half_life)
    accrue(usage, total, now, half_life)
    usage[who].nodes += nodes
    usage[total].nodes += nodes


@kernel()
def fair_share(usage, who, now, half_life):
    """Return 2^-(share of usage / equal share), Slurm's classic fair-share factor, in (0, 1]."""
    total = usage.shape[0] - 1
    accrue(usage, who, now, half_life)
    accrue(usage, total, now, half_life)
    if not usage[total].amount > 0.0:
        return 1.0
    return math.pow(2.0, -(usage[who].amount / usage[total].amount) / (1.0 / total))


@inner()
def fixed_score(policy, jobs, setup, row, number, job):
    """Score a job by a policy whose order does not change with time.

    Parameters
    ----------
    policy : int
        One of the constants of this module.
    jobs : Jobs
        The shared table.
    setup : SETUP record
        The environment's.
    row, number : int
        The job's row in the shared table, and its number in the environment.
    job : (J,) JOB
    """
    if policy == PRIORITY:
        return jobs.priority[row]
    if policy == REPLAY:
        return -np.float64(jobs.recorded_start[row])
    if policy == RANDOM:
        return uniform(setup.seed, number)
    s, t = np.float64(job[number].submit - setup.origin), np.float64(job[number].request)
    return formula(policy, 0, t, np.float64(job[number].nodes), s, 1.0, 1.0)


@inner(forceinline=True)
def length_of(jobs, row, which):
    """Return one of a job's lengths: RUNTIME, CUT, REQUEST or PREDICTED, s."""
    if which == REQUEST:
        return jobs.request[row]
    if which == RUNTIME:
        return jobs.runtime[row]
    if which == CUT:
        return min(jobs.runtime[row], jobs.request[row])
    return jobs.predicted[row]


@kernel()
def score_moving(policy, queue, first, end, job, now):
    """Bring the scores of all waiting jobs up to date by a policy that needs nothing but the jobs and the clock."""
    longest, shortest = np.int64(1), job[queue[first]].request
    if policy == BAL:
        for i in range(first, end):
            longest = max(longest, now - job[queue[i]].submit)
            shortest = min(shortest, job[queue[i]].request)
    z, shortest_request = np.float64(longest), np.float64(shortest)
    for i in range(first, end):
        who = queue[i]
        t, n = np.float64(job[who].request), np.float64(job[who].nodes)
        job[who].score = formula(policy, now - job[who].submit, t, n, 0.0, z, shortest_request)


@inner()
def score_others(policy, jobs, setup, row):
    """Bring the scores of all waiting jobs up to date by multifactor, or by a policy that has only now been chosen."""
    job, now = row.job, row.sim[0].clock
    for i in range(row.sim[0].first, row.sim[0].end):
        who = row.queue[i]
        known = setup.first + who
        if policy == MULTIFACTOR:
            share = fair_share(row.usage, jobs.user[known], now, setup.half_life)
            job[who].score = (
                setup.age * min((now - job[who].submit) / setup.max_age, 1.0)
                + setup.size * (job[who].nodes / np.float64(setup.nodes))
                + setup.fairshare * share
                + setup.queue * jobs.queue_factor[known]
            )
        else:
            job[who].score = fixed_score(policy, jobs, setup, known, who, job)


@kernel()
def log_linear(weights, w, t, n):
    """Score a waiting job by a weighted sum of logarithms and their products, as `policies.FAMILIES` lists them.

    Parameters
    ----------
    weights : (16,) float64
        Ten are used.
    w, t, n : float
        Wait so far, s; requested walltime, s; requested nodes.
    """
    a, b, c, d = math.log(max(t, 1.0)), math.log(n), math.log(w + 1.0), math.log((w + t) / t)
    return (
        weights[0] * a
        + weights[1] * b
        + weights[2] * c
        + weights[3] * d
        + weights[4] * (a * b)
        + weights[5] * (a * a)
        + weights[6] * (b * b)
        + weights[7] * (d * d)
        + weights[8] * (d * b)
        + weights[9] * (d * a)
    )


@kernel()
def exponential(weights, w, t, n, nodes):
    """Score a waiting job by sum_j alpha_j exp(1 / sqrt(x_j + 1)), the score of ML-guided scheduling (S-RAPS).

    x: wait [h], requested walltime [h], nodes [% of the machine], requested node-hours [% of the machine x h].

    Parameters
    ----------
    weights : (16,) float64
        Four are used.
    w, t, n : float
        Wait so far, s; requested walltime, s; requested nodes.
    nodes : float
        Of the machine.
    """
    share = 100.0 * n / nodes
    return (
        weights[0] * math.exp(1.0 / math.sqrt(w / 3600.0 + 1.0))
        + weights[1] * math.exp(1.0 / math.sqrt(t / 3600.0 + 1.0))
        + weights[2] * math.exp(1.0 / math.sqrt(share + 1.0))
        + weights[3] * math.exp(1.0 / math.sqrt(share * t / 3600.0 + 1.0))
    )


@inner()
def score_weighted(policy, setup, row):
    """Bring the scores of all waiting jobs up to date by a priority function whose weights the setup holds."""
    job, now, nodes = row.job, row.sim[0].clock, np.float64(setup.nodes)
    for i in range(row.sim[0].first, row.sim[0].end):
        it = job[row.queue[i]]
        w, t, n = np.float64(now - it.submit), np.float64(it.request), np.float64(it.nodes)
        if policy == LOGLINEAR:
            it.score = log_linear(setup.weights, w, t, n)
        else:
            it.score = exponential(setup.weights, w, t, n, nodes)


@inner(forceinline=True)
def rescore(policy, setup, row):
    """Bring the scores of all waiting jobs up to date by a policy that moves, other than multifactor."""
    if policy == LOGLINEAR or policy == EXPONENTIAL:
        score_weighted(policy, setup, row)
    else:
        score_moving(policy, row.queue, row.sim[0].first, row.sim[0].end, row.job, row.sim[0].clock)


@inner()
def refresh(row):
    """Write the needs and lengths of the waiting jobs beside them after the queue has been sorted anew."""
    queue, need, wait, job = row.queue, row.need, row.wait, row.job
    for i in range(row.sim[0].first, row.sim[0].end):
        need[i] = job[queue[i]].nodes
        wait[i] = job[queue[i]].wait


@inner()
def order_queue(policy, jobs, setup, row):
    """Sort the queue for a pass; the queue of a policy that does not move is kept sorted as jobs join it."""
    sim, queue, job = row.sim[0], row.queue, row.job
    first, end = sim.first, sim.end
    if first == end:
        return
    if moves(policy) and policy != MULTIFACTOR:
        rescore(policy, setup, row)
    elif policy == MULTIFACTOR or sim.order != policy:
        score_others(policy, jobs, setup, row)
    else:
        return
    sort_queue(queue, first, end, job, row.picks, setup.cqsim == 0)
    refresh(row)
    sim.order = policy
