"""Priority functions that somebody has learned: a family and its weights, in a small YAML file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import yaml

from twin_gym.errors import PolicyError, suggest
from twin_gym.policies import FAMILIES

LEARNED = "learned:"  # before the name of a file, where a policy is named


@dataclass(frozen=True)
class PriorityFunction:
    """How to score a waiting job; larger is earlier.

    Attributes
    ----------
    family : str
        ``loglinear``, ``exponential`` or ``multifactor``.
    weights : tuple of float
        One for each term of the family.
    note : str
        Where it comes from.

    Raises
    ------
    PolicyError
        If there is no such family, or the weights are not as many finite numbers as it has terms.
    """

    family: str
    weights: tuple[float, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise PolicyError(f"family={self.family!r} is unknown.{suggest(str(self.family), FAMILIES)}")
        terms = FAMILIES[self.family].terms
        if len(self.weights) != len(terms):
            raise PolicyError(
                f"policy={self.family} needs {len(terms)} weights ({', '.join(terms)}), not {len(self.weights)}."
            )
        weights = tuple(float(weight) for weight in self.weights)
        if not all(math.isfinite(weight) for weight in weights):
            raise PolicyError(f"the weights of policy={self.family} must be finite numbers, not {weights}.")
        object.__setattr__(self, "weights", weights)

    @property
    def formula(self) -> str:
        """The score in words, without the terms whose weight is 0."""
        parts = [
            f"{weight:+.4g} {term}"
            for weight, term in zip(self.weights, FAMILIES[self.family].terms, strict=True)
            if weight != 0.0
        ]
        return " ".join(parts) or "0"

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file that ``policy=learned:FILE`` reads."""
        terms = dict(zip(FAMILIES[self.family].terms, self.weights, strict=True))
        text = yaml.safe_dump({"family": self.family, "weights": terms, "note": self.note}, sort_keys=False)
        Path(path).write_text(text, encoding="utf-8")


def read_function(path: str | PathLike[str]) -> PriorityFunction:
    """Read a priority function.

    Raises
    ------
    PolicyError
        If the file can't be read or is not one.
    """
    name = str(path)
    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is no text"
        raise PolicyError(f"policy={LEARNED}{name} can't be read: {why}.") from None
    except yaml.YAMLError:
        raise PolicyError(f"policy={LEARNED}{name} is no YAML; write one with PriorityFunction.save.") from None
    if not isinstance(found, dict) or "family" not in found or not isinstance(found.get("weights"), dict):
        raise PolicyError(f"{name} is no priority function: it needs 'family' and 'weights' (a weight for each term).")
    family = FAMILIES.get(found["family"])
    terms = family.terms if family is not None else tuple(found["weights"])
    for term, weight in found["weights"].items():
        if term not in terms:
            raise PolicyError(f"{name}: {found['family']} has no term {term!r}.{suggest(str(term), terms)}")
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise PolicyError(f"{name}: the weight of {term!r} must be a number, not {weight!r}.")
    weights = tuple(float(found["weights"].get(term, 0.0)) for term in terms)
    return PriorityFunction(found["family"], weights, str(found.get("note", "")))
