"""The queue's order in plain Python: the score of every policy, and the fair share that one of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.scheduler import Job

_MASK = 2**64 - 1


@dataclass(frozen=True)
class Multifactor:
    """Weights and horizons of the multifactor priority; the names are those of `twin_gym.config.Multifactor`."""

    age: float = 1000.0
    size: float = 1000.0
    fairshare: float = 1000.0
    queue: float = 1000.0
    max_age: float = 7 * 86400.0
    half_life: float = 7 * 86400.0
    queue_factors: dict[str, float] = field(default_factory=dict)


class FairShare:
    """Decayed node-seconds of every user; someone unknown (None) is a user like any other."""

    def __init__(self, users: Sequence[str | None], half_life: float, now: int) -> None:
        self.half_life = half_life
        self.now = now
        self.usage = dict.fromkeys(users, 0.0)
        self.running_nodes = dict.fromkeys(users, 0)

    def forward(self, now: int) -> None:
        """Let usage decay, and running jobs add to it, until `now`."""
        passed = float(now - self.now)
        for user, nodes in self.running_nodes.items():
            if math.isinf(self.half_life):
                self.usage[user] += nodes * passed
            else:
                decay = math.pow(2.0, -passed / self.half_life)
                self.usage[user] = self.usage[user] * decay + nodes * self.half_life / math.log(2.0) * (1.0 - decay)
        self.now = now

    def factor(self, user: str | None) -> float:
        total = sum(self.usage.values())
        if total == 0.0:
            return 1.0
        return math.pow(2.0, -(self.usage[user] / total) / (1.0 / len(self.usage)))


def uniform(seed: int, job: int) -> float:
    """Return the number in [0, 1) that splitmix64 makes of a seed and a job's index."""
    x = (seed + 0x9E3779B97F4A7C15 * (job + 1)) & _MASK
    z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return (z >> 11) * 2.0**-53


# w wait, t believed request, n nodes, s submit since the first one; in the queue: z longest wait, q shortest request
_FORMULAS: dict[str, Callable[..., float]] = {
    "fcfs": lambda w, t, n, s, z, q: -s,
    "lcfs": lambda w, t, n, s, z, q: s,
    "sjf": lambda w, t, n, s, z, q: -t,
    "longest": lambda w, t, n, s, z, q: t,
    "smallest": lambda w, t, n, s, z, q: -n,
    "largest": lambda w, t, n, s, z, q: n,
    "saf": lambda w, t, n, s, z, q: -n * t,
    "laf": lambda w, t, n, s, z, q: n * t,
    "srf": lambda w, t, n, s, z, q: -t / n,
    "lrf": lambda w, t, n, s, z, q: t / n,
    "sexp": lambda w, t, n, s, z, q: -(w + t) / t,
    "lxf": lambda w, t, n, s, z, q: (w + t) / t,
    "wfp1": lambda w, t, n, s, z, q: w / t * n,
    "wfp2": lambda w, t, n, s, z, q: math.pow(w / t, 2.0) * n,
    "wfp3": lambda w, t, n, s, z, q: math.pow(w / t, 3.0) * n,
    "unicep": lambda w, t, n, s, z, q: w / (math.log2(max(n, 2.0)) * t),
    "f1": lambda w, t, n, s, z, q: -(math.log10(t) * n + 870.0 * math.log10(max(s, 1.0))),
    "f2": lambda w, t, n, s, z, q: -(math.sqrt(t) * n + 25600.0 * math.log10(max(s, 1.0))),
    "f3": lambda w, t, n, s, z, q: -(t * n + 6860000.0 * math.log10(max(s, 1.0))),
    "f4": lambda w, t, n, s, z, q: -(t * math.sqrt(n) + 530000.0 * math.log10(max(s, 1.0))),
    "bal": lambda w, t, n, s, z, q: w / z + q / t,
}

POLICIES = (*_FORMULAS, "priority", "multifactor", "replay", "random")


def scores(
    policy: str,
    waiting: Sequence[int],
    jobs: Sequence[Job],
    requests: Sequence[int],
    now: int,
    *,
    nodes: int,
    seed: int,
    multifactor: Multifactor,
    fair_share: FairShare,
) -> dict[int, float]:
    """Return the score of every waiting job; larger is earlier.

    Parameters
    ----------
    waiting : sequence of int
        Indices of the waiting jobs.
    requests : sequence of int
        What the scheduler believes that each of all jobs requested, s.
    nodes : int
        Size of the machine.
    """
    if policy == "priority":
        return {j: 0.0 if math.isnan(jobs[j].priority) else jobs[j].priority for j in waiting}
    if policy == "replay":
        return {j: -float(jobs[j].start) for j in waiting}
    if policy == "random":
        return {j: uniform(seed, j) for j in waiting}
    if policy == "multifactor":
        m = multifactor
        return {
            j: m.age * min((now - jobs[j].submit) / m.max_age, 1.0)
            + m.size * jobs[j].nodes / nodes
            + m.fairshare * fair_share.factor(jobs[j].user)
            + m.queue * m.queue_factors.get(jobs[j].partition, 0.0)
            for j in waiting
        }
    longest_wait = max((now - jobs[j].submit for j in waiting), default=0) or 1
    shortest_request = float(min((requests[j] for j in waiting), default=0))
    formula = _FORMULAS[policy]
    return {
        j: formula(
            now - jobs[j].submit,
            float(requests[j]),
            float(jobs[j].nodes),
            float(jobs[j].submit - jobs[0].submit),
            longest_wait,
            shortest_request,
        )
        for j in waiting
    }
