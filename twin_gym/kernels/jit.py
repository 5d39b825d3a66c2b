"""How kernels are compiled: one decorator, and a cache folder that never goes stale and never breaks an import.

Numba keys a cached kernel to its own source file only, so a kernel that calls a changed one from another file would run
the old code. Here the folder's name holds a digest of the kernel's source file and of all of twin_gym that this file
imports, directly or not; so any change gets a fresh cache, and none that is not concerned. The folders are kept in
`NUMBA_CACHE_DIR`, the user's cache folder or a private one under the temporary folder, the first that will do; where
none can be written (a read-only machine), kernels are compiled anew in each process and nothing fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import cgutils, imputils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model

_PACKAGE = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(r"^\s*(?:from (twin_gym[\w.]*) import \(?([\w, ]*)|import (twin_gym[\w.]*))", re.MULTILINE)


def _imports(source: Path, package: Path) -> Iterator[Path]:
    """Yield the files of twin_gym that a source file imports."""
    for base, names, plain in _IMPORT.findall(source.read_text(encoding="utf-8")):
        modules = [base, *(f"{base}.{name.strip()}" for name in names.split(","))] if base else [plain]
        for module in modules:
            path = package.joinpath(*module.split(".")[1:]).with_suffix(".py")
            if path.is_file():
                yield path


def digest_of(source: Path, package: Path = _PACKAGE) -> str:
    """Return a fingerprint of a source file, of what it imports from twin_gym, and of the compiler's version.

    Parameters
    ----------
    source : path
        A file that holds kernels; one that does not exist (an interactive session) counts as empty.
    package : path
        Where twin_gym's own files are.
    """
    found: set[Path] = set()
    pending = [source] if source.is_file() else []
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending.extend(_imports(path, package))
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(found, key=lambda it: it.name):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    """Yield the folders in which caches may be kept, best first."""
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR) / "twin_gym"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield Path(home) / "twin_gym" / "kernels"
    # a cache is code: a folder that another user of the machine may have prepared is never used
    user = getattr(os, "getuid", lambda: "user")()
    yield Path(tempfile.gettempdir()) / f"twin_gym-cache-{user}" / "kernels"


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
    """Return the folder that holds the caches, or None where no folder can be written."""
    return next((folder for folder in _candidates() if _usable(folder)), None)


CACHE_FOLDER = find_cache()


@cache
def _cache_of(source: str) -> Path | None:
    """Return the folder for the kernels of one source file, made if need be."""
    folder = CACHE_FOLDER and CACHE_FOLDER / digest_of(Path(source))
    return folder if folder and _usable(folder) else None


@contextlib.contextmanager
def _numba_caches_in(folder: Path) -> Iterator[None]:
    """Let Numba choose our folder for the function that is being decorated, and for no other one."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
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
        folder = _cache_of(function.__code__.co_filename)
        if folder is None:
            return numba.njit(nogil=True, **options)(function)
        with _numba_caches_in(folder):
            return numba.njit(nogil=True, cache=True, **options)(function)

    return decorate


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that only kernels call: as `kernel`, without an entry from Python."""
    return kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def entry_of(kernel: Any, *arguments: Any) -> Callable[..., Any]:
    """Return what calls a kernel with arguments of the types of these, without asking for their types again.

    Numba looks at every array of every argument at every call, which for a hundred arrays takes longer than what an
    environment does in a step. The caller must keep to the types.
    """
    if not hasattr(kernel, "overloads"):  # plain Python (NUMBA_DISABLE_JIT)
        return kernel  # type: ignore[no-any-return]
    types = tuple(numba.typeof(argument) for argument in arguments)
    kernel.compile(types)
    return kernel.overloads[types].entry_point  # type: ignore[no-any-return]


def is_compiled(kernel: Any) -> bool:
    """Tell whether an earlier run has left this kernel compiled, so that this one starts at once."""
    function = kernel.py_func
    folder = _cache_of(function.__code__.co_filename)
    return folder is not None and any(folder.rglob(f"*.{function.__name__}-*.nbc"))


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


class Referred(numba.types.Type):  # type: ignore[misc]
    """The type of what `referred` returns: the address of a NamedTuple in the frame of a kernel."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Referred({content})")


@register_model(Referred)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@intrinsic  # type: ignore[untyped-decorator]
def referred(typingctx: Any, value: Any) -> Any:
    """Return a NamedTuple of arrays as something with the same fields that is handed on as one address.

    Numba hands on every array of a NamedTuple as seven arguments; a state of two dozen arrays is copied to the stack at
    each call, which took longer than the work, and compiling that took minutes. Fields that are read count no
    references, so the caller must hold the arrays; and what it returns must not outlive the function that called it.
    """
    if not isinstance(value, numba.types.NamedTuple):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(cgutils.alloca_once_value(builder, args[0]), cgutils.voidptr_t)

    return Referred(value)(value), codegen


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Referred

    def generic_resolve(self, kind: Any, name: str) -> Any:
        """Return the type of a field."""
        return kind.content.types[kind.content.fields.index(name)] if name in kind.content.fields else None


@lower_getattr_generic(Referred)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    content = kind.content
    place = content.fields.index(name)
    whole = builder.bitcast(value, context.get_value_type(content).as_pointer())
    field = builder.load(cgutils.gep_inbounds(builder, whole, 0, place))
    if isinstance(content.types[place], numba.types.Array):
        view = context.make_array(content.types[place])(context, builder, value=field)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()
    return imputils.impl_ret_borrowed(context, builder, content.types[place], field)
