"""Sorted containers over plain arrays: the heap of ends, the plan of planned ends, and a stable sort of the queue."""

from __future__ import annotations

from twin_gym.kernels.jit import kernel


@kernel()
def heap_push(heap, size, time, job, turn):
    """Add a running job to the binary heap by (time, turn).

    Parameters
    ----------
    heap : (R,) ENDING
        Holds `size` entries.
    time : int
        End of the job, s.
    job, turn : int
        The job and the number of its start.
    """
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        above = heap[parent].time
        if above < time or (above == time and heap[parent].turn < turn):
            break
        heap[child] = heap[parent]
        child = parent
    heap[child].time = time
    heap[child].job = job
    heap[child].turn = turn


@kernel()
def heap_pop(heap, size):
    """Remove the top of the heap (its caller has read it); `size` is the number of entries before the call."""
    last = size - 1
    time, turn = heap[last].time, heap[last].turn
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        right = child + 1
        if right < last and (
            heap[right].time < heap[child].time
            or (heap[right].time == heap[child].time and heap[right].turn < heap[child].turn)
        ):
            child = right
        if time < heap[child].time or (time == heap[child].time and turn < heap[child].turn):
            break
        heap[hole] = heap[child]
        hole = child
    if hole != last:
        heap[hole] = heap[last]


@kernel()
def heap_remove(heap, size, job):
    """Take one job out of the heap wherever it stands (outages only): O(R log R)."""
    kept = 0
    for i in range(size):
        if heap[i].job != job:
            heap_push(heap, kept, heap[i].time, heap[i].job, heap[i].turn)
            kept += 1


@kernel()
def plan_insert(plan, size, time, job, turn):
    """Insert a planned end after all that are not later, so that ties keep the order of starts."""
    place = size
    while place > 0 and plan[place - 1].time > time:
        plan[place] = plan[place - 1]
        place -= 1
    plan[place].time = time
    plan[place].job = job
    plan[place].turn = turn


@kernel()
def plan_remove(plan, size, time, job):
    """Remove a job whose planned end is `time`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if plan[middle].time < time:
            low = middle + 1
        else:
            high = middle
    while plan[low].job != job:
        low += 1
    for i in range(low, size - 1):
        plan[i] = plan[i + 1]


@kernel(forceinline=True)
def before(a, b, job, by_number):
    """Tell whether job a stands before job b: by score, larger first; then by number, or as they stand."""
    first, second = job[a].score, job[b].score
    if first != second:
        return first > second
    return by_number and a < b


@kernel()
def sort_queue(queue, first, end, job, scratch, by_number):
    """Sort queue[first:end] stably by descending score; ties by job number if `by_number`, else as they stand.

    The queue is nearly sorted from pass to pass, so insertion comes first; if it has to move too much, a merge sort
    takes over from where it stands (the mixture is still stable).
    """
    budget = 16 * (end - first) + 64
    i = first + 1
    while i < end and budget >= 0:
        who = queue[i]
        place = i
        while place > first and before(who, queue[place - 1], job, by_number):
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = who
        budget -= i - place
        i += 1
    if i >= end:
        return
    width = 1
    total = end - first
    while width < total:
        low = 0
        while low < total:
            middle = min(low + width, total)
            high = min(low + 2 * width, total)
            left, right = low, middle
            for out in range(low, high):
                if left < middle and (
                    right >= high or not before(queue[first + right], queue[first + left], job, by_number)
                ):
                    scratch[out] = queue[first + left]
                    left += 1
                else:
                    scratch[out] = queue[first + right]
                    right += 1
            low += 2 * width
        for k in range(total):
            queue[first + k] = scratch[k]
        width *= 2


@kernel()
def queue_place(queue, first, end, job, who, by_number):
    """Return the place of a job in the sorted queue[first:end]: after all that do not stand behind it."""
    if first == end or not before(who, queue[end - 1], job, by_number):
        return end
    low, high = first, end
    while low < high:
        middle = (low + high) >> 1
        if before(who, queue[middle], job, by_number):
            high = middle
        else:
            low = middle + 1
    return low


@kernel()
def make_room(array, place, end):
    """Move array[place:end] up by one."""
    for i in range(end, place, -1):
        array[i] = array[i - 1]
