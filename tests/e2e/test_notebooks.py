"""Every notebook runs from its first to its last cell, and its figures show themselves."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    figures = 0
    for cell in cells:
        assert any(cell["outputs"]) or "import" in cell["source"][0] or "=" in "".join(cell["source"]), (
            "outputs are kept"
        )
        *lines, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module([*lines], []), path.name, "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), path.name, "exec"), names)
            continue
        value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
        if hasattr(value, "_repr_png_"):
            assert value._repr_png_().startswith(b"\x89PNG")
            figures += 1
    assert figures
