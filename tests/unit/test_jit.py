"""The cache of compiled kernels: found where it can be, fresh when a kernel changes, never in the way of an import."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from twin_gym.kernels import events, jit

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
    jit._cache_of.cache_clear()
    increment = jit.kernel()(lambda x: x + 1)
    assert increment(1) == 2
    assert not jit.is_compiled(increment)
    jit._cache_of.cache_clear()


def test_folder_that_others_may_write_to_is_not_used(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert not jit._usable(folder)


def write(folder: Path, **sources: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text)


def test_digest_follows_the_source_and_all_that_it_imports(tmp_path):
    kernels = tmp_path / "kernels"
    write(kernels, a="from twin_gym.kernels.b import (\n    x,\n)\n", b="import twin_gym.kernels.c\n", c="", d="")
    write(tmp_path, states="")
    digest = jit.digest_of(kernels / "a.py", tmp_path)
    assert digest == jit.digest_of(kernels / "a.py", tmp_path)
    for changed in ("a", "b", "c"):
        with (kernels / f"{changed}.py").open("a") as file:
            file.write("from twin_gym.kernels import a, d  # in a circle, too\nfrom twin_gym import states\n")
        assert digest != (digest := jit.digest_of(kernels / "a.py", tmp_path))
    for changed in (kernels / "d.py", tmp_path / "states.py"):
        changed.write_text("X = 1\n")
        assert digest != (digest := jit.digest_of(kernels / "a.py", tmp_path))
    (kernels / "e.py").write_text("")
    assert digest == jit.digest_of(kernels / "a.py", tmp_path)


def test_every_source_of_the_engine_is_in_its_digest(monkeypatch):
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or b"")
    jit.digest_of(Path(events.__file__))
    engine = ("events", "schedule", "lifecycle", "backfill", "nodes", "order", "queue", "outages", "state", "jit")
    assert {f"{name}.py" for name in engine} <= set(read)


def test_a_session_without_a_file_is_no_obstacle():
    assert jit.digest_of(Path("<stdin>")) == jit.digest_of(Path("<other>"))


@pytest.mark.parametrize("before", ["", "/somewhere"])
def test_numbas_setting_is_left_as_it_was(before, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", before)
    jit.kernel()(lambda x: x)
    assert before == numba.config.CACHE_DIR
