"""What public data sets there are: sizes, licences, citations, files and their checksums (``catalogue.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

from twin_gym.errors import OptionError, suggest


@dataclass(frozen=True)
class File:
    """One file to be fetched.

    Attributes
    ----------
    url : str
        Where it is.
    size : int or None
        Bytes; None if not known.
    sha256 : str or None
        Its checksum; None if not known.
    name : str
        What it is called here.
    """

    url: str
    size: int | None = None
    sha256: str | None = None
    name: str = ""


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    name : str
        What it is called here.
    loader : str
        What reads it.
    what : str
        One line.
    licence, citation, page : str
        Under which conditions, whom to cite, where to read about it.
    files : tuple of File
        What is fetched; none where it can't be.
    size : int or None
        Bytes of everything; None if not known.
    manual : str
        How to get it where it can't be fetched.
    """

    name: str
    loader: str
    what: str
    licence: str
    citation: str
    page: str
    files: tuple[File, ...] = ()
    size: int | None = None
    manual: str = ""


def home() -> Path:
    """Return where data sets are put by default: a folder of the user's cache (``~/.cache/twin_gym/datasets``)."""
    from platformdirs import user_cache_path

    return user_cache_path("twin_gym", appauthor=False) / "datasets"


def catalogue(path: str | PathLike[str] | None = None) -> dict[str, Entry]:
    """Return the data sets that are known, by name.

    Parameters
    ----------
    path : path, optional
        A catalogue of one's own, such as of a mirror; default: the one that comes with twin_gym.

    Raises
    ------
    OptionError
        If it can't be read or an entry is malformed.
    """
    where = "catalogue.yaml" if path is None else str(path)
    try:
        source = files(__package__) / "catalogue.yaml" if path is None else Path(path)
        data = yaml.safe_load(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"The catalogue {where} can't be read: {error.strerror or error}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise OptionError(f"The catalogue {where} is no YAML: {' '.join(str(error).split())[:120]}.") from error
    if not isinstance(data, Mapping):
        raise OptionError(f"The catalogue {where} must hold one mapping per data set.")
    return {str(name): _entry(str(name), about, where) for name, about in data.items()}


def entry(name: str, path: str | PathLike[str] | None = None) -> Entry:
    """Return one data set of a catalogue.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    known = catalogue(path)
    if name not in known:
        raise OptionError(f"There is no data set '{name}'.{suggest(name, known)}")
    return known[name]


def fetched(name: str) -> Path:
    """Return where `fetch` put a data set: its file, or the folder of its files.

    Raises
    ------
    OptionError
        If it isn't there; tells how to get it.
    """
    known = catalogue()
    found = None if name not in known else present(known[name])
    if found is None:
        hint = "give the path of its file or folder"
        if name in known:
            get = f"`twin-gym datasets fetch {name}`" if known[name].files else known[name].manual.rstrip(".")
            hint += f", or get it: {get}"
        raise OptionError(f"{name} isn't on this computer, as far as twin_gym knows; {hint}.")
    return found


def present(known: Entry, folder: Path | None = None) -> Path | None:
    """Return the file of a data set, or the folder of its files, if any of them is there; None otherwise."""
    place = folder or home() / known.name
    there = [place / file.name for file in known.files if (place / file.name).is_file()]
    return None if not there else there[0] if len(known.files) == 1 else place


def _entry(name: str, about: Any, where: str) -> Entry:
    about = {"loader": name, **(about if isinstance(about, Mapping) else {})}
    keys = [item.name for item in fields(Entry) if item.name != "name"]
    for key in about:
        if key not in keys:
            raise OptionError(f"The catalogue {where}, {name}: there is no key '{key}'.{suggest(str(key), keys)}")
    for item in fields(Entry):
        if item.name != "name" and item.default is MISSING and item.name not in about:
            raise OptionError(f"The catalogue {where}, {name}: the key '{item.name}' is missing.")
    listed = tuple(_file(name, file, where) for file in about.pop("files", None) or ())
    sizes = [file.size for file in listed]
    size = about.pop("size", None) or (sum(size or 0 for size in sizes) if sizes and all(sizes) else None)
    return Entry(name=name, files=listed, size=size, **about)


def _file(name: str, about: Any, where: str) -> File:
    keys = [item.name for item in fields(File)]
    if not isinstance(about, Mapping) or "url" not in about or set(about) - set(keys):
        raise OptionError(f"The catalogue {where}, {name}: a file has the keys {', '.join(keys)}, and url is needed.")
    title = PurePosixPath(str(about.get("name") or urlsplit(str(about["url"])).path)).name
    if title in ("", ".", ".."):
        raise OptionError(f"The catalogue {where}, {name}: {about['url']} names no file; add its name.")
    return File(**{**about, "name": title})
