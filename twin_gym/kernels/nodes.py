"""Which nodes a job gets: sets of nodes as bits (64 a word), node choice, the placement log, and planning by node.

Rows 0 and 1 of `step_bits` are working space: the nodes chosen for a job, and those among which it may choose. The
availability profile by node begins at row `STEPS`: row `STEPS + i` holds the nodes believed free from `steps[i].time`
on.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.backfill import believed_end
from twin_gym.kernels.jit import inner, kernel
from twin_gym.kernels.state import CONTIGUOUS, RECORDED

CHOSEN, AMONG, STEPS = 0, 1, 2
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(forceinline=True)
def popcount(word):
    """Count the bits of a 64-bit word."""
    word = word - ((word >> ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(forceinline=True)
def lowest_bit(word):
    """Return the number of the lowest set bit of a word that is not 0."""
    return popcount((word & (~word + ONE)) - ONE)


@kernel(forceinline=True)
def has(bits, node):
    """Tell whether a node is in the set."""
    return (bits[node >> 6] >> np.uint64(node & 63)) & ONE != 0


@kernel(forceinline=True)
def add(bits, node):
    """Put a node into the set."""
    bits[node >> 6] |= ONE << np.uint64(node & 63)


@kernel(forceinline=True)
def discard(bits, node):
    """Take a node out of the set."""
    bits[node >> 6] &= ~(ONE << np.uint64(node & 63))


@kernel()
def fill(bits, nodes):
    """Make the set hold the nodes 0 .. nodes - 1."""
    for k in range(bits.shape[0]):
        left = nodes - 64 * k
        if left >= 64:
            bits[k] = ALL
        elif left > 0:
            bits[k] = (ONE << np.uint64(left)) - ONE
        else:
            bits[k] = 0


@kernel()
def size_of(bits):
    """Count the nodes of the set."""
    total = 0
    for k in range(bits.shape[0]):
        total += popcount(bits[k])
    return total


@kernel()
def next_run(bits, begin):
    """Return first node and length of the first run of consecutive nodes at or after `begin` (length 0: none)."""
    words = bits.shape[0]
    k = begin >> 6
    if k >= words:
        return 0, 0
    word = bits[k] & (ALL << np.uint64(begin & 63))
    while word == 0:
        k += 1
        if k == words:
            return 0, 0
        word = bits[k]
    first = 64 * k + lowest_bit(word)
    word = ~bits[k] & (ALL << np.uint64(first & 63))
    while word == 0:
        k += 1
        if k == words:
            return first, 64 * k - first
        word = ~bits[k]
    return first, 64 * k + lowest_bit(word) - first


@kernel()
def move_run(bits, chosen, first, count):
    """Move `count` consecutive nodes from one set to the other."""
    for node in range(first, first + count):
        add(chosen, node)
        discard(bits, node)


@kernel()
def choose(bits, need, placement, chosen):
    """Choose `need` nodes of a set that holds at least as many, and write them to `chosen`; `bits` may be used up.

    Lowest numbers first; or, contiguous, the smallest run that suffices, else the largest runs first.
    """
    for k in range(chosen.shape[0]):
        chosen[k] = 0
    if placement == CONTIGUOUS:
        best_first, best_count = 0, 0
        largest_first, largest_count = 0, 0
        while need > 0:
            best_count, largest_count = 0, 0
            first, count = next_run(bits, 0)
            while count > 0:
                if count >= need and (best_count == 0 or count < best_count):
                    best_first, best_count = first, count
                if count > largest_count:
                    largest_first, largest_count = first, count
                first, count = next_run(bits, first + count)
            if best_count > 0:
                move_run(bits, chosen, best_first, need)
                return
            move_run(bits, chosen, largest_first, largest_count)
            need -= largest_count
        return
    for k in range(bits.shape[0]):
        word = bits[k]
        count = popcount(word)
        if count < need:
            chosen[k] = word
            need -= count
            continue
        while need > 0:
            bit = word & (~word + ONE)
            chosen[k] |= bit
            word ^= bit
            need -= 1
        return


@kernel()
def choose_recorded(free_bits, values, begin, end, need, chosen):
    """Choose a job's recorded nodes; tell whether there are exactly `need` different ones and all are free."""
    for k in range(chosen.shape[0]):
        chosen[k] = 0
    if end - begin != need:
        return False
    limit = 64 * free_bits.shape[0]
    for i in range(begin, end):
        node = values[i]
        if node < 0 or node >= limit or not has(free_bits, node) or has(chosen, node):
            return False
        add(chosen, node)
    return True


@inner()
def choose_for(who, jobs, setup, job, bits, chosen):
    """Choose a job's nodes among `bits`, which may be used up; return whether it could not have its recorded ones."""
    need = np.int64(job[who].nodes)
    known = setup.first + who
    missed = False
    # a job that ran at the window's start stands where it stood, whatever the placement of the others
    if (setup.placement == RECORDED or jobs.initial[known]) and jobs.node_offsets.shape[0] > known + 1:
        begin, end = jobs.node_offsets[known], jobs.node_offsets[known + 1]
        if begin < end:
            if choose_recorded(bits, jobs.node_values, begin, end, need, chosen):
                return False
            missed = True
    choose(bits, need, setup.placement, chosen)
    return missed


