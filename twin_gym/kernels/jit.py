"""How kernels are compiled: one decorator, and a cache folder that never goes stale and never breaks an import.

Numba keys a cached kernel to its own source file only, so a kernel that calls a changed one from another file would run
the old code. Here the folder's name holds a digest of every kernel source, so any change gets a fresh cache. The folder
is sought among `NUMBA_CACHE_DIR`, the user's cache folder and a private folder under the temporary one; where none can
be written (a read-only machine), kernels are compiled anew in each process and nothing fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import cgutils
from numba.extending import intrinsic

_FOLDER = Path(__file__).resolve().parent


def _digest() -> str:
    """Fingerprint every kernel source and the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(_FOLDER.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    """Yield the folders in which a cache may be kept, best first."""
    name = f"twin_gym-{_digest()}"
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR) / name
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield Path(home) / "twin_gym" / name
    # a cache is code: a folder that another user of the machine may have prepared is never used
    user = getattr(os, "getuid", lambda: "user")()
    yield Path(tempfile.gettempdir()) / f"twin_gym-cache-{user}" / name


def _usable(folder: Path) -> bool:
    """Make the folder and tell whether it is ours and can be written to."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for owned in (folder, folder.parent):
            status = owned.stat()
            if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
                return False
            if owned == folder and status.st_mode & stat.S_IWOTH:
                return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def find_cache() -> Path | None:
    """Return the folder that holds compiled kernels, or None where no folder can be written."""
    return next((folder for folder in _candidates() if _usable(folder)), None)


CACHE_FOLDER = find_cache()


@contextlib.contextmanager
def _cache_folder() -> Iterator[None]:
    """Let Numba choose our folder for the function that is being decorated, and for no other one."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with Numba: strict IEEE arithmetic, without the interpreter lock, cached.

    Parameters
    ----------
    **options
        Passed on to `numba.njit` (``inline``, ``forceinline``, ``parallel`` ...).
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if CACHE_FOLDER is None:
            return numba.njit(nogil=True, **options)(function)
        with _cache_folder():
            return numba.njit(nogil=True, cache=True, **options)(function)

    return decorate


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that only kernels call: as `kernel`, without an entry from Python."""
    return kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def is_compiled() -> bool:
    """Tell whether an earlier run has left compiled kernels, so that this one starts at once."""
    return CACHE_FOLDER is not None and any(CACHE_FOLDER.rglob("*.nbc"))


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typingctx: Any, array: Any) -> Any:
    """Return the array without its reference count, for use inside a kernel whose caller holds the array.

    Numba counts a reference (an atomic operation) for each array argument of each call; in a loop of small functions
    that took most of the time.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.return_type)(context, builder, value=args[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), codegen
