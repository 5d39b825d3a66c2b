"""The power of a machine second by second, from the definition: a loop over seconds, chassis and nodes."""

from __future__ import annotations

import math


def node_watts(part, cpu, gpu):
    """Direct current of a node whose processors and GPUs are busy to these shares."""
    node = part.node
    return (
        node.cpus * (node.cpu_idle_w + cpu * (node.cpu_max_w - node.cpu_idle_w))
        + node.gpus * (node.gpu_idle_w + gpu * (node.gpu_max_w - node.gpu_idle_w))
        + node.memory_w
        + node.nics * node.nic_idle_w
        + node.nvme_w
    )


def share_at(trace, job, elapsed, assumed):
    """Sample and hold: the last sample that is due; 0 before the first; what is assumed where there is none."""
    samples = trace.values[trace.offsets[job] : trace.offsets[job + 1]]
    if not len(samples):
        return assumed
    if trace.quantum[job] == 0:
        return float(samples[0])
    due = (elapsed - int(trace.start[job])) // int(trace.quantum[job])
    return 0.0 if due < 0 else float(samples[min(due, len(samples) - 1)])


def machine(system, workload, start, end, nodes, second, *, smart=False, assumed=0.7):
    """Return (total, IT, watts of each CDU's chassis) during one second.

    `nodes` holds the node numbers of each job; direct current to the mains through converter and rectifiers.
    """
    part = system.partitions[0]
    topology, conversion = part.topology, part.conversion
    watts = {int(place): node_watts(part, 0.0, 0.0) for place in system.places}
    for job in range(len(workload)):
        if start[job] <= second < end[job]:
            cpu, gpu = (share_at(workload.traces[k], job, second - start[job], assumed) for k in ("cpu", "gpu"))
            for v in nodes[job]:
                watts[int(system.places[v])] = node_watts(part, cpu, gpu)
    it = sum(watts.values())
    cdus = [0.0] * topology.cdus
    for chassis in range(topology.racks * topology.chassis_per_rack):
        rack = chassis // topology.chassis_per_rack
        if rack in topology.missing_racks:
            continue
        load = topology.switches_per_chassis * part.switch_w
        it += load
        for place in range(chassis * topology.nodes_per_chassis, (chassis + 1) * topology.nodes_per_chassis):
            if place in watts:
                load += (watts[place] + conversion.sivoc_constant_w) / conversion.sivoc_efficiency
        running = topology.rectifiers_per_chassis
        if smart:
            running = min(max(math.floor((load - 1) / conversion.load_sharing_threshold_w) + 1, 1), running)
        cdus[rack // topology.racks_per_cdu] += (
            running * (load / running + conversion.rectifier_constant_w) / conversion.rectifier_efficiency
        )
    return sum(cdus) + topology.cdus * part.cdu_pump_w, it, cdus
