"""The arrays that a simulation is made of.

`Jobs` and `Outages` are read-only and shared by all environments; setups and `State` carry a leading environment axis
E. An environment sees the jobs `first .. first + count - 1` of the shared table under the local numbers 0 .. count - 1.
All times are int64 seconds since the workload's epoch.

What changes together stands together: a job's, a node's, a running job's fields are one record of a structured array.
So kernels are handed a dozen arrays and not seventy: Numba counts references for every array at every call, which with
one array for each field took five times longer than the scheduling itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.kernels.jit import borrowed, inner

Int = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Byte = npt.NDArray[np.uint8]
Float = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]
Records = npt.NDArray[Any]

NEVER = np.iinfo(np.int64).max
UNKNOWN = np.iinfo(np.int64).min

# why advance() came back
DONE, UNTIL, DECISION, GROW, EVENTS = range(5)
# job phases, as in twin_gym.states.JobState
PENDING, QUEUED, RUNNING, COMPLETED, TIMEOUT, FAILED, REFUSED = range(7)
# backfill modes, as in twin_gym.config.BACKFILLS
NONE, FIRSTFIT, EASY, CONSERVATIVE = range(4)
# placements, as in twin_gym.config.PLACEMENTS
COUNT, LOWEST, CONTIGUOUS, RECORDED = range(4)
# outage modes, as in twin_gym.outages.MODES
DRAIN, REQUEUE, FAIL = range(3)
# which length of a job is meant: recorded runtime, the same cut at the request, requested walltime, predicted runtime
RUNTIME, CUT, REQUEST, PREDICTED = range(4)


class Jobs(NamedTuple):
    """The shared job table, J rows in submit order; views of the workload's own arrays wherever possible."""

    submit: Int  # (J,) s
    runtime: Int  # (J,) recorded, s
    request: Int  # (J,) requested walltime, s
    predicted: Int  # (J,) predicted runtime, s
    nodes: Int32  # (J,)
    recorded_start: Int  # (J,) s, UNKNOWN where not recorded
    priority: Float  # (J,) recorded priority, 0 where not recorded
    user: Int32  # (J,) 0 .. U-1
    queue_factor: Float  # (J,) factor of the job's partition in [0, 1]
    initial: Byte  # (J,) 1: was running at the window's start
    watts: Int  # (J,) believed power above that of idle nodes, W; (0,) if nothing depends on it
    node_values: Int32  # (V,) recorded node ids, job after job
    node_offsets: Int  # (J+1,) where each job's ids begin; (1,) where no ids are recorded


class Outages(NamedTuple):
    """Planned and unplanned outages, K rows; ids of all outages in one array."""

    start: Int  # (K,) s
    end: Int  # (K,) s
    mode: Byte  # (K,) DRAIN, REQUEUE, FAIL
    planned: Byte  # (K,) 1: the scheduler knows of it in advance
    offsets: Int  # (K+1,)
    values: Int32  # (V,) node ids
    by_start: Int32  # (K,) outages in order of their start
    by_end: Int32  # (K,) outages in order of their end


# What an environment was told to do.
SETUP = np.dtype(
    [
        ("first", np.int64),  # first row of the shared job table
        ("count", np.int64),  # jobs of the environment
        ("before", np.int64),  # the first of them, that came before the episode: where they stand at its begin is given
        ("counted", np.int64),  # those on which somebody decides
        ("origin", np.int64),  # from when scores count submit times, s
        ("varied", np.int64),  # 1: jobs are not quite as recorded, but as the next three say
        ("stretch", np.float64),  # they arrive this much faster
        ("growth", np.float64),  # they are this much longer
        ("noise", np.float64),  # standard deviation of the logarithm of what is believed of a length
        ("nodes", np.int64),  # nodes of the system
        ("clock", np.int64),  # where the clock stands before the first event, s
        ("policy", np.int64),  # constant of kernels.order
        ("backfill", np.int64),
        ("cqsim", np.int64),  # 1: a pass after every single event
        ("score_length", np.int64),  # which length scores see as the requested time
        ("wait_length", np.int64),  # which length is believed of waiting jobs
        ("plan_length", np.int64),  # which length is believed of running jobs
        ("run_length", np.int64),  # which length decides the real end
        ("overdue", np.int64),  # 1: a job may run longer than it is planned to
        ("depth", np.int64),  # reservations of EASY
        ("window", np.int64),  # jobs that are permuted, 0 = off
        ("placement", np.int64),
        ("by_node", np.int64),  # 1: reservations are always kept on named nodes
        ("powered", np.int64),  # 1: there is a power cap, or idle nodes are switched off
        ("cap", np.int64),  # what running jobs may draw above idle, at the lowest frequency if they are slowed, W
        ("limit", np.float64),  # above which running jobs are slowed, W above idle (inf: they are not)
        ("floor", np.float64),  # lowest frequency, share of the full one
        ("exponent", np.float64),  # power above idle goes with this power of the frequency
        ("sensitivity", np.float64),  # share of a job's time that goes with 1 / frequency
        ("idle_timeout", np.int64),  # after which an idle node is switched off, s
        ("shutdown", np.int64),  # how long that takes, s
        ("boot", np.int64),  # how long booting takes, s
        ("idle_watts", np.float64),  # what the idle machine is believed to draw, W
        ("full_watts", np.float64),  # what the machine draws above that when all nodes are fully used, W
        ("target_watts", np.float64),  # what it should not pass, W (inf: none)
        ("seed", np.uint64),
        ("age", np.float64),  # weights of the multifactor priority
        ("size", np.float64),
        ("fairshare", np.float64),
        ("queue", np.float64),
        ("max_age", np.float64),  # s
        ("half_life", np.float64),  # s
        ("weights", np.float64, (16,)),  # of the log-linear or exponential priority function
    ]
)

