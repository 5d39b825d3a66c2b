"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Real logs and other programs' answers beside the checkout; what needs them is skipped where they are absent."""
    shared = ROOT.parent / "shared"
    if not (shared / "oracle").is_dir():
        pytest.skip(f"real logs and oracle answers are not present beside the checkout ({shared.name}/)")
    return shared
