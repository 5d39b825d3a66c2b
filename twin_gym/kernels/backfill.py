"""What may start behind a blocked head: first-fit, EASY, conservative; and the look-ahead window.

All work on counts of nodes. `steps` (STEP records) is the availability profile: from `steps[i].time` on,
`steps[i].free` nodes are believed free. The places in the queue of the jobs chosen are written to `picks`, in order;
the caller starts them.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.jit import kernel
from twin_gym.kernels.state import NEVER

BLOCK = 64  # places of the queue that are looked at together


@kernel(forceinline=True)
def believed_end(planned, now, cqsim):
    """When a running job is believed to end: an overdue one at once (cqsim) or in the next second (cycle)."""
    return max(planned, now if cqsim else now + 1)


@kernel()
def shadow_of(need, free, now, cqsim, plan, running, job):
    """Find when a blocked job may start and how many nodes it leaves over then.

    Parameters
    ----------
    need, free : int
        Nodes that the job needs; nodes free now.
    now : int
        s.
    cqsim : bool
        See `believed_end`.
    plan : (R,) ENDING
        The `running` running jobs by planned end.
    job : (J,) JOB

    Returns
    -------
    shadow : int
        Earliest believed end of a running job at which `need` nodes are free, s (`now` if they are free already;
        NEVER if not even all running jobs hold enough).
    extra : int
        Nodes free at that time, all ends at that time counted, less `need`.
    """
    if free >= need:
        return now, free - need
    i = 0
    while i < running:
        end = believed_end(plan[i].time, now, cqsim)
        while i < running and believed_end(plan[i].time, now, cqsim) == end:
            free += job[plan[i].job].nodes
            i += 1
        if free >= need:
            return end, free - need
    return NEVER, np.int64(0)


@kernel()
def profile(steps, free, now, cqsim, plan, running, job):
    """Build the availability profile from the running jobs and return its number of steps.

    The first running job always opens a step of its own, even one at the present time.
    """
    steps[0].time = now
    steps[0].free = free
    count = 1
    for i in range(running):
        end = believed_end(plan[i].time, now, cqsim)
        if count == 1 or steps[count - 1].time != end:
            steps[count].time = end
            steps[count].free = steps[count - 1].free
            count += 1
        steps[count - 1].free += job[plan[i].job].nodes
    return count


@kernel()
def find(steps, count, need, length, begin):
    """Return the earliest step from `begin` on at which `need` nodes stay free for `length` seconds (`count`: none)."""
    i = begin
    while i < count:
        if steps[i].free < need:
            i += 1
            continue
        end = steps[i].time + length
        k = i + 1
        while k < count and steps[k].time < end and steps[k].free >= need:
            k += 1
        if k == count or steps[k].time >= end:
            return i
        i = k + 1
    return count


@kernel()
def step_at(steps, count, time):
    """Return the first step at or after a time."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if steps[middle].time < time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def size_class(need):
    """Return the position of the highest bit of a number of nodes."""
    place = 0
    while need > 1:
        need >>= 1
        place += 1
    return place


@kernel()
def not_before(bounds, need, length, now):
    """Return a time before which a job can't find room, from what smaller and shorter jobs could not find.

    As reservations are only ever added to a profile, a job that needs at least as many nodes for at least as long as
    one that found no room before some time finds none before it either. `bounds` keeps one such job a size class.
    """
    time = now
    for k in range(size_class(need) + 1):
        if bounds[k].need <= need and bounds[k].length <= length:
            time = max(time, bounds[k].time)
    return time


@kernel()
def reserve(steps, count, need, length, i):
    """Take `need` nodes out of the profile for `length` seconds from step i on; return the new number of steps."""
    end = steps[i].time + length
    k = i
    while k < count and steps[k].time < end:
        steps[k].free -= need
        k += 1
    if k < count and steps[k].time == end:
        return count
    for m in range(count, k, -1):
        steps[m] = steps[m - 1]
    steps[k].time = end
    steps[k].free = steps[k - 1].free + need
    return count + 1


@kernel()
def fits(steps, count, need, end):
    """Tell whether `need` nodes are free from now (the first step) until `end`."""
    k = 0
    while k < count and steps[k].time < end:
        if steps[k].free < need:
            return False
        k += 1
    return True


@kernel()
def first_fit(need, first, end, free):
    """Return the first place in need[first:end] at which a job needs no more than `free` nodes (`end`: none).

    The inner loop has no way out, so that it runs on whole vectors.
    """
    limit = np.int32(free)
    i = first
    while i < end:
        stop = min(i + BLOCK, end)
        hits = 0
        for k in range(i, stop):
            hits += need[k] <= limit
        if hits:
            while need[i] > limit:
                i += 1
            return i
        i = stop
    return end


