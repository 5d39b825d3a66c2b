"""Heap, plan, queue and sets of nodes against lists and sets."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twin_gym.kernels import backfill, nodes, order, queue
from twin_gym.kernels.state import CONTIGUOUS, ENDING, JOB, LOWEST, STEP

SMALL = st.integers(0, 6)


@given(st.lists(st.one_of(SMALL, st.none()), max_size=40))
def test_heap_pops_by_time_then_turn(steps):
    """A number pushes a job that ends then; None pops."""
    heap, model = np.zeros(64, ENDING), []
    for turn, step in enumerate(steps):
        if step is not None:
            queue.heap_push(heap, len(model), step, 100 + turn, turn)
            model.append((step, turn))
        elif model:
            first = min(model)
            assert (heap[0]["time"], heap[0]["turn"], heap[0]["job"]) == (*first, 100 + first[1])
            queue.heap_pop(heap, len(model))
            model.remove(first)
    while model:
        assert (heap[0]["time"], heap[0]["turn"]) == min(model)
        queue.heap_pop(heap, len(model))
        model.remove(min(model))


@given(st.lists(SMALL, min_size=1, max_size=30), st.data())
def test_heap_forgets_a_job(times, data):
    heap = np.zeros(64, ENDING)
    for turn, time in enumerate(times):
        queue.heap_push(heap, turn, time, turn, turn)
    gone = data.draw(st.integers(0, len(times) - 1))
    queue.heap_remove(heap, len(times), gone)
    left = []
    for size in range(len(times) - 1, 0, -1):
        left.append(int(heap[0]["job"]))
        queue.heap_pop(heap, size)
    assert left == sorted((j for j in range(len(times)) if j != gone), key=lambda j: (times[j], j))


@given(st.lists(SMALL, min_size=1, max_size=30), st.data())
def test_plan_is_sorted_and_ties_keep_the_order_of_starts(times, data):
    plan = np.zeros(64, ENDING)
    for turn, time in enumerate(times):
        queue.plan_insert(plan, turn, time, turn, turn)
    expected = sorted(range(len(times)), key=lambda j: (times[j], j))
    assert list(plan["job"][: len(times)]) == expected
    gone = data.draw(st.sampled_from(expected))
    queue.plan_remove(plan, len(times), times[gone], gone)
    expected.remove(gone)
    assert list(plan["job"][: len(expected)]) == expected


@given(st.lists(SMALL, max_size=300), st.booleans(), st.randoms(use_true_random=False))
def test_queue_is_sorted_stably_by_descending_score(scores, by_number, random):
    """Three hundred jobs in random order are more than insertion alone may move, so the merge sort is met as well."""
    job = np.zeros(max(1, len(scores)), JOB)
    job["score"][: len(scores)] = scores
    waiting = list(range(len(scores)))
    random.shuffle(waiting)
    line = np.array([-1, *waiting, -1], np.int32)
    queue.sort_queue(line, 1, 1 + len(scores), job, np.zeros(len(scores) + 2, np.int32), by_number)
    tie = (lambda j: j) if by_number else waiting.index
    assert list(line[1:-1]) == sorted(waiting, key=lambda j: (-scores[j], tie(j)))
    assert line[0] == line[-1] == -1


@given(st.lists(SMALL, max_size=30), st.booleans())
def test_queue_takes_jobs_in_at_their_place(scores, by_number):
    job = np.zeros(max(1, len(scores)), JOB)
    job["score"][: len(scores)] = scores
    line = np.zeros(40, np.int32)
    arrival = [j for j in reversed(range(len(scores)))] if by_number else list(range(len(scores)))
    for size, who in enumerate(arrival):
        place = queue.queue_place(line, 0, size, job, who, by_number)
        queue.make_room(line, place, size)
        line[place] = who
    tie = (lambda j: j) if by_number else arrival.index
    assert list(line[: len(scores)]) == sorted(arrival, key=lambda j: (-scores[j], tie(j)))


def bits_of(members: set[int], words: int) -> np.ndarray:
    bits = np.zeros(words, np.uint64)
    for node in members:
        bits[node // 64] |= np.uint64(1) << np.uint64(node % 64)
    return bits


def members_of(bits: np.ndarray) -> set[int]:
    return {64 * k + b for k, word in enumerate(bits) for b in range(64) if (int(word) >> b) & 1}


SETS = st.sets(st.integers(0, 199), max_size=150)


@given(SETS)
def test_sets_of_nodes(members):
    bits = bits_of(members, 4)
    assert nodes.size_of(bits) == len(members)
    runs, begin = [], 0
    while True:
        first, count = nodes.next_run(bits, begin)
        if count == 0:
            break
        runs.append((first, count))
        begin = first + count
    covered = [first + k for first, count in runs for k in range(count)]
    assert covered == sorted(members)
    assert all(a + n < b for (a, n), (b, _) in itertools.pairwise(runs))


@given(SETS.filter(bool), st.data())
def test_choosing_nodes(members, data):
    need = data.draw(st.integers(1, len(members)))
    chosen = np.zeros(4, np.uint64)
    nodes.choose(bits_of(members, 4), need, LOWEST, chosen)
    assert members_of(chosen) == set(sorted(members)[:need])

    nodes.choose(bits_of(members, 4), need, CONTIGUOUS, chosen)
    runs: list[list[int]] = []
    for node in sorted(members):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    expected: set[int] = set()
    left = need
    while left:
        enough = [run for run in runs if len(run) >= left]
        run = min(enough, key=lambda r: (len(r), r[0])) if enough else min(runs, key=lambda r: (-len(r), r[0]))
        expected |= set(run[:left])
        left -= min(left, len(run))
        runs.remove(run)
    assert members_of(chosen) == expected


@given(st.integers(0, 200))
def test_filling_a_set(count):
    bits = np.full(4, 12345, np.uint64)
    nodes.fill(bits, count)
    assert members_of(bits) == set(range(count))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 12)), max_size=12),
    st.integers(0, 9),
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4)), max_size=4),
)
def test_reservations_against_a_calendar_of_seconds(wishes, free, ends):
    """Each wish (nodes, seconds) gets the earliest second from which it fits on a machine drawn second by second."""
    machine = free + sum(n for n, _ in ends)
    steps = np.zeros(64, STEP)
    job = np.zeros(8, JOB)
    plan = np.zeros(8, ENDING)
    for k, (need, end) in enumerate(sorted(ends, key=lambda e: e[1])):
        job[k]["nodes"] = need
        plan[k] = (end + 1, k, k)
    count = backfill.profile(steps, free, 0, False, plan, len(ends), job)
    calendar = [free + sum(n for n, end in ends if end + 1 <= second) for second in range(400)]
    for need, length in wishes:
        place = backfill.find(steps, count, need, length, 0)
        expected = next((t for t in range(200) if min(calendar[t : t + length]) >= need), None)
        if need > machine:
            assert place == count
            assert expected is None
            continue
        assert steps[place]["time"] == expected
        assert backfill.fits(steps, count, need, length) == (min(calendar[:length]) >= need)
        count = backfill.reserve(steps, count, need, length, place)
        for second in range(expected, expected + length):
            calendar[second] -= need
    for second, left in enumerate(calendar[:100]):
        at = max(k for k in range(count) if steps[k]["time"] <= second)
        assert steps[at]["free"] == left


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000))
def test_random_scores_are_uniform_numbers(seed, number):
    value = order.uniform(np.uint64(seed), number)
    assert 0 <= value < 1
    assert value == order.uniform(np.uint64(seed), number)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=200),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 3),
)
def test_scans_find_the_first_that_fits(waiting, free, slack, extra, first):
    need = np.array([n for n, _ in waiting], np.int32)
    wait = np.array([w for _, w in waiting], np.int64)
    first, end = min(first, len(waiting)), len(waiting)
    fitting = (i for i in range(first, end) if need[i] <= free)
    assert backfill.first_fit(need, first, end, free) == next(fitting, end)
    harmless = (i for i in range(first, end) if need[i] <= free and (wait[i] <= slack or need[i] <= extra))
    assert backfill.first_candidate(need, wait, first, end, free, slack, extra) == next(harmless, end)
