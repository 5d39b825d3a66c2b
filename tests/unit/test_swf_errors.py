"""Bad logs: one sentence each that names file, line and remedy."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest

from twin_gym.datasets import swf
from twin_gym.errors import OptionError, WorkloadError

GOOD = "1 0 -1 10 2 -1 -1 2 20 -1 1 4 4 -1 1 -1 -1 -1\n"


def complaint(source: object, **options: object) -> str:
    with pytest.raises(WorkloadError) as caught:
        swf.load(source, **options)  # type: ignore[arg-type]
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("2 5 -1 ten 2", "line 4: field 4 is 'ten', not a number"),
        ("2 5 -1 10", "line 4 has 4 fields, at least 5 are needed"),
        ("2", "line 4 has 1 field, at least 5 are needed"),
        ("2 5 -1 10 2 -1 -1 2 NA", "line 4: field 9 is 'NA', not a number"),
        ("2 nan -1 10 2", "line 4: field 2 is 'nan', not a number"),
        ("2 5 -1 inf 2", "line 4: field 4 is 'inf', not a number"),
        ("2 5 -1 1e999 2", "line 4: field 4 is 1e999, too large"),
        ("2 5 -1 99999999999999999999 2", "line 4: field 4 is 99999999999999999999, too large"),
        ("2 5 -1 10,5 2", "line 4: field 4 is '10,5', not a number"),
        ('2 5 -1 "10" 2', "line 4: field 4 is '\"10\"', not a number"),
        ("# 2 5 -1 10 2", "line 4: field 1 is '#', not a number"),
        ("2 5 -1 0x1F 2", "line 4: field 4 is '0x1F', not a number"),
        ("2 True -1 10 2", "line 4: field 2 is 'True', not a number"),
        ("<html><body>404</body></html>", "line 4: field 1 is '<html><body>404</body></html>'"),
        ("2 5 -1 \xff\xfe 2", "line 4: field 4 is"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_malformed_line_is_named(line: str, wrong: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.swf"
    text = f"; MaxProcs: 4\n\n{GOOD}{line}\n{GOOD}"
    path.write_bytes(text.replace("\n", ending).encode("latin-1"))
    assert complaint(path).startswith(f"{path}, {wrong}")


def test_the_line_is_right_far_into_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twin_gym.datasets._text.BLOCK", 1000)
    text = "; comment\n\n" + GOOD * 500 + "2 5 x 10 2\n" + GOOD * 500
    assert "line 503: field 3 is 'x'" in complaint(io.StringIO(text))
    assert "line 503: field 3 is 'x'" in complaint(io.BytesIO(gzip.compress(text.encode())))


def test_a_bad_line_in_a_table_with_titles() -> None:
    text = "; c\nJob Submit Runtime Nodes\n1 0 5 2\n2 0 5\n"
    assert "line 4 has 3 fields, at least 4 are needed" in complaint(io.StringIO(text))
    assert "line 3: field 3 is 'x', not a number" in complaint(
        io.StringIO("Job Submit Runtime Nodes\n1 0 5 2\n2 0 x 2\n")
    )


def test_titles_that_lack_a_column() -> None:
    sentence = complaint(io.StringIO("job submit runtime size\n1 0 5 2\n"))
    assert "its titles (job, submit, runtime, size) lack a column for requested_procs: nodes, procs" in sentence


def test_a_truncated_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.swf.gz"
    path.write_bytes(gzip.compress(GOOD.encode() * 1000)[:-20])
    assert complaint(path) == f"{path} is truncated: its gzip data end too early; fetch it again."


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.swf.gz"
    data = bytearray(gzip.compress(os.urandom(5000)))
    data[2000:2010] = bytes(10)
    path.write_bytes(data)
    assert "gzip data" in complaint(path) or "binary" in complaint(path)
    data = bytearray(gzip.compress(GOOD.encode()))
    data[-8:-4] = b"abcd"  # the checksum
    path.write_bytes(data)
    assert complaint(path) == f"{path} is damaged: its gzip data can't be unpacked; fetch it again."


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "is empty; check that it was fetched completely."),
        (b"\x7fELF\x02\x01\x01\x00\x00", "is a binary file, not a text log; check the path."),
        (GOOD.encode("utf-16"), "is a binary file, not a text log; check the path."),
        (b"PK\x03\x04 zip", "is a zip file, not a text log or a .gz of one; unpack it first."),
        (b"BZh9 bz2", "is a bzip2 file, not a text log or a .gz of one; unpack it first."),
        (b"; only\n; comments\n\n", "holds no job, only comments and blank lines; check that it is complete."),
        (b"\n \t\n", "holds no job, only comments and blank lines; check that it is complete."),
        (b"Job Submit Runtime Nodes\n", "holds no job, only comments and blank lines; check that it is complete."),
    ],
    ids=["empty", "binary", "utf-16", "zip", "bzip2", "comments", "blank", "titles"],
)
def test_files_that_are_no_logs(data: bytes, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    assert complaint(path) == f"{path} {wrong}"
    if not wrong.endswith("unpack it first."):
        path.write_bytes(gzip.compress(data))
        assert complaint(path) == f"{path} {wrong}"


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.swf") == f"{tmp_path / 'none.swf'} does not exist; check the path."
    assert complaint(tmp_path) == f"{tmp_path} is a folder; give the path of a log in it."


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.swf"
    path.write_text(GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert complaint(path) == f"{path} can't be read: Permission denied."


def test_a_log_in_which_nothing_ran() -> None:
    sentence = complaint(io.StringIO("1 0 -1 0 2\n2 5 -1 -1 2\n"))
    assert sentence.startswith(
        "the file object holds no job that can run: 2 jobs read, 0 kept, 2 dropped, 2 x never_ran ("
    )


def test_a_text_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.swf"
    path.write_bytes("; Computer: Zürich\n".encode("latin-1") + GOOD.encode())
    assert swf.load(path).header["Computer"] == "Z\ufffdrich"
    with open(path, encoding="utf-8") as file:
        assert complaint(file) == f"{path} is not text in the encoding it was opened with; use mode 'rb'."


def test_strict_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("1 0 -1 0 2\n" + GOOD)
    assert complaint(path, strict=True).startswith(f"{path} has defects and strict=True accepts none: 1 x never_ran")


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="missing_requests='ask' must be 'fallback' or 'drop'"):
        swf.load(io.StringIO(GOOD), missing_requests="ask")
    with pytest.raises(OptionError, match="unit='core'"):
        swf.load(io.StringIO(GOOD), unit="core")
    with pytest.raises(OptionError, match="capacity=-5"):
        swf.load(io.StringIO(GOOD), capacity=-5)
