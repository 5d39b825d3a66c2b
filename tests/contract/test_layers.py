"""Imports point downward only, and say openly what they need."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"twin_gym": "twin_gym", **{f"twin_gym.{name}": name for name in ("agents", "conf", "datasets", "envs")}}

# From the ground up. Whoever stands on a floor may use it and those below.
FLOORS = ("kernels", "core", "datasets", "envs", "agents", "conf", "doors")
DOORS = ("twin_gym.__main__", "twin_gym.cli", "twin_gym.commands")
NUMERICS = {"numba", "numpy"}


def modules() -> dict[str, Path]:
    """Every module of the tree by its installed name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def floor(module: str) -> int:
    """The floor on which a module stands."""
    if module == "twin_gym" or any(module == door or module.startswith(f"{door}.") for door in DOORS):
        return FLOORS.index("doors")
    room = module.split(".")[1]
    return FLOORS.index(room if room in FLOORS else "core")


def imports(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of everything imported: relative, inside functions and by `import_module` too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = module.split(".")
                base = base[: len(base) - level + is_package] if level else []
                origin = ".".join([*base, *([source] if source else [])])
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def at_load(tree: ast.Module) -> ast.Module:
    """Keep the statements that run when the module is loaded: no function bodies, no `if TYPE_CHECKING`."""

    class Strip(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None: ...

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    stripped = Strip().visit(tree)
    assert isinstance(stripped, ast.Module)
    return stripped


def own_module(name: str) -> str | None:
    """The module of ours that `from module import name` or `import module` reaches, if any."""
    if name in MODULES:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in MODULES else None


def faults(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Say what is wrong with a module's imports."""
    found = []
    for line, name in imports(ast.parse(source), module, is_package=is_package):
        top = name.split(".")[0]
        if top in {"agents", "benchmarks", "conf", "datasets", "envs", "notebooks", "tests"}:
            found.append(f"{module}:{line} imports top-level {name}: write twin_gym.{name}, or a relative import")
        elif name == "twin_gym.__version__":
            continue
        elif target := own_module(name):
            if floor(target) > floor(module):
                found.append(f"{module}:{line} ({FLOORS[floor(module)]}) reaches up to {target}")
            elif FLOORS[floor(module)] == "kernels" and target == "twin_gym":
                found.append(f"{module}:{line} imports twin_gym itself")
        elif top == "twin_gym":
            found.append(f"{module}:{line} imports {name}, which doesn't exist")
        elif FLOORS[floor(module)] == "kernels" and top not in NUMERICS | sys.stdlib_module_names:
            found.append(f"{module}:{line} imports {name}: kernels know nothing but numpy and numba")
    return found


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_downward(module: str) -> None:
    path = MODULES[module]
    assert faults(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("twin_gym.config", "from twin_gym.envs import anything"),
        ("twin_gym.config", "from twin_gym import datasets"),
        ("twin_gym.config", "from twin_gym import System"),
        ("twin_gym.config", "from . import agents"),
        ("twin_gym.config", "def f():\n    import twin_gym.agents"),
        ("twin_gym.config", "from importlib import import_module\nimport_module('twin_gym.conf')"),
        ("twin_gym.config", "import datasets"),
        ("twin_gym.config", "import twin_gym.no_such_module"),
        ("twin_gym.datasets.swf", "from ..envs import anything"),
        ("twin_gym.envs.core", "from ..agents import anything"),
        ("twin_gym.kernels.state", "from twin_gym.errors import TwinGymError"),
        ("twin_gym.kernels.state", "import pandas"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(faults(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("twin_gym.config", "from twin_gym import __version__"),
        ("twin_gym.agents.train", "from ..envs import anything\nfrom twin_gym.config import RunConfig\nimport torch"),
        ("twin_gym.datasets.swf", "from .registry import names\nfrom twin_gym.errors import suggest"),
        ("twin_gym.kernels.state", "import numpy as np\nfrom twin_gym.kernels import anything\nfrom typing import Any"),
        ("twin_gym.cli", "from twin_gym import datasets, envs"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert not [fault for fault in faults(source, module) if "doesn't exist" not in fault]


def test_no_two_modules_need_each_other_to_load() -> None:
    graph = {}
    for module, path in MODULES.items():
        tree = at_load(ast.parse(path.read_text(encoding="utf-8")))
        needed = {own_module(name) for _, name in imports(tree, module, is_package=path.name == "__init__.py")}
        graph[module] = {other for other in needed if other not in {None, module, "twin_gym"}}
    TopologicalSorter(graph).prepare()  # raises CycleError with the circle in it


def test_every_foreign_module_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = {
        "".join(letter if letter.isalnum() or letter in "-_" else " " for letter in requirement).split()[0]
        for requirement in [*project["dependencies"], *(r for name in extras for r in extras[name])]
    }
    distributions = packages_distributions()
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in imports(tree, module, is_package=path.name == "__init__.py"):
            top = name.split(".")[0]
            if top in sys.stdlib_module_names or top == "twin_gym":
                continue
            names = {distribution.lower().replace("_", "-") for distribution in distributions.get(top, [top])}
            assert names & declared, f"{module}:{line} imports {name}, which pyproject.toml does not ask for"
