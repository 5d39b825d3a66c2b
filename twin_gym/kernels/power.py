"""The power of a machine as jobs come, change and go, exact between events.

Nodes are gathered in groups (chassis: what shares rectifiers). Each group keeps the direct current of its nodes in
whole nanowatts, so that a million changes up and down leave no trace of rounding and their order does not matter. A
job is kept as (group, nodes) pairs: a change of its utilisation touches its groups, not its nodes, and the conversion
losses of those groups alone are computed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.kernels.jit import inner, kernel

NANO = 1e9

# A group of nodes: its parameters, and what it draws now.
GROUP = np.dtype(
    [
        ("nodes", np.int64),  # in service
        ("dc", np.int64),  # nW, direct current of its devices, now
        ("ac", np.int64),  # nW, what it draws from the mains, now
        ("load", np.int64),  # nW, what its rectifiers deliver (nodes behind their converters, and switches), now
        ("since", np.int64),  # s, up to when its energy is counted
        ("switches", np.float64),  # W
        ("converter_w", np.float64),  # constant loss of a node's converter, W
        ("converter_efficiency", np.float64),
        ("rectifiers", np.int64),
        ("rectifier_w", np.float64),  # constant loss of a rectifier, W
        ("rectifier_efficiency", np.float64),
        ("threshold", np.float64),  # W at which load sharing calls in one more rectifier; 0: all share at all times
        ("cdu", np.int64),
    ]
)
# What a node does from `time` on, s after its job's start.
SAMPLE = np.dtype(
    [
        ("time", np.int64),
        ("dc", np.int64),  # nW above an idle node (may be negative)
        ("cpu", np.int64),  # nW of it, by processors
        ("gpu", np.int64),  # nW of it, by GPUs
        ("flops", np.int64),  # kflop/s
    ]
)
# The whole machine at an instant; it holds to the next one.
INSTANT = np.dtype(
    [
        ("time", np.int64),
        ("total", np.int64),  # nW, all groups from the mains; no pumps
        ("dc", np.int64),  # nW, devices
        ("load", np.int64),  # nW, delivered by rectifiers
        ("cpu", np.int64),  # nW of `dc` above idle
        ("gpu", np.int64),  # nW of `dc` above idle
        ("flops", np.int64),  # kflop/s
        ("busy", np.int64),  # nodes that hold a job
    ]
)


class Occupations(NamedTuple):
    """Who holds nodes, M rows by start: jobs, lost attempts, and nodes that are off."""

    start: npt.NDArray[np.int64]  # (M,) s
    end: npt.NDArray[np.int64]  # (M,) s
    profile: npt.NDArray[np.int64]  # (M,) which row of `samples`
    counted: npt.NDArray[np.uint8]  # (M,) 1: its nodes are busy (0: off)
    pair_offsets: npt.NDArray[np.int64]  # (M + 1,)
    pair_group: npt.NDArray[np.int32]
    pair_nodes: npt.NDArray[np.int32]


class Profiles(NamedTuple):
    """What a node of each job does, job after job."""

    offsets: npt.NDArray[np.int64]  # (J + 1,)
    samples: npt.NDArray[np.void]  # (V,) SAMPLE


@inner(forceinline=True)
def convert(group):
    """Compute what a group delivers and draws from what its devices need: twice (output + constant) / efficiency."""
    watts = group.dc / NANO
    load = (watts + group.nodes * group.converter_w) / group.converter_efficiency + group.switches
    running = group.rectifiers
    if group.threshold > 0.0:
        running = min(max(np.int64((load - 1.0) // group.threshold) + 1, 1), group.rectifiers)
    group.load = np.int64(np.rint(load * NANO))
    group.ac = np.int64(np.rint((load + running * group.rectifier_w) / group.rectifier_efficiency * NANO))


@kernel()
def settle_all(groups):
    """Convert every group and return the sums of (ac, dc, load), nW."""
    ac = dc = load = np.int64(0)
    for g in range(groups.shape[0]):
        convert(groups[g])
        ac += groups[g].ac
        dc += groups[g].dc
        load += groups[g].load
    return ac, dc, load


@inner(forceinline=True)
def spend(group, now, origin, resolution, energy):
    """Count a group's energy up to now, in bins of `resolution` s from `origin` on: energy (C, B) joules by CDU."""
    while group.since < now:
        part = (group.since - origin) // resolution
        until = min(now, origin + (part + 1) * resolution)
        if 0 <= part < energy.shape[1]:
            energy[group.cdu, part] += group.ac / NANO * (until - group.since)
        group.since = until