@kernel()
def first_candidate(need, wait, first, end, free, slack, extra):
    """Return the first place at which a job fits now and leaves a blocked head's reservation alone (`end`: none).

    Parameters
    ----------
    need, wait : (Q,) int32, int64
        Nodes and believed lengths (s) of the waiting jobs.
    free, extra : int
        Nodes free now; nodes that the head leaves over at its shadow time.
    slack : int
        Time left until then, s.
    """
    limit, over = np.int32(free), np.int32(min(free, extra))
    i = first
    while i < end:
        stop = min(i + BLOCK, end)
        hits = 0
        for k in range(i, stop):
            hits += (need[k] <= over) | ((need[k] <= limit) & (wait[k] <= slack))
        if hits:
            while not (need[i] <= over or (need[i] <= limit and wait[i] <= slack)):
                i += 1
            return i
        i = stop
    return end


@kernel()
def pick_firstfit(need, first, end, free, picks):
    """Pick every job that fits, in order; return how many."""
    count = 0
    i = first
    while free > 0:
        i = first_fit(need, i, end, free)
        if i == end:
            break
        free -= need[i]
        picks[count] = i
        count += 1
        i += 1
    return count


@kernel()
def pick_easy(need, wait, first, end, free, slack, extra, picks):
    """Pick what ends before the head's shadow time or uses only nodes that the head leaves over.

    Returns
    -------
    count, extra : int
        Jobs picked; extra nodes left.
    """
    count = 0
    i = first
    while free > 0:
        i = first_candidate(need, wait, i, end, free, slack, extra)
        if i == end:
            break
        free -= need[i]
        if wait[i] > slack:
            extra -= need[i]
        picks[count] = i
        count += 1
        i += 1
    return count, extra


@kernel()
def pick_reserving(need, wait, first, end, steps, count, depth, slack, extra, bounds, picks):
    """Pick behind reservations: the first `depth` jobs that can't start get one (conservative: all).

    At place `first` stands the blocked head, with the time left until its shadow time and its extra nodes; the profile
    of `count` steps is used up. Nothing behind the last job that could still start can change what starts in this
    pass, so it ends there; and as reservations are added, fewer and fewer jobs could. Returns the number picked.
    """
    now, free = steps[0].time, steps[0].free
    for k in range(bounds.shape[0]):
        bounds[k].need, bounds[k].length, bounds[k].time = 0, 0, now
    picked = 0
    reserved = 0
    last = end - 1
    i = first
    while True:
        while last >= i and last > first:
            if need[last] <= free and (need[last] <= extra or wait[last] <= slack):
                if fits(steps, count, np.int64(need[last]), now + wait[last]):
                    break
            last -= 1
        if i > last or last == first:
            return picked
        nodes, length = np.int64(need[i]), wait[i]
        if i > first and nodes <= free and fits(steps, count, nodes, now + length):
            count = reserve(steps, count, nodes, length, 0)
            picks[picked] = i
            picked += 1
            free -= nodes
        elif reserved < depth:
            step = find(steps, count, nodes, length, step_at(steps, count, not_before(bounds, nodes, length, now)))
            if step < count:
                bound = bounds[size_class(nodes)]
                if steps[step].time >= bound.time:
                    bound.need, bound.length, bound.time = nodes, length, steps[step].time
                count = reserve(steps, count, nodes, length, step)
                reserved += 1
        i += 1


@kernel()
def best_window(queue, first, width, job, steps, free, now, cqsim, plan, running, order, best):
    """Find the order of the first `width` waiting jobs that ends earliest, and write it to best[:width].

    Orders are tried from the present one on, the last place varying slowest, the largest index first; each job is
    placed no earlier than the one before it, and the first order with the strictly earliest latest end wins.
    `order` is working space.
    """
    for i in range(width):
        order[i] = width - 1 - i  # read backwards: descending lexicographic order of the reversed tuple
    earliest = NEVER
    while True:
        count = profile(steps, free, now, cqsim, plan, running, job)
        place = 0
        latest = now
        for i in range(width - 1, -1, -1):
            who = queue[first + order[i]]
            need, length = np.int64(job[who].nodes), job[who].wait
            place = find(steps, count, need, length, place)
            latest = max(latest, steps[place].time + length)
            count = reserve(steps, count, need, length, place)
        if latest < earliest:
            earliest = latest
            for i in range(width):
                best[i] = queue[first + order[width - 1 - i]]
        i = width - 2  # the permutation before this one
        while i >= 0 and order[i] <= order[i + 1]:
            i -= 1
        if i < 0:
            return
        k = width - 1
        while order[k] >= order[i]:
            k -= 1
        order[i], order[k] = order[k], order[i]
        low, high = i + 1, width - 1
        while low < high:
            order[low], order[high] = order[high], order[low]
            low += 1
            high -= 1
