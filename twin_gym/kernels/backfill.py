"""What may start behind a blocked head: first-fit, EASY, conservative; and the look-ahead window.

All work on counts of nodes. `steps` (STEP records) is the availability profile: from `steps[i].time` on,
`steps[i].free` nodes are believed free. Chosen jobs are written to `picks`; the caller starts them.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.jit import kernel
from twin_gym.kernels.state import NEVER


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
def pick_firstfit(queue, first, end, job, free, picks):
    """Pick every job that fits, in order.

    Returns
    -------
    count, last : int
        Jobs picked; place of the last one in the queue.
    """
    count, last = 0, first
    for i in range(first, end):
        if free == 0:
            break
        need = job[queue[i]].nodes
        if need <= free:
            free -= need
            picks[count] = queue[i]
            count += 1
            last = i
    return count, last


@kernel()
def pick_easy(queue, first, end, job, now, free, shadow, extra, picks):
    """Pick what ends before the head's shadow time or uses only nodes that the head leaves over.

    Returns
    -------
    count, last, extra : int
        Jobs picked; place of the last one in the queue; extra nodes left.
    """
    count, last = 0, first
    for i in range(first, end):
        if free == 0:
            break
        need = job[queue[i]].nodes
        if need > free:
            continue
        if now + job[queue[i]].wait > shadow:
            if need > extra:
                continue
            extra -= need
        free -= need
        picks[count] = queue[i]
        count += 1
        last = i
    return count, last, extra


@kernel()
def may_start(who, job, now, free, shadow, extra):
    """Tell whether a job could start behind the head's reservation alone."""
    need = job[who].nodes
    return need <= free and (need <= extra or now + job[who].wait <= shadow)


@kernel()
def pick_reserving(queue, first, end, job, steps, count, depth, shadow, extra, bounds, picks):
    """Pick behind reservations: the first `depth` jobs that can't start get one (conservative: all).

    `queue[first]` is the blocked head, with its shadow time and extra nodes; the profile of `count` steps is used up.
    Nothing behind the last job that could still start can change what starts in this pass, so the pass ends there; and
    as reservations are added, fewer and fewer jobs could.

    Returns
    -------
    picked, place : int
        Jobs picked; place of the last one in the queue.
    """
    now, free = steps[0].time, steps[0].free
    last = end - 1
    while last > first and not may_start(queue[last], job, now, free, shadow, extra):
        last -= 1
    for k in range(bounds.shape[0]):
        bounds[k].need, bounds[k].length, bounds[k].time = 0, 0, now
    picked, place = 0, first
    reserved = 0
    i = first
    while i <= last and last > first:
        who = queue[i]
        need, length = np.int64(job[who].nodes), job[who].wait
        if i > first and need <= free and fits(steps, count, need, now + length):
            count = reserve(steps, count, need, length, 0)
            picks[picked] = who
            picked += 1
            place = i
            free -= need
        elif reserved < depth:
            step = find(steps, count, need, length, step_at(steps, count, not_before(bounds, need, length, now)))
            if step < count:
                bound = bounds[size_class(need)]
                if steps[step].time >= bound.time:
                    bound.need, bound.length, bound.time = need, length, steps[step].time
                count = reserve(steps, count, need, length, step)
                reserved += 1
        i += 1
        while last >= i and not (
            may_start(queue[last], job, now, free, shadow, extra)
            and fits(steps, count, np.int64(job[queue[last]].nodes), now + job[queue[last]].wait)
        ):
            last -= 1
    return picked, place


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
