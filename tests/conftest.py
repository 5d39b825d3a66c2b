"""Fixtures and settings shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# One cache of compiled kernels for this process and all that it starts; read by Numba when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))

# One thread for PyTorch and scikit-learn: with two, the small networks of the tests take up to 70 times longer.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# `ci` tries the same cases in every run; HYPOTHESIS_PROFILE=dev hunts for new ones. The first case may compile kernels,
# so time is no criterion.
settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Modules whose tests are quick one by one and long together; `make test-fast` leaves them out as it does slow tests.
LONG_TOGETHER = {
    "test_cli.py",
    "test_cli_mistakes.py",
    "test_cli_datasets.py",
    "test_cli_envs.py",
    "test_env_worlds.py",
    "test_evolve.py",
    "test_fmu_export.py",
    "test_kernels_against_reference.py",
    "test_loader_mutations.py",
    "test_lookalike.py",
    "test_plots.py",
    "test_real_log.py",
    "test_reference_cqsim.py",
    "test_sb3.py",
    "test_slurm.py",
    "test_result.py",
    "test_swf_archive.py",
    "test_workload_reshape.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long together as slow."""
    for item in items:
        if item.path.name in LONG_TOGETHER:
            item.add_marker(pytest.mark.slow)


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