@inner()
def change(row, dc, now, occupations, groups, state, origin, resolution, energy):
    """Change the direct current of every node of an occupation by `dc` nW."""
    for k in range(occupations.pair_offsets[row], occupations.pair_offsets[row + 1]):
        group = groups[occupations.pair_group[k]]
        if energy.shape[1] > 0:
            spend(group, now, origin, resolution, energy)
        ac, load = group.ac, group.load
        step = dc * occupations.pair_nodes[k]
        group.dc += step
        convert(group)
        state.total += group.ac - ac
        state.load += group.load - load
        state.dc += step


@inner(forceinline=True)
def sift_up(heap_time, heap_row, place, time, row):
    """Add (time, row) to a heap that holds `place` entries."""
    while place > 0:
        parent = (place - 1) >> 1
        if heap_time[parent] < time or (heap_time[parent] == time and heap_row[parent] <= row):
            break
        heap_time[place] = heap_time[parent]
        heap_row[place] = heap_row[parent]
        place = parent
    heap_time[place] = time
    heap_row[place] = row


@inner(forceinline=True)
def replace_top(heap_time, heap_row, size, time, row):
    """Put (time, row) at the top of a heap of `size` entries and let it sink."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap_time[right] < heap_time[child]
            or (heap_time[right] == heap_time[child] and heap_row[right] < heap_row[child])
        ):
            child = right
        if time < heap_time[child] or (time == heap_time[child] and row < heap_row[child]):
            break
        heap_time[place] = heap_time[child]
        heap_row[place] = heap_row[child]
        place = child
    heap_time[place] = time
    heap_row[place] = row


@kernel()
def walk(occupations, profiles, groups, begin, finish, origin, resolution, energy, spent, out):
    """Walk through a schedule and write the machine's power at every instant at which it changes.

    Parameters
    ----------
    occupations, profiles : Occupations, Profiles
    groups : (G,) GROUP
        Idle at the beginning (`settle_all`); left as at the end.
    begin, finish : int
        From when to when, s.
    origin, resolution : int
        Bins of `energy`, s.
    energy : (C, B) float64
        Joules by CDU and bin; (C, 0) if not wanted.
    spent : (M,) float64
        Joules that the nodes of each occupation draw behind their rectifiers' input (direct current), written.
    out : (n,) INSTANT

    Returns
    -------
    int
        Instants written; n + 1 if `out` is too short.
    """
    rows = occupations.start.shape[0]
    heap_time = np.empty(rows + 1, np.int64)
    heap_row = np.empty(rows + 1, np.int64)
    at = np.full(rows, -1, np.int64)  # sample that holds
    level = np.zeros(rows, np.int64)  # nW above idle of each node
    since = np.zeros(rows, np.int64)
    size = 0
    following = 0
    state = np.zeros(1, INSTANT)[0]
    ac, dc, load = settle_all(groups)
    state.total, state.dc, state.load = ac, dc, load
    for g in range(groups.shape[0]):
        groups[g].since = begin
    written = 0
    now = begin
    while True:
        # everything that happens now: changes and ends, then starts
        while size > 0 and heap_time[0] <= now:
            row = heap_row[0]
            job = occupations.profile[row]
            nodes = np.int64(0)
            for k in range(occupations.pair_offsets[row], occupations.pair_offsets[row + 1]):
                nodes += occupations.pair_nodes[k]
            spent[row] += level[row] / NANO * nodes * (now - since[row])
            since[row] = now
            first, last = profiles.offsets[job], profiles.offsets[job + 1]
            old_cpu = old_gpu = old_flops = np.int64(0)
            if at[row] >= 0:
                held = profiles.samples[at[row]]
                old_cpu, old_gpu, old_flops = held.cpu, held.gpu, held.flops
            new_dc = new_cpu = new_gpu = new_flops = np.int64(0)
            ended = now >= occupations.end[row]
            if not ended:
                place = at[row] + 1 if at[row] >= 0 else first
                elapsed = now - occupations.start[row]
                while place + 1 < last and profiles.samples[place + 1].time <= elapsed:
                    place += 1
                at[row] = place
                fresh = profiles.samples[place]
                new_dc, new_cpu, new_gpu, new_flops = fresh.dc, fresh.cpu, fresh.gpu, fresh.flops
            if new_dc != level[row]:
                change(row, new_dc - level[row], now, occupations, groups, state, origin, resolution, energy)
                level[row] = new_dc
            state.cpu += (new_cpu - old_cpu) * nodes
            state.gpu += (new_gpu - old_gpu) * nodes
            state.flops += (new_flops - old_flops) * nodes
            if ended:
                state.busy -= nodes * occupations.counted[row]
                size -= 1
                if size > 0:
                    replace_top(heap_time, heap_row, size, heap_time[size], heap_row[size])
            else:
                coming = occupations.end[row]
                if at[row] + 1 < last:
                    coming = min(coming, occupations.start[row] + profiles.samples[at[row] + 1].time)
                replace_top(heap_time, heap_row, size, coming, row)
        joined = False
        while following < rows and occupations.start[following] <= now:
            row = following
            following += 1
            if occupations.end[row] <= now:
                continue
            since[row] = now
            job = occupations.profile[row]
            nodes = np.int64(0)
            for k in range(occupations.pair_offsets[row], occupations.pair_offsets[row + 1]):
                nodes += occupations.pair_nodes[k]
            state.busy += nodes * occupations.counted[row]
            coming = occupations.end[row]
            first, last = profiles.offsets[job], profiles.offsets[job + 1]
            if first < last:
                coming = min(coming, occupations.start[row] + profiles.samples[first].time)
            sift_up(heap_time, heap_row, size, coming, row)
            size += 1
            joined = True
        if joined and size > 0 and heap_time[0] <= now:
            continue
        if written >= out.shape[0]:
            return out.shape[0] + 1
        state.time = now
        out[written] = state
        written += 1
        coming = finish
        if size > 0:
            coming = min(coming, heap_time[0])
        if following < rows:
            coming = min(coming, occupations.start[following])
        if now >= finish or coming <= now:
            break
        now = coming
    for row in range(rows):
        if at[row] >= 0 and occupations.end[row] > finish:
            nodes = np.int64(0)
            for k in range(occupations.pair_offsets[row], occupations.pair_offsets[row + 1]):
                nodes += occupations.pair_nodes[k]
            spent[row] += level[row] / NANO * nodes * (finish - since[row])
    if energy.shape[1] > 0:
        for g in range(groups.shape[0]):
            spend(groups[g], finish, origin, resolution, energy)
    return written


@kernel()
def pair_up(offsets, nodes, group_of, pair_offsets, pair_group, pair_nodes):
    """Gather each occupation's nodes by group.

    Parameters
    ----------
    offsets, nodes : (M + 1,) int64, (V,) int32
        Ascending node numbers, occupation after occupation.
    group_of : (N,) int32
        Group of each node.
    pair_offsets : (M + 1,) int64
        Written.
    pair_group, pair_nodes : (>= V,) int32
        Written.
    """
    count = 0
    pair_offsets[0] = 0
    for row in range(offsets.shape[0] - 1):
        begin = count
        for k in range(offsets[row], offsets[row + 1]):
            group = group_of[nodes[k]]
            if count > begin and pair_group[count - 1] == group:
                pair_nodes[count - 1] += 1
            else:
                pair_group[count] = group
                pair_nodes[count] = 1
                count += 1
        pair_offsets[row + 1] = count
    return count


@kernel()
def merge_traces(starts, quanta, offsets, values, missing, times, merged, limits):
    """Merge a job's traces of several kinds into one row of change points; sample and hold.

    Parameters
    ----------
    starts, quanta : (K, J) int64
        First sample and distance of samples, s after the job's start; quantum 0: a scalar for the whole job.
    offsets : (K, J + 1) int64
        Samples of each job in `values`.
    values : (V,) float32
        Samples of all kinds, one after the other.
    missing : (K,) float64
        What holds for a job without that trace (NaN: nothing is known). Before a trace begins 0 holds.
    times : (n,) int64
        Written: change points.
    merged : (n, K) float64
        Written: values that hold from there on.
    limits : (J + 1,) int64
        Written: rows of each job.

    Returns
    -------
    int
        Rows needed; nothing useful is written beyond n.
    """
    kinds, jobs = starts.shape
    at = np.empty(kinds, np.int64)
    count = 0
    limits[0] = 0
    for job in range(jobs):
        at[:] = -1
        now = np.int64(0)
        while True:
            fresh = np.iinfo(np.int64).max
            for kind in range(kinds):
                length = offsets[kind, job + 1] - offsets[kind, job]
                # take every sample that is due; a trace that began before the job has its present one
                while at[kind] + 1 < length:
                    due = 0 if quanta[kind, job] == 0 else starts[kind, job] + (at[kind] + 1) * quanta[kind, job]
                    if due > now:
                        fresh = min(fresh, due)
                        break
                    at[kind] += 1
            if count < times.shape[0]:
                times[count] = now
                same = count > limits[job]
                for kind in range(kinds):
                    value = missing[kind]
                    if at[kind] >= 0:
                        value = np.float64(values[offsets[kind, job] + at[kind]])
                    elif offsets[kind, job + 1] > offsets[kind, job]:
                        value = 0.0
                    merged[count, kind] = value
                    if same and not (
                        value == merged[count - 1, kind] or (np.isnan(value) and np.isnan(merged[count - 1, kind]))
                    ):
                        same = False
                if not same:
                    count += 1
            else:
                count += 1
            if fresh == np.iinfo(np.int64).max:
                break
            now = fresh
        limits[job + 1] = count
    return count


# What the devices of a node of a partition add when they are fully used.
DEVICES = np.dtype(
    [
        ("cpu", np.float64),  # W above idle
        ("gpu", np.float64),  # W above idle
        ("idle", np.float64),  # W of the idle node
        ("full", np.float64),  # W of the fully used node
        ("cpu_flops", np.float64),  # flop/s
        ("gpu_flops", np.float64),  # flop/s
    ]
)


@kernel()
def price(times, merged, limits, partition, devices, samples):
    """Turn how busy a job's devices are, or its nodes' power, into watts above idle and flop/s.

    Parameters
    ----------
    times, merged, limits : (n,) int64, (n, 3) float64, (J + 1,) int64
        As `merge_traces` gives them: shares of processors and GPUs in use, power of a node (NaN: not recorded), W.
    partition : (J,) int32
    devices : (P,) DEVICES
    samples : (n,) SAMPLE
        Written.
    """
    for job in range(limits.shape[0] - 1):
        node = devices[partition[job]]
        for k in range(limits[job], limits[job + 1]):
            cpu, gpu, watts = merged[k, 0], merged[k, 1], merged[k, 2]
            samples[k].time = times[k]
            if np.isnan(watts):
                samples[k].cpu = np.int64(np.rint(cpu * node.cpu * NANO))
                samples[k].gpu = np.int64(np.rint(gpu * node.gpu * NANO))
                samples[k].dc = np.int64(np.rint((cpu * node.cpu + gpu * node.gpu) * NANO))
                samples[k].flops = np.int64(np.rint((cpu * node.cpu_flops + gpu * node.gpu_flops) / 1e3))
            else:
                share = min(max((watts - node.idle) / max(node.full - node.idle, 1e-9), 0.0), 1.0)
                samples[k].cpu = samples[k].gpu = 0
                samples[k].dc = np.int64(np.rint((watts - node.idle) * NANO))
                samples[k].flops = np.int64(np.rint(share * (node.cpu_flops + node.gpu_flops) / 1e3))


@kernel()
def warp(start, end, owner, offsets, samples, pace_time, pace_power, pace_rate, work, limits, out):
    """Stretch what jobs do to the time that they took at lower frequencies, and lower their power accordingly.

    Parameters
    ----------
    start, end, owner : (M,) int64
        When each occupation ran, and which row of the profiles it follows.
    offsets, samples : (J + 1,) int64, (V,) SAMPLE
        The profiles at full frequency.
    pace_time, pace_power, pace_rate : (K,) int64, float64, float64
        From when on which share of the power above idle, and of the speed, held.
    work : (K,) float64
        Work done by then, s at full speed.
    limits : (M + 1,) int64
        Written: rows of each occupation in `out`.
    out : (n,) SAMPLE
        Written; n must be at least the samples of all occupations and the paces during each.
    """
    count = 0
    paces = pace_time.shape[0]
    limits[0] = 0
    for row in range(start.shape[0]):
        pace = np.searchsorted(pace_time, start[row], side="right") - 1
        done = work[pace] + pace_rate[pace] * (start[row] - pace_time[pace])
        sample, last = offsets[owner[row]], offsets[owner[row] + 1]
        now = np.int64(0)
        while sample < last:
            held = samples[sample]
            power, rate = pace_power[pace], pace_rate[pace]
            out[count].time = now
            out[count].dc = np.int64(np.rint(held.dc * power))
            out[count].cpu = np.int64(np.rint(held.cpu * power))
            out[count].gpu = np.int64(np.rint(held.gpu * power))
            out[count].flops = np.int64(np.rint(held.flops * rate))
            if count > limits[row] and out[count - 1].time == now:
                out[count - 1] = out[count]
            else:
                count += 1
            coming = np.iinfo(np.int64).max
            if sample + 1 < last:
                left = done + samples[sample + 1].time - (work[pace] + rate * (start[row] + now - pace_time[pace]))
                coming = now + max(np.int64(np.rint(left / rate)), 0)
            if pace + 1 < paces and pace_time[pace + 1] - start[row] <= coming:
                now = pace_time[pace + 1] - start[row]
                pace += 1
            elif sample + 1 < last:
                now = coming
                sample += 1
            else:
                break
            if start[row] + now >= end[row]:
                break
        limits[row + 1] = count


@kernel()
def place_lowest(start, end, nodes, size, offsets, out):
    """Give each occupation (by start, at one instant ends first) the lowest free nodes; return whether all had room."""
    rows = start.shape[0]
    owner_end = np.full(size, np.iinfo(np.int64).min, np.int64)
    for row in range(rows):
        place = offsets[row]
        for v in range(size):
            if place == offsets[row + 1]:
                break
            if owner_end[v] <= start[row]:
                owner_end[v] = end[row]
                out[place] = v
                place += 1
        if place < offsets[row + 1]:
            return False
    return True
