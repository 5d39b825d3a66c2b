"""`twin-gym datasets`: the list, downloads from a server that breaks off and lies; every loader as workload=NAME."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
import yaml

from twin_gym import cli, datasets
from twin_gym.commands import completion
from twin_gym.commands.names import groups, loader_options
from twin_gym.datasets import _catalogue
from twin_gym.errors import OptionError

DATA = bytes(range(256)) * 400
SHA = hashlib.sha256(DATA).hexdigest()
SACCT = """\
JobIDRaw|User|Submit|Start|End|Timelimit|NNodes|NodeList
1|ann|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:10:00|00:20:00|2|n[1-2]
2|bob|2024-01-01T00:01:00|2024-01-01T00:10:00|2024-01-01T00:20:00|00:20:00|2|n[1-2]
3|bob|2024-01-02T00:00:00|2024-01-02T00:00:00|2024-01-02T00:10:00|00:20:00|1|n1
"""


@dataclass
class Behaviour:
    """How the server treats the file."""

    breaks: int = 0  # so many answers end too early
    ranges: bool = True  # whether it sends parts
    length: int | None = None  # what it says of the length, if it lies
    status: list[int] = field(default_factory=list)  # refusals before the first answer
    tag: str = '"one"'
    asked: list[str] = field(default_factory=list)  # the ranges asked for


class Handler(BaseHTTPRequestHandler):
    behaviour: ClassVar[Behaviour] = Behaviour()

    def do_GET(self) -> None:
        how = self.behaviour
        how.asked.append(self.headers.get("Range", ""))
        if how.status:
            self.send_error(how.status.pop(0))
            return
        begin = 0
        same = self.headers.get("If-Range", how.tag) == how.tag
        if how.ranges and same and "Range" in self.headers:
            begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            if begin >= len(DATA):
                self.send_error(416)
                return
        part = DATA[begin:]
        self.send_response(206 if begin else 200)
        if how.tag:
            self.send_header("ETag", how.tag)
        self.send_header("Content-Length", str(len(part) if how.length is None else how.length))
        self.end_headers()
        if how.breaks:
            how.breaks -= 1
            part = part[: len(part) // 2]
        elif how.length is not None:
            part = part[: how.length]
        self.wfile.write(part)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@dataclass
class Server:
    url: str
    how: Behaviour
    catalogue: Path

    def offer(self, **changes: Any) -> None:
        """Write a catalogue whose only data set is the file of the server."""
        file = {"url": f"{self.url}/data.bin", "size": len(DATA), "sha256": SHA} | changes
        about = {"what": "bytes", "licence": "none", "citation": "nobody", "page": "nowhere", "files": [file]}
        self.catalogue.write_text(yaml.safe_dump({"bytes": about}))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command in an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    how = Behaviour()
    handler = type("Mine", (Handler,), {"behaviour": how})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        offered = Server(f"http://127.0.0.1:{http.server_port}", how, tmp_path / "catalogue.yaml")
        offered.offer()
        yield offered
        http.shutdown()
        thread.join()


def fetch(server: Server, **options: Any) -> list[Path]:
    return datasets.fetch("bytes", to="here", catalogue=server.catalogue, pause=0.0, **options)


def left() -> list[str]:
    return sorted(path.name for path in Path("here").iterdir())


# ---------------------------------------------------------------------------------------------------------- downloads


def test_a_file_is_fetched_once_and_checked(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["datasets", "fetch", "bytes", "--to", "here", "--catalogue", str(server.catalogue)]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert "goes to here" in said
    assert "102,400 bytes, SHA-256 verified" in said
    assert "Cite: nobody" in said
    assert Path("here/data.bin").read_bytes() == DATA
    assert left() == ["data.bin"]
    assert cli.main(words) == 0
    assert server.how.asked == [""]  # it is here already


def test_a_download_that_breaks_off_is_taken_up(server: Server) -> None:
    server.how.breaks = 3
    seen: list[tuple[str, int, int]] = []
    fetch(server, progress=lambda name, done, total: seen.append((name, done, total)))
    assert Path("here/data.bin").read_bytes() == DATA
    begins = [int(asked.removeprefix("bytes=").rstrip("-") or 0) for asked in server.how.asked]
    assert len(begins) == 4
    assert 0 == begins[0] < 40_000 < begins[1] < 60_000 < begins[2] < begins[3] < len(DATA)
    assert seen[-1] == ("data.bin", len(DATA), len(DATA))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert left() == ["data.bin"]


def test_the_next_call_takes_it_up_too(server: Server) -> None:
    server.how.breaks = 2
    with pytest.raises(datasets._fetch.FetchError, match=r"broke off 2 times.* bytes that have arrived are kept"):
        fetch(server, retries=1)
    assert not Path("here/data.bin").exists()
    here = Path("here/.data.bin.part").stat().st_size
    assert here > len(DATA) / 2
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA
    assert server.how.asked[-1] == f"bytes={here}-"


def test_a_server_that_sends_no_parts_sends_all_again(server: Server) -> None:
    server.how.breaks, server.how.ranges = 2, False
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA


def test_a_file_that_was_changed_meanwhile_is_fetched_from_its_beginning(server: Server) -> None:
    Path("here").mkdir()
    Path("here/.data.bin.part").write_bytes(b"old" * 100)
    Path("here/.data.bin.version").write_text('"zero"')
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA
    assert left() == ["data.bin"]


def test_without_a_version_or_checksum_nothing_is_taken_up(server: Server) -> None:
    server.offer(sha256=None)
    server.how.tag, server.how.breaks = "", 1
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA
    assert server.how.asked == ["", ""]


@pytest.mark.parametrize("length", [len(DATA) + 1000, len(DATA) - 1000])
def test_a_server_that_lies_about_the_length(server: Server, length: int) -> None:
    server.how.length, server.how.ranges = length, False
    with pytest.raises(datasets._fetch.FetchError, match=r"broke off|gave 101,400 bytes instead of 102,400"):
        fetch(server, retries=1)
    assert not Path("here/data.bin").exists()


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.offer(sha256="0" * 64)
    assert cli.main(["datasets", "fetch", "bytes", "--to", "here", "--catalogue", str(server.catalogue)]) == 2
    said = capsys.readouterr().err
    assert "has another SHA-256 than the catalogue says" in said
    assert said.count("\n") == 1
    assert left() == []


def test_a_part_of_something_else_is_found_out_and_forgotten(server: Server) -> None:
    Path("here").mkdir()
    Path("here/.data.bin.part").write_bytes(b"other" * 100)
    with pytest.raises(datasets._fetch.FetchError, match="another SHA-256"):
        fetch(server)
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA


def test_a_damaged_file_is_fetched_again(server: Server) -> None:
    fetch(server)
    Path("here/data.bin").write_bytes(b"damaged")
    fetch(server)
    assert Path("here/data.bin").read_bytes() == DATA


def test_refusals(server: Server) -> None:
    server.how.status = [503, 429]
    fetch(server)
    server.how.status, server.how.asked = [404], []
    Path("here/data.bin").unlink()
    with pytest.raises(datasets._fetch.FetchError, match="answers 404"):
        fetch(server)
    assert server.how.asked == [""]  # trying again would not help


def test_without_a_network(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.offer(url="http://127.0.0.1:9/data.bin")
    words = ["datasets", "fetch", "bytes", "--to", "here", "--retries", "0", "--catalogue", str(server.catalogue)]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "can't be reached; check the network" in said
    assert said.count("\n") == 1


def test_no_room(server: Server) -> None:
    server.offer(size=10**18)
    with pytest.raises(datasets._fetch.FetchError, match=r"needs 1,000,000,000,000,000,000 bytes"):
        fetch(server)
    Path("file").write_text("")
    with pytest.raises(datasets._fetch.FetchError, match="can't be written"):
        datasets.fetch("bytes", to="file", catalogue=server.catalogue)


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["fetch", "pm1000"], "Did you mean 'pm100'?"),
        (["fetch", "last"], "git lfs install"),
        (["fetch", "fdata", "--only", "99_01.parquet"], "has no file '99_01.parquet'"),
        (["fetch", "pm100", "--catalogue", "no.yaml"], "no.yaml can't be read"),
        (["fetsch", "pm100"], "Did you mean 'fetch'?"),
        (["show"], "name"),
        (["show", "x"], "There is no data set 'x'"),
        (["fake", "x"], "There is no look-alike of 'x'"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(
    words: list[str], fragment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["datasets", *words]) == 2
    said = capsys.readouterr().err
    assert fragment in said
    assert said.count("\n") == 1


# ---------------------------------------------------------------------------------------------------------- catalogue


def test_the_catalogue_is_complete() -> None:
    entries = datasets.catalogue()
    for entry in entries.values():
        assert entry.loader in datasets.names(), entry.name
        assert bool(entry.files) != bool(entry.manual), entry.name
        assert entry.page.startswith("https://"), entry.name
        for file in entry.files:
            assert file.url.startswith("https://"), file.url
            assert file.sha256 is None or len(file.sha256) == 64, file.url
    public = set(datasets.names()) - {"swf", "synthetic", "slurm", "table", "sample"}
    assert public <= set(entries)


def test_the_list_and_one_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets"]) == 0
    said = capsys.readouterr().out
    for name in datasets.catalogue():
        assert name in said
    assert cli.main(["datasets", "show", "adastra"]) == 0
    said = capsys.readouterr().out
    for word in ("CC-BY-4.0", "Cirou", "1.23 MB", "SHA-256 known", "twin-gym datasets fetch adastra", "zenodo"):
        assert word in said


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a: [", "is no YAML"),
        ("- a", "one mapping per data set"),
        ("a: {what: x}", "'licence' is missing"),
        ("a: {what: x, licence: x, citation: x, page: x, sise: 4}", "Did you mean 'size'?"),
        ("a: {what: x, licence: x, citation: x, page: x, files: [{size: 4}]}", "url is needed"),
        ("a: {what: x, licence: x, citation: x, page: x, files: [{url: 'http://h/'}]}", "names no file"),
    ],
)
def test_a_bad_catalogue_is_refused(tmp_path: Path, text: str, fragment: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(OptionError, match=fragment.replace("?", r"\?")):
        datasets.catalogue(tmp_path / "c.yaml")


def test_names_of_a_catalogue_lead_nowhere_else(tmp_path: Path) -> None:
    about = "{what: x, licence: x, citation: x, page: x, files: [{url: 'http://h/x', name: '../../evil'}]}"
    (tmp_path / "c.yaml").write_text(f"a: {about}")
    assert datasets.catalogue(tmp_path / "c.yaml")["a"].files[0].name == "evil"


# ------------------------------------------------------------------------------------------------------------ loaders

LOADERS = [name for name in groups("workload") if loader_options(name)]


@pytest.mark.parametrize("group", LOADERS)
def test_a_group_lists_the_options_of_its_loader(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", f"workload={group}", "--cfg", "job"]) == 0
    config = yaml.safe_load(capsys.readouterr().out)["workload"]
    known = {
        name: it for name, it in datasets.options_of(config["loader"]).items() if name not in ("window", "progress")
    }
    if "/" not in group:  # a sample may choose its own values
        assert config["options"] == {name: list(it) if isinstance(it, tuple) else it for name, it in known.items()}
    assert set(config["options"]) <= set(known)


def test_every_loader_is_a_group() -> None:
    assert set(datasets.names()) - {"synthetic", "swf", "sample"} <= set(LOADERS)


def test_a_loader_by_name_and_path(capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.psv").write_text(SACCT)
    words = ["simulate", "workload=slurm", "workload.path=log.psv", "policy=replay", "figures=false", "csv=true"]
    assert cli.main([*words, "out=all", "workload.options.time_zone=Europe/Rome"]) == 0
    assert "3 of 3 jobs finished" in capsys.readouterr().out
    assert cli.main([*words, "out=day", "workload.start=2024-01-02", "workload.duration=1h"]) == 0
    assert "1 of 1 jobs finished" in capsys.readouterr().out
    history = Path("all/job_history.csv").read_text().splitlines()
    assert len(history) == 4


def test_a_window_is_handed_to_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    from twin_gym.datasets import slurm

    Path("log.psv").write_text(SACCT)
    seen: list[Any] = []
    real = slurm.load

    def spy(path: Any, *, window: Any = None, time_zone: str = "UTC", progress: Any = None, **rest: Any) -> Any:
        seen.append(window)
        return real(path, window=window)

    monkeypatch.setattr(slurm, "load", spy)
    monkeypatch.setattr(datasets, "options_of", lambda name: {"window": None, "progress": None, **loader_options(name)})
    words = ["simulate", "workload=slurm", "workload.path=log.psv", "figures=false"]
    assert cli.main([*words, "out=a", "workload.start=2024-01-01T00:05", "workload.duration=60"]) == 0
    assert cli.main([*words, "out=b", "workload.start=60"]) == 0
    assert seen == [(1_704_067_500, 1_704_067_560), None]


def test_what_was_fetched_is_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["simulate", "workload=adastra"]) == 2
    assert "`twin-gym datasets fetch adastra`" in capsys.readouterr().err
    place = _catalogue.home() / "adastra"
    place.mkdir(parents=True)
    (place / "AdastaJobsMI250_15days.parquet").write_bytes(b"")
    assert datasets.fetched("adastra") == place / "AdastaJobsMI250_15days.parquet"
    assert cli.main(["datasets", "show", "adastra"]) == 0
    assert str(place) in capsys.readouterr().out
    with pytest.raises(OptionError, match="give the path"):
        datasets.fetched("slurm")


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["workload.options.timezone=UTC"], "Did you mean 'time_zone'?"),
        (["workload.options.unit=core"], "unit='core'"),
        (["workload.path=no.psv"], "no.psv does not exist"),
        (["workload.path=null"], "give the path"),
    ],
)
def test_wrong_options_are_answered_in_one_sentence(
    words: list[str], fragment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("log.psv").write_text(SACCT)
    assert cli.main(["simulate", "workload=slurm", "workload.path=log.psv", *words]) == 2
    said = capsys.readouterr().err
    assert fragment in said
    assert said.count("\n") == 1


def test_inspect_and_convert_take_a_loader(capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.psv").write_text(SACCT)
    words = ["--loader", "slurm", "--set", "time_zone=Europe/Rome", "--set", "with_traces=false"]
    assert cli.main(["inspect", "log.psv", *words, "--no-figure"]) == 0
    assert "2023-12-31 23:00" in capsys.readouterr().out
    assert cli.main(["convert", "log.psv", "log.parquet", *words]) == 0
    assert cli.main(["convert", "log.psv", "log.swf", *words]) == 0
    assert len(datasets.load("swf", "log.swf")) == len(datasets.load("table", "log.parquet")) == 3
    capsys.readouterr()
    for wrong, fragment in (
        (["--loader", "slrum"], "Did you mean 'slurm'?"),
        (["--loader", "slurm", "--set", "unit"], "KEY=VALUE"),
        (["--loader", "slurm", "--set", "unite=node"], "Did you mean 'unit'?"),
        ([], "the format of"),
    ):
        assert cli.main(["inspect", "log.psv", *wrong]) == 2
        said = capsys.readouterr().err
        assert fragment.lower() in said.lower()
        assert said.count("\n") == 1


def test_completion_knows_them() -> None:
    assert completion.candidates("twin-gym datasets fe") == ["fetch"]
    assert completion.candidates("twin-gym datasets fetch kth") == ["kth-sp2"]
    assert "pm100" in completion.candidates("twin-gym datasets fake p")
    assert completion.candidates("twin-gym simulate workload=slurm workload.options.ti") == [
        "workload.options.time_zone="
    ]
    assert completion.candidates("twin-gym simulate workload=slu") == ["workload=slurm"]


def test_a_look_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets", "fake", "adastra", "--jobs", "40", "--out", "copy"]) == 0
    path = next(Path("copy").glob("*.parquet"))
    assert str(path) in capsys.readouterr().out
    assert len(datasets.load("adastra", path)) > 20
