"""The cache of compiled kernels: found where it can be, fresh when a kernel changes, never in the way of an import."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from twin_gym.kernels import jit

PROGRAM = "from twin_gym.kernels import jit, queue; print(jit.CACHE_FOLDER)"


def cache_of(**environment: str) -> str:
    """Import the kernels in a new process and return the cache folder that it has chosen."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def unwritable(tmp_path: Path) -> str:
    """A place in which no folder can be made, even by root: it is a file."""
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file")


def test_numbas_own_setting_comes_first(tmp_path):
    assert Path(cache_of(NUMBA_CACHE_DIR=str(tmp_path))).parent == tmp_path


def test_users_cache_folder_comes_next(tmp_path):
    assert cache_of(XDG_CACHE_HOME=str(tmp_path)).startswith(str(tmp_path / "twin_gym"))


def test_unwritable_home_falls_back_to_a_private_temporary_folder(tmp_path):
    (tmp_path / "temporary").mkdir()
    folder = Path(cache_of(XDG_CACHE_HOME=unwritable(tmp_path), TMPDIR=str(tmp_path / "temporary")))
    assert folder.is_relative_to(tmp_path / "temporary")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_import_survives_a_machine_on_which_nothing_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_candidates", lambda: iter([Path(unwritable(tmp_path)) / "cache"]))
    assert jit.find_cache() is None
    monkeypatch.setattr(jit, "CACHE_FOLDER", None)
    assert jit.kernel()(lambda x: x + 1)(1) == 2
    assert not jit.is_compiled()


def test_folder_that_others_may_write_to_is_not_used(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert not jit._usable(folder)


def test_folder_follows_the_kernels_sources(tmp_path, monkeypatch):
    before = jit._digest()
    for source in Path(jit.__file__).parent.glob("*.py"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(jit, "_FOLDER", tmp_path)
    assert jit._digest() == before
    with (tmp_path / "queue.py").open("a") as file:
        file.write("\n")
    assert jit._digest() != before


@pytest.mark.parametrize("before", ["", "/somewhere"])
def test_numbas_setting_is_left_as_it_was(before, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", before)
    jit.kernel()(lambda x: x)
    assert before == numba.config.CACHE_DIR
