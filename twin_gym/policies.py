"""The table of ordering policies: name, formula, source. Their arithmetic stands in `kernels/order.py`.

In the formulas, larger means earlier; w = wait so far [s], t = requested walltime [s], n = requested nodes, s = submit
time since the workload's first submit [s], z = longest wait in the queue (1 if 0) [s], l = shortest request in it [s].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twin_gym.errors import PolicyError, suggest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Policy:
    """One way to order the queue.

    Attributes
    ----------
    name : str
        What users type.
    code : int
        Its constant in `twin_gym.kernels.order`.
    formula : str
        The score; larger is earlier.
    moves : bool
        Whether the order changes as time passes.
    source : str
        Where it was published.
    """

    name: str
    code: int
    formula: str
    moves: bool
    source: str


_LELONG = "Lelong, Reis, Trystram, JSSPP 2017"
_CARASTAN = "Carastan-Santos, de Camargo, SC 2017"

TABLE: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("fcfs", 0, "-s", False, "first come, first served"),
        Policy("lcfs", 1, "s", False, _LELONG),
        Policy("sjf", 2, "-t", False, f"shortest request first; {_LELONG}"),
        Policy("longest", 3, "t", False, f"longest request first; {_LELONG}"),
        Policy("smallest", 4, "-n", False, f"fewest nodes first; {_LELONG}"),
        Policy("largest", 5, "n", False, f"most nodes first; {_LELONG}"),
        Policy("saf", 6, "-n*t", False, f"smallest area first; {_LELONG}"),
        Policy("laf", 7, "n*t", False, f"largest area first; {_LELONG}"),
        Policy("srf", 8, "-t/n", False, f"smallest ratio first; {_LELONG}"),
        Policy("lrf", 9, "t/n", False, f"largest ratio first; {_LELONG}"),
        Policy("sexp", 10, "-(w+t)/t", True, f"smallest expansion factor first; {_LELONG}"),
        Policy("lxf", 11, "(w+t)/t", True, f"largest expansion factor first; {_LELONG}"),
        Policy("wfp1", 12, "w/t*n", True, "Tang et al., CLUSTER 2009, exponent 1"),
        Policy("wfp2", 13, "(w/t)^2*n", True, "Tang et al., CLUSTER 2009, exponent 2"),
        Policy("wfp3", 14, "(w/t)^3*n", True, "Tang et al., CLUSTER 2009; Cobalt's utility function"),
        Policy("unicep", 15, "w/(log2(max(n,2))*t)", True, "Tang et al., CLUSTER 2009, as in RLScheduler"),
        Policy("f1", 16, "-(log10(t)*n + 870*log10(max(s,1)))", False, _CARASTAN),
        Policy("f2", 17, "-(sqrt(t)*n + 25600*log10(max(s,1)))", False, _CARASTAN),
        Policy("f3", 18, "-(t*n + 6860000*log10(max(s,1)))", False, _CARASTAN),
        Policy("f4", 19, "-(t*sqrt(n) + 530000*log10(max(s,1)))", False, _CARASTAN),
        Policy("bal", 20, "w/z + l/t", True, "metric-aware balance: Tang et al., IPDPS 2012"),
        Policy("priority", 21, "recorded priority", False, "the log's own priority column"),
        Policy(
            "multifactor",
            22,
            "age*min(w/max_age,1) + size*n/N + fairshare*2^(-usage/share) + queue*factor",
            True,
            "Slurm's priority/multifactor",
        ),
        Policy("replay", 23, "-recorded start", False, "starts each job at its recorded start, on its recorded nodes"),
        Policy("random", 24, "uniform(seed, job)", False, "a seeded shuffle"),
        Policy("loglinear", 90, "weights . (terms of FAMILIES)", True, "learned weights; without any, about saf"),
        Policy("exponential", 91, "sum_j weight_j exp(1/sqrt(x_j + 1))", True, "ML-guided scheduling of S-RAPS"),
    )
}


@dataclass(frozen=True)
class Family:
    """Priority functions that differ in their weights.

    Attributes
    ----------
    terms : tuple of str
        What each weight is multiplied by.
    weights : tuple of float
        Those that hold where none are given.
    positive : bool
        Whether weights lie in [0, 1]; else in [-1, 1]. (Orders depend on their ratios alone.)
    """

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    positive: bool = False


FAMILIES: dict[str, Family] = {
    "loglinear": Family(
        terms=(
            "log t",
            "log n",
            "log(w+1)",
            "log((w+t)/t)",
            "log t * log n",
            "(log t)^2",
            "(log n)^2",
            "(log((w+t)/t))^2",
            "log((w+t)/t) * log n",
            "log((w+t)/t) * log t",
        ),
        weights=(-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    "exponential": Family(
        terms=("e(wait [h])", "e(t [h])", "e(n [% of machine])", "e(n t [% of machine x h])"),
        weights=(-1.0, 1.0, 1.0, 1.0),
    ),
    "multifactor": Family(terms=("age", "size", "fairshare", "queue"), weights=(1.0, 1.0, 1.0, 1.0), positive=True),
}
"""Policies with weights; e(x) = exp(1 / sqrt(x + 1)). The weights of multifactor are those of `Multifactor`."""


def find_policy(name: str) -> Policy:
    """Look a policy up.

    Raises
    ------
    PolicyError
        If there is none of that name; the message suggests the nearest one, or says what is ambiguous about ``ljf``.
    """
    policy = TABLE.get(str(name))
    if policy is None:
        if str(name).lower() in ("ljf", "lpf", "lqf"):
            raise PolicyError(
                f"policy={name!r} is ambiguous: some simulators mean the longest request, others the most nodes; "
                "choose 'longest' or 'largest'."
            )
        raise PolicyError(f"policy={name!r} is unknown.{suggest(str(name), TABLE)}")
    return policy


def policies() -> pd.DataFrame:
    """Return the table of ordering policies.

    Returns
    -------
    pandas.DataFrame
        Columns policy, formula (larger is earlier), moves (whether the order changes as time passes), source.
    """
    import pandas as pd

    rows = [(p.name, p.formula, p.moves, p.source) for p in TABLE.values()]
    return pd.DataFrame(rows, columns=["policy", "formula", "moves", "source"])
