"""Every example runs, small; one whose library is absent says so in a sentence."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PINNED = {
    "sb3_ppo": ["--steps", "2000", "--envs", "8", "--episodes", "8"],
    "sb3_maskable_ppo": ["--steps", "2000", "--envs", "8", "--episodes", "8"],
    "cleanrl_ppo": ["--steps", "6000", "--envs", "8"],
}
OTHERS = {
    "rllib_ppo": ["--iterations", "2", "--batch", "1000", "--envs", "2"],
    "torchrl_ppo": ["--steps", "1500", "--batch", "500"],
    "pufferlib_rollout": ["--steps", "50000"],
}
LIBRARIES = {"rllib_ppo": "ray", "torchrl_ppo": "torchrl", "pufferlib_rollout": "pufferlib"}


def run(name, arguments, capsys):
    slowdown = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](arguments)
    assert math.isfinite(slowdown)
    assert slowdown >= 1
    assert "bounded slowdown" in capsys.readouterr().out


def test_every_example_is_tried():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PINNED, *OTHERS}


@pytest.mark.slow
@pytest.mark.parametrize("name", PINNED)
def test_an_example_runs(name, capsys):
    run(name, PINNED[name], capsys)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # these libraries have no pinned version, and warnings of their own
@pytest.mark.parametrize("name", OTHERS)
def test_an_example_with_another_library_runs_where_it_is_installed(name, capsys):
    pytest.importorskip(LIBRARIES[name], reason=f"{LIBRARIES[name]} is not among the packages that tests install")
    run(name, OTHERS[name], capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "library"), sorted(LIBRARIES.items()))
def test_an_absent_library_is_named(name, library):
    # None in sys.modules makes an import fail as if the library were not installed
    code = f"import runpy, sys; sys.modules[{library!r}] = None; runpy.run_path({str(EXAMPLES / name) + '.py'!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("this example needs ")
    assert "pip install" in done.stderr
    assert done.stderr.count("\n") == 1
