"""How a description is read: dataclasses whose annotations carry ranges, checked with errors that name the key.

A class that derives from `Checked` declares its keys as annotated fields::

    @dataclass(frozen=True)
    class Node(Checked):
        cpus: Annotated[int, Range(1, 64)]
        nvme_w: Annotated[float, Range(0, 1e4, "W")] = 0.0

Built in Python or read from YAML, the same checks hold; `read` adds the path of the key, `load_yaml` and `line_of` its
line.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from twin_gym.errors import SystemConfigError, suggest

T = TypeVar("T", bound="Checked")


@dataclass(frozen=True)
class Range:
    """The values that a number may have: low <= value <= high, in `unit`."""

    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        return f"between {self.low:.12g} and {self.high:.12g}" + (f" {self.unit}" if self.unit else "")


class Rule(NamedTuple):
    """What one key may hold."""

    kind: Any  # int, float, bool, str, a Literal's choices (tuple), or a class derived from Checked
    many: bool  # a list of them
    optional: bool  # may be left out or null
    required: bool  # has no default
    notes: tuple[Any, ...]  # Range and other marks of the annotation


class FieldError(SystemConfigError):
    """A wrong value, with the path of its key.

    Parameters
    ----------
    path : tuple of str
        Keys from the top of the description down to the wrong one.
    problem : str
        The rest of the sentence, which begins right after the dotted path.
    """

    def __init__(self, path: tuple[str, ...], problem: str) -> None:
        super().__init__(f"{'.'.join(path)}{problem}")
        self.path = path
        self.problem = problem


class Checked:
    """Base of the parts of a description: every field is checked when an object is made."""

    def __post_init__(self) -> None:
        for key, rule in rules(type(self)).items():
            # frozen, but not yet seen by anybody
            object.__setattr__(self, key, _value(rule, getattr(self, key), (key,)))
        self.check()

    def check(self) -> None:
        """Check what several fields have to do with each other; raise `FieldError`."""

    def in_order(self, *keys: str) -> None:
        """Check that the values of these keys do not descend."""
        for low, high in pairwise(keys):
            least, value = getattr(self, low), getattr(self, high)
            if value < least:
                raise FieldError((high,), f"={value} is less than {low}={least}.")


_RULES: dict[type, dict[str, Rule]] = {}  # read from the annotations once per class


def rules(cls: type[Checked]) -> dict[str, Rule]:
    """Return what each key of a class may hold, in the order of definition."""
    if cls not in _RULES:
        hints = get_type_hints(cls, include_extras=True)
        found = {}
        for item in fields(cast(Any, cls)):
            required = item.default is MISSING and item.default_factory is MISSING
            found[item.name] = _rule(hints[item.name], required)
        _RULES[cls] = found
    return _RULES[cls]


def _rule(hint: Any, required: bool) -> Rule:
    notes: tuple[Any, ...] = ()
    many = optional = False
    while True:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            hint, notes = arguments[0], (*notes, *arguments[1:])
        elif origin in (Union, types.UnionType):
            hint, optional = next(part for part in arguments if part is not types.NoneType), True
        elif origin is tuple:
            hint, many = arguments[0], True
        elif origin is Literal:
            return Rule(arguments, many, optional, required, notes)
        else:
            return Rule(hint, many, optional, required, notes)


def read(cls: type[T], data: object, path: tuple[str, ...] = ()) -> T:
    """Make an object of a class from plain data.

    Parameters
    ----------
    cls : type
        A frozen dataclass derived from `Checked`.
    data : mapping
        Keys and values as they come from YAML.
    path : tuple of str
        Where `data` stands in the whole description.

    Raises
    ------
    FieldError
        If a key is unknown or missing, or a value has the wrong type or is out of range.
    """
    if not isinstance(data, Mapping):
        raise FieldError(path, f" must hold keys and values, not {_shown(data)}.")
    known = rules(cls)
    for key in data:
        if key not in known:
            raise FieldError((*path, str(key)), f" is not a known key.{suggest(str(key), known)}")
    for key, rule in known.items():
        if rule.required and key not in data:
            raise FieldError((*path, key), " is missing.")
    values = {key: _value(known[key], value, (*path, key)) for key, value in data.items()}
    try:
        return cls(**values)
    except FieldError as error:
        raise FieldError((*path, *error.path), error.problem) from None


def read_key(cls: type[Checked], key: str, value: object, path: tuple[str, ...]) -> Any:
    """Check one value as if it were that key of a class, under the path that the user knows it by."""
    return _value(rules(cls)[key], value, path)


def plain(value: Any) -> Any:
    """Return an object as plain data that `read` turns into an equal object; what is None is left out."""
    if isinstance(value, Checked):
        items = ((key, plain(getattr(value, key))) for key in rules(type(value)))
        return {key: item for key, item in items if item is not None}
    if isinstance(value, tuple):
        whole = all(isinstance(item, int) for item in value)
        return _spans(value) if whole else [plain(item) for item in value]
    return value


def _value(rule: Rule, value: Any, path: tuple[str, ...]) -> Any:
    if value is None:
        if rule.optional:
            return None
        raise FieldError(path, " has no value.")
    if not rule.many:
        return _one(rule, value, path)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise FieldError(path, f"={_shown(value)} must be a list.")
    items = _ids(value, path) if rule.kind is int else value
    return tuple(_one(rule, item, path) for item in items)


def _one(rule: Rule, value: Any, path: tuple[str, ...]) -> Any:
    kind = rule.kind
    if isinstance(kind, tuple):
        if value not in kind:
            raise FieldError(path, f"={_shown(value)} is unknown.{suggest(str(value), kind)}")
        return value
    if issubclass(kind, Checked):
        return value if isinstance(value, kind) else read(kind, value, path)
    if kind is float and _is_number(value):
        value = float(value)
    elif kind is int and _is_number(value) and math.isfinite(value) and value == int(value):
        value = int(value)
    elif kind not in (bool, str) or not isinstance(value, kind):
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        raise FieldError(path, f"={_shown(value)} must be {names[kind]}.")
    for note in rule.notes:
        if isinstance(note, Range) and not note.low <= value <= note.high:  # also catches NaN
            raise FieldError(path, f"={value} is out of range: it must lie {note}.")
    if kind is str and not value.strip():
        raise FieldError(path, " is empty text.")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _ids(items: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    """Expand spans such as ``"8-11"`` in a list of ids."""
    found: list[Any] = []
    for item in items:
        first, _, last = str(item).partition("-")
        if isinstance(item, str) and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < 10**8:
            found.extend(range(int(first), int(last) + 1))
        elif isinstance(item, str):
            raise FieldError(path, f" holds {_shown(item)}; write ids and spans such as [3, '8-11'].")
        else:
            found.append(item)
    return found


def _spans(ids: Iterable[int]) -> list[int | str]:
    """Write ids briefly: the inverse of `_ids`."""
    spans: list[list[int]] = []
    for number in ids:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [first if first == last else f"{first}-{last}" for first, last in spans]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as OmegaConf reads it: 5e13 is a number (YAML 1.1 wants 5.0e+13), and no key stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            problem = "a key must be a word"
            if isinstance(key, yaml.ScalarNode):
                if key.tag == "tag:yaml.org,2002:merge" or key.value not in seen:
                    seen.add(key.value)
                    continue
                problem = f"the key {key.value!r} stands twice"
            raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        return cast("dict[Any, Any]", super().construct_mapping(node, deep))


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\d[\d_]*)(?:\.[\d_]*)?[eE][-+]?\d+$"),
    list("-+0123456789"),
)


def load_yaml(path: Path) -> tuple[Any, yaml.Node | None]:
    """Read a YAML file.

    Returns
    -------
    data, tree
        Its content, and the tree of nodes in which `line_of` finds lines.

    Raises
    ------
    SystemConfigError
        If the file can't be read or is not YAML; names file and line.
    """
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        tree = loader.get_single_node()
        return (loader.construct_document(tree) if tree else None), tree
    except UnicodeDecodeError:
        raise SystemConfigError(f"{path} is not a text file.") from None
    except OSError as error:
        raise SystemConfigError(f"{path} can't be read: {error.strerror}.") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SystemConfigError(f"{path}{line}: {error.problem or 'not valid YAML'}.") from None
    except (yaml.YAMLError, RecursionError):
        raise SystemConfigError(f"{path} is not a text file in YAML.") from None


def line_of(tree: yaml.Node | None, path: tuple[str, ...]) -> int:
    """Return the line, from 1, of a key in a YAML tree, or of its nearest ancestor that is there."""
    line, node = 1, tree
    for key in path:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        entry = next(((name, value) for name, value in pairs if name.value == key), None)
        if entry is None:
            break
        line, node = entry[0].start_mark.line + 1, entry[1]
    return line
