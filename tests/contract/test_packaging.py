"""The wheel and the sdist hold the whole tree, and what is installed from them works elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("twin_gym", "agents", "conf", "datasets", "envs")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


def installed_name(path: Path) -> str:
    """Where a file or folder of the tree lies in an installation."""
    relative = path.relative_to(ROOT)
    return relative.as_posix() if relative.parts[0] == "twin_gym" else f"twin_gym/{relative.as_posix()}"


def tree(*endings: str) -> list[Path]:
    """Files of the five folders with one of these endings."""
    return [
        path
        for folder in FOLDERS
        for ending in endings
        for path in (ROOT / folder).rglob(f"*{ending}")
        if path.is_file()
    ]


def run(*command: str | Path, folder: Path, path: Path | None = None) -> str:
    """Run a command away from the checkout, with `path` before everything that is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, built from a copy so that the checkout stays clean."""
    copy = tmp_path_factory.mktemp("copy")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=IGNORED)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    dist = copy / "dist"
    run(sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", folder=copy)
    return next(dist.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from nothing but the source distribution."""
    unpacked = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "tarfile", "--extract", sdist, folder=unpacked)
    (source,) = unpacked.iterdir()
    run(sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('dist')", folder=source)
    return next((source / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed."""
    target = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--target", target, wheel, folder=target)
    return target


def test_every_package_of_the_tree_is_listed() -> None:
    holders = {path.parent for path in tree(".py", ".yaml")}
    listed = SETTINGS["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(installed_name(folder).replace("/", ".") for folder in holders)
    assert [folder for folder in holders if not (folder / "__init__.py").is_file()] == []


def test_what_the_tests_need_is_pinned_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    project = SETTINGS["project"]
    for text in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        wanted = Requirement(text)
        assert pins.get(wanted.name, "") in wanted.specifier, f"constraints.txt pins no {wanted}"


def test_the_wheel_holds_every_module_and_configuration_file(wheel: Path) -> None:
    expected = {installed_name(path) for path in tree(".py", ".yaml", ".typed")}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert expected - held == set()
    assert {name for name in held if not name.startswith("twin_gym/")} == set()


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = {name.split("/", 1)[1] for name in archive.namelist() if ".dist-info/" in name}
        metadata = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert {"entry_points.txt", "licenses/LICENSE"} <= info
    assert "License-Expression: MIT" in metadata
    assert f"Version: {SETTINGS['project']['version']}" in metadata


def test_every_installed_module_loads(site: Path, tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, twin_gym
names = [m.name for m in pkgutil.walk_packages(twin_gym.__path__, "twin_gym.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(twin_gym.__file__, *names, sep="\\n")
"""
    place, *names = run(sys.executable, "-c", code, folder=tmp_path, path=site).splitlines()
    assert Path(place) == site / "twin_gym" / "__init__.py"
    assert {"twin_gym.agents", "twin_gym.conf", "twin_gym.datasets", "twin_gym.envs", "twin_gym.kernels"} <= set(names)


def test_the_installed_command_line_answers(site: Path, tmp_path: Path) -> None:
    assert "twin-gym" in run(sys.executable, "-m", "twin_gym", "--help", folder=tmp_path, path=site)


def test_the_installed_command_line_finds_its_configuration(site: Path, tmp_path: Path) -> None:
    words = ("simulate", "system=frontier", "workload=uniform", "--cfg", "job")
    assert "policy: fcfs" in run(sys.executable, "-m", "twin_gym", *words, folder=tmp_path, path=site)