# The counters of an environment.
SIM = np.dtype(
    [
        ("clock", np.int64),  # s
        ("arrived", np.int64),  # jobs submitted so far: the next one's local number
        ("free", np.int64),  # free nodes that are up
        ("sequence", np.int64),  # starts so far
        ("due", np.int64),  # 1: a scheduling pass is due
        ("grown", np.int64),  # 1: nodes came back since the last pass, so an old blockade may be gone
        ("fresh", np.int64),  # jobs that joined the queue since the last pass
        ("order", np.int64),  # policy by which the queue is sorted
        ("head", np.int64),  # blocked head of the last pass, -1 none
        ("shadow", np.int64),  # when that head may start, s; UNKNOWN: to be found anew
        ("extra", np.int64),  # nodes that it leaves over then
        ("first", np.int64),  # the queue is queue[first:end]
        ("end", np.int64),
        ("running", np.int64),  # running jobs
        ("started", np.int64),  # jobs started in this pass
        ("tried", np.int64),  # when a replay has last started what was due, or a queue was last sorted for an agent, s
        ("passes", np.int64),  # scheduling passes
        ("displaced", np.int64),  # initial jobs for which there was no room
        ("relocated", np.int64),  # jobs that could not have their recorded nodes
        ("begun", np.int64),  # outages that have begun
        ("ended", np.int64),  # outages that have ended
        ("runs", np.int64),  # entries of the placement log
        ("drawn", np.int64),  # believed power of the running jobs above idle, W
        ("naps", np.int64),  # entries of the log of nodes that were off
        ("work", np.int64),  # what a job that ran all the time would have done, ms of full speed
        ("paces", np.int64),  # entries of the log of frequencies
        ("lost", np.int64),  # entries of the log of killed and requeued attempts
        ("loads", np.int64),  # entries of the log of power
    ]
)

# A job in an environment; all but the phase is set when it arrives.
JOB = np.dtype(
    [
        ("start", np.int64),  # s, UNKNOWN until started
        ("end", np.int64),  # s, UNKNOWN until started; the coming end of a running job
        ("score", np.float64),  # as of the last time it was computed
        ("submit", np.int64),  # s
        ("request", np.int64),  # length that scores see, s
        ("wait", np.int64),  # length believed while it waits, s
        ("plan", np.int64),  # length believed while it runs, s
        ("run", np.int64),  # real length, s
        ("nodes", np.int32),
        ("turn", np.int32),  # number of its start in the order of starts
        ("first_node", np.int32),  # first of its nodes while it runs, -1 none
        ("phase", np.int32),
    ],
    align=True,
)

# A running job: in the heap by (real end, turn), in the plan sorted by (planned end, turn).
ENDING = np.dtype([("time", np.int64), ("job", np.int32), ("turn", np.int32)], align=True)
# A step of the availability profile: from `time` on, `free` nodes are believed free.
STEP = np.dtype([("time", np.int64), ("free", np.int64)], align=True)
# A job of a size class for which there was no room before `time` (working space of conservative backfilling).
BOUND = np.dtype([("need", np.int64), ("length", np.int64), ("time", np.int64)], align=True)
# A node: the job that holds it (-1 none), the next node of that job (-1 none), the active outages that hold it.
NODE = np.dtype([("owner", np.int32), ("next", np.int32), ("down", np.int32)], align=True)
# An entry of the placement log: the start numbered `turn` got `count` consecutive nodes from `node` on.
RUN = np.dtype([("job", np.int32), ("turn", np.int32), ("node", np.int32), ("count", np.int32)], align=True)
# An attempt that an outage has killed and that was queued again.
LOST = np.dtype([("start", np.int64), ("end", np.int64), ("job", np.int64)], align=True)
# An idle node: on from `ready` to `down`, then switched off; a busy one is on.
SLEEP = np.dtype([("ready", np.int64), ("down", np.int64)], align=True)
# An entry of the log of sleep: switched off, switched on, and ready after that.
NAP = np.dtype([("node", np.int64), ("off", np.int64), ("on", np.int64), ("ready", np.int64)], align=True)
# An entry of the log of frequencies: from `time` on all jobs run at this share of the full one.
PACE = np.dtype([("time", np.int64), ("frequency", np.float64)], align=True)
# An entry of the log of power: what the running jobs are believed to have drawn above idle up to a time, W.
LOAD = np.dtype([("until", np.int64), ("watts", np.int64)], align=True)
# A user's decayed node-seconds, the time of their last update and the nodes that add to them.
USAGE = np.dtype([("amount", np.float64), ("time", np.int64), ("nodes", np.int64)], align=True)


