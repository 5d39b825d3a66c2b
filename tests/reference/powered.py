"""A scheduler under a power cap whose idle nodes are switched off, from the definition: lists, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass, field

NEVER = 10**15


@dataclass
class Job:
    """A job as the scheduler sees it, and what becomes of it."""

    submit: int
    runtime: int
    request: int
    nodes: int
    watts: int
    allocated: int = -1
    start: int = -1
    end: int = -1
    held: list[int] = field(default_factory=list)


@dataclass
class Claim:
    """Nodes and watts from one time to another: a running job as it is planned, or a reservation."""

    begin: int
    end: int
    nodes: int
    watts: int


def schedule(jobs, nodes, cap, key, backfill, *, depth=1, timeout=None, boot=0, shutdown=0):
    """Run the jobs; `key` orders the queue, `timeout=None`: no node is ever switched off. Returns naps as tuples."""
    down = {v: NEVER if timeout is None else timeout + min(job.submit for job in jobs) for v in range(nodes)}
    naps = []
    waiting, running, coming = [], [], sorted(jobs, key=lambda job: job.submit)
    while coming or running:
        now = min([job.submit for job in coming[:1]] + [job.end for job in running])
        for job in [job for job in running if job.end == now]:
            running.remove(job)
            for v in job.held:
                down[v] = NEVER if timeout is None else now + timeout
        while coming and coming[0].submit == now:
            job = coming.pop(0)
            if job.nodes <= nodes and job.watts <= cap:
                waiting.append(job)
        waiting.sort(key=key)
        claims = [Claim(now, max(job.allocated + planned(job), now + 1), job.nodes, job.watts) for job in running]
        reserved = 0
        for job in list(waiting):
            busy = {v for other in running for v in other.held}
            ready = [v for v in range(nodes) if v not in busy and now <= down[v]]
            length = job.request + (boot if job.nodes > len(ready) else 0)
            if fits(claims, nodes, cap, job, now, length):
                among = ready if job.nodes <= len(ready) else [v for v in range(nodes) if v not in busy]
                job.held = among[: job.nodes]
                delay = 0
                for v in job.held:
                    if now > down[v]:
                        this = max(down[v] + shutdown - now, 0) + boot
                        naps.append((v, down[v], now, now + this))
                        delay = max(delay, this)
                job.allocated, job.start = now, now + delay
                job.end = job.start + min(job.runtime, job.request)
                waiting.remove(job)
                running.append(job)
                claims.append(Claim(now, now + (planned(job) if not reserved else length), job.nodes, job.watts))
            elif backfill == "none":
                break
            elif backfill == "conservative" or (backfill == "easy" and reserved < depth):
                begin = min(t for t in {claim.end for claim in claims} if fits(claims, nodes, cap, job, t, job.request))
                claims.append(Claim(begin, begin + job.request, job.nodes, job.watts))
                reserved += 1
    return naps


def planned(job):
    """How long a running job is planned to hold its nodes, booting among it."""
    return job.start - job.allocated + job.request


def fits(claims, nodes, cap, job, begin, length):
    """Tell whether the job's nodes and watts are left over by all claims for all of that time."""
    for t in {begin, *(claim.begin for claim in claims if begin < claim.begin < begin + length)}:
        present = [claim for claim in claims if claim.begin <= t < claim.end]
        if sum(claim.nodes for claim in present) + job.nodes > nodes:
            return False
        if sum(claim.watts for claim in present) + job.watts > cap:
            return False
    return True