@inner()
def occupy(chosen, who, row):
    """Give the chosen nodes to a job, and log them as runs of consecutive nodes."""
    sim, job, node, free_bits, runs = row.sim[0], row.job, row.node, row.free_bits, row.runs
    previous = -2
    last = -1
    entry = sim.runs - 1
    for k in range(chosen.shape[0]):
        word = chosen[k]
        free_bits[k] &= ~word
        while word != 0:
            v = 64 * k + lowest_bit(word)
            word &= word - ONE
            node[v].owner = who
            node[v].next = last
            last = v
            if v == previous + 1:
                runs[entry].count += 1
            else:
                entry += 1
                runs[entry].job = who
                runs[entry].turn = job[who].turn
                runs[entry].node = v
                runs[entry].count = 1
            previous = v
    job[who].first_node = last
    sim.runs = entry + 1


@inner()
def vacate(who, row):
    """Take a job's nodes back; those that an outage holds go down instead. Returns the number of those."""
    job, node = row.job, row.node
    gone = 0
    v = job[who].first_node
    while v >= 0:
        node[v].owner = -1
        if node[v].down == 0:
            add(row.free_bits, v)
        else:
            gone += 1
        v = node[v].next
    job[who].first_node = -1
    return gone


@kernel(forceinline=True)
def visible(outages, active, k, now):
    """Tell whether the scheduler knows of outage k: it goes on now, or it is planned and not over."""
    return active[k] == 1 or (outages.planned[k] == 1 and outages.end[k] > now)


@kernel()
def any_visible(outages, active, now):
    """Tell whether any outage is visible."""
    for k in range(active.shape[0]):
        if visible(outages, active, k, now):
            return True
    return False


@kernel()
def add_step(steps, count, time):
    """Insert a time into the sorted times of the profile unless it is there already; return the number of steps."""
    place = count
    while place > 0 and steps[place - 1].time > time:
        place -= 1
    if place > 0 and steps[place - 1].time == time:
        return count
    for i in range(count, place, -1):
        steps[i] = steps[i - 1]
    steps[place].time = time
    return count + 1


@inner()
def profile_by_node(outages, nodes, row):
    """Build the availability profile by node and return its number of steps.

    Every running job is believed to end at its planned end, an overdue one in the next second.
    """
    active, plan, job, node = row.active, row.plan, row.job, row.node
    steps, rows = row.steps, row.step_bits
    now, running = row.sim[0].clock, row.sim[0].running
    steps[0].time = now
    count = 1
    for i in range(running):
        count = add_step(steps, count, believed_end(plan[i].time, now, False))
    for k in range(active.shape[0]):
        if visible(outages, active, k, now):
            if outages.start[k] > now:
                count = add_step(steps, count, outages.start[k])
            count = add_step(steps, count, max(outages.end[k], now + 1))
    present = rows[STEPS]
    fill(present, nodes)
    for i in range(running):
        v = job[plan[i].job].first_node
        while v >= 0:
            discard(present, v)
            v = node[v].next
    i = 0
    for step in range(1, count):
        rows[STEPS + step, :] = rows[STEPS + step - 1, :]
        while i < running and believed_end(plan[i].time, now, False) <= steps[step].time:
            v = job[plan[i].job].first_node
            while v >= 0:
                add(rows[STEPS + step], v)
                v = node[v].next
            i += 1
    for k in range(active.shape[0]):
        if visible(outages, active, k, now):
            for step in range(count):
                if outages.start[k] <= steps[step].time < max(outages.end[k], now + 1):
                    for v in range(outages.offsets[k], outages.offsets[k + 1]):
                        discard(rows[STEPS + step], outages.values[v])
    for word in range(present.shape[0]):
        present[word] &= row.free_bits[word]
    return count


@kernel()
def available(rows, steps, count, step, length):
    """Write to row AMONG the nodes free from a step on for `length` seconds, and return their number."""
    end = steps[step].time + length
    among = rows[AMONG]
    among[:] = rows[STEPS + step]
    k = step + 1
    while k < count and steps[k].time < end:
        for word in range(among.shape[0]):
            among[word] &= rows[STEPS + k, word]
        k += 1
    return size_of(among)


@kernel()
def find_by_node(rows, steps, count, need, length):
    """Return the earliest step at which `need` nodes are free for `length` s (they are in AMONG); `count`: none."""
    for step in range(count):
        if available(rows, steps, count, step, length) >= need:
            return step
    return count


@kernel()
def reserve_by_node(rows, steps, count, step, length):
    """Take the nodes of row CHOSEN out of the profile for `length` s from a step on; return the number of steps."""
    end = steps[step].time + length
    k = step
    while k < count and steps[k].time < end:
        k += 1
    if k == count or steps[k].time != end:
        for m in range(count, k, -1):
            steps[m] = steps[m - 1]
            rows[STEPS + m, :] = rows[STEPS + m - 1, :]
        steps[k].time = end
        rows[STEPS + k, :] = rows[STEPS + k - 1, :]
        count += 1
    for m in range(step, k):
        for word in range(rows.shape[1]):
            rows[STEPS + m, word] &= ~rows[CHOSEN, word]
    return count