class State(NamedTuple):
    """Everything that changes; a plain copy of these arrays is a snapshot.

    Inside the kernels the same names stand for one environment's row: `sim` (1,) SIM, `job` (J,) JOB, and so on.
    """

    sim: Records  # (E,) SIM
    job: Records  # (E, J) JOB
    queue: Int32  # (E, Q) waiting jobs at first .. end - 1, in kept order
    need: Int32  # (E, Q) and the nodes
    wait: Int  # (E, Q) and believed lengths of the same jobs, side by side so that a scan is quick
    heap: Records  # (E, R) ENDING
    plan: Records  # (E, R) ENDING
    started: Int32  # (E, Q) jobs started in this pass, in order
    picks: Int32  # (E, Q) working space
    steps: Records  # (E, P) STEP, working space
    bounds: Records  # (E, 32) BOUND, working space
    step_bits: Bits  # (E, B, words) working space: availability profile by node
    free_bits: Bits  # (E, words) free and up, one bit a node
    node: Records  # (E, N) NODE
    runs: Records  # (E, L) RUN, placement log
    active: Byte  # (E, K) 1: the outage goes on now
    lost: Records  # (E, A) LOST
    usage: Records  # (E, U+1) USAGE; the last is the total of all users
    headroom: Int  # (E, P) working space: watts left at each of `steps`; (E, 0) unless `powered`, as what follows
    boot: Int  # (E, J) for how long the job's nodes have booted before it could run, s
    sleep: Records  # (E, N) SLEEP; (E, 0) unless idle nodes are switched off, as what follows
    naps: Records  # (E, M) NAP
    paces: Records  # (E, L) PACE; (E, 0) unless jobs are slowed under a cap
    tally: Records  # (E, 1) TALLY; (E, 0) unless the twin is an environment, as what follows
    share: Records  # (E, U) SHARE
    loads: Records  # (E, L) LOAD; (E, 0) unless somebody pays for the power


@inner(forceinline=True)
def submit_of(jobs, setup, known):
    """Return when the job of a row of the shared table arrives in an environment, s."""
    time = jobs.submit[known]
    if setup.varied and time > setup.clock:
        return setup.clock + np.int64((time - setup.clock) / setup.stretch)
    return time


@inner(forceinline=True)
def row_of(st, e):
    """Return one environment's row of the state, for use inside a kernel whose caller holds the arrays."""
    return State(
        borrowed(st.sim[e : e + 1]),
        borrowed(st.job[e]),
        borrowed(st.queue[e]),
        borrowed(st.need[e]),
        borrowed(st.wait[e]),
        borrowed(st.heap[e]),
        borrowed(st.plan[e]),
        borrowed(st.started[e]),
        borrowed(st.picks[e]),
        borrowed(st.steps[e]),
        borrowed(st.bounds[e]),
        borrowed(st.step_bits[e]),
        borrowed(st.free_bits[e]),
        borrowed(st.node[e]),
        borrowed(st.runs[e]),
        borrowed(st.active[e]),
        borrowed(st.lost[e]),
        borrowed(st.usage[e]),
        borrowed(st.headroom[e]),
        borrowed(st.boot[e]),
        borrowed(st.sleep[e]),
        borrowed(st.naps[e]),
        borrowed(st.paces[e]),
        borrowed(st.tally[e]),
        borrowed(st.share[e]),
        borrowed(st.loads[e]),
    )


@inner(forceinline=True)
def borrow_jobs(jobs):
    """Return the job table for use inside a kernel whose caller holds the arrays."""
    return Jobs(
        borrowed(jobs.submit),
        borrowed(jobs.runtime),
        borrowed(jobs.request),
        borrowed(jobs.predicted),
        borrowed(jobs.nodes),
        borrowed(jobs.recorded_start),
        borrowed(jobs.priority),
        borrowed(jobs.user),
        borrowed(jobs.queue_factor),
        borrowed(jobs.initial),
        borrowed(jobs.watts),
        borrowed(jobs.node_values),
        borrowed(jobs.node_offsets),
    )


@inner(forceinline=True)
def borrow_outages(outages):
    """Return the outages for use inside a kernel whose caller holds the arrays."""
    return Outages(
        borrowed(outages.start),
        borrowed(outages.end),
        borrowed(outages.mode),
        borrowed(outages.planned),
        borrowed(outages.offsets),
        borrowed(outages.values),
        borrowed(outages.by_start),
        borrowed(outages.by_end),
    )
