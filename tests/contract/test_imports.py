"""What `import twin_gym` gives, what it costs, and what it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import twin_gym as tg

ROOT = Path(__file__).resolve().parents[2]
SLOW_TO_LOAD = {
    "gymnasium",
    "hydra",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "stable_baselines3",
    "torch",
}


def fresh(code: str, folder: Path) -> Any:
    """Run code in a new interpreter outside the checkout; return the JSON that it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def loaded_by(statements: str, folder: Path) -> set[str]:
    """Modules that the statements load into a bare interpreter."""
    report = "print(json.dumps([*({*sys.modules} - old)]))"
    return set(fresh(f"import json, sys; old = {{*sys.modules}}; {statements}; {report}", folder))


def test_importing_the_package_costs_next_to_nothing(tmp_path: Path) -> None:
    loaded = loaded_by("import twin_gym", tmp_path)
    assert not {module.split(".")[0] for module in loaded} & SLOW_TO_LOAD
    assert len(loaded) < 50, sorted(loaded)


def test_simulating_needs_no_plots_no_learning_and_no_environments(tmp_path: Path) -> None:
    loaded = loaded_by("from twin_gym import Result, System, Twin, Workload, compare, policies, simulate", tmp_path)
    tops = {module.split(".")[0] for module in loaded}
    assert not tops & {"gymnasium", "hydra", "matplotlib", "sklearn", "stable_baselines3", "torch"}
    assert not {
        module
        for module in loaded
        if module.startswith(("twin_gym.envs", "twin_gym.agents", "pandas.plotting._matplotlib"))
    }


@pytest.mark.parametrize("name", sorted(tg.__all__))
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(tg, name)
    assert value is getattr(tg, name)
    assert name in dir(tg)
    if name not in {"__version__", "agents", "datasets", "envs"}:
        assert value.__name__ == name
        assert value.__module__.startswith("twin_gym.")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = tg.simulat
    assert not hasattr(tg, "__wrapped__")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import twin_gym.simulate, twin_gym.policies",
        "from twin_gym.simulate import compare; from twin_gym.policies import policies",
        "import importlib; importlib.import_module('twin_gym.simulate'); importlib.import_module('twin_gym.policies')",
        "from twin_gym import simulate, policies",
    ],
)
def test_functions_are_not_hidden_by_their_modules(before: str, tmp_path: Path) -> None:
    code = f"""
import json
{before}
import twin_gym as tg
first = [type(tg.simulate).__name__, type(tg.policies).__name__]
import twin_gym.simulate, twin_gym.policies
from twin_gym.simulate import simulate
again = [type(tg.simulate).__name__, type(tg.policies).__name__]
print(json.dumps([*first, *again, tg.simulate is simulate]))
"""
    assert fresh(code, tmp_path) == ["function", "function", "function", "function", True]


@pytest.mark.parametrize("name", ["agents", "conf", "datasets", "envs"])
def test_nothing_of_ours_is_importable_at_the_top_level(name: str, tmp_path: Path) -> None:
    # another distribution may own the name (Hugging Face's `datasets`)
    code = f"""
import json
from importlib.util import find_spec
spec = find_spec({name!r})
places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
print(json.dumps([str(place) for place in places]))
"""
    assert not [place for place in fresh(code, tmp_path) if Path(place).is_relative_to(ROOT)]


def test_the_editable_install_is_this_checkout(tmp_path: Path) -> None:
    code = "import json, twin_gym, twin_gym.envs; print(json.dumps([twin_gym.__file__, twin_gym.envs.__file__]))"
    assert [Path(place) for place in fresh(code, tmp_path)] == [
        ROOT / "twin_gym" / "__init__.py",
        ROOT / "envs" / "__init__.py",
    ]
