"""The example of docs/environments.md runs; its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from twin_gym.envs import register_envs
from twin_gym.envs.rewards import PRESETS
from twin_gym.envs.spaces import JOB_FEATURES, STATE_FEATURES
from twin_gym.kernels.tally import NAMES


def test_the_example_runs(project_root: Path) -> None:
    page = (project_root / "docs" / "environments.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(program, {})


def test_every_id_feature_objective_and_preset_is_on_the_page(project_root: Path) -> None:
    page = (project_root / "docs" / "environments.md").read_text(encoding="utf-8")
    for name in (*register_envs(), *JOB_FEATURES, *STATE_FEATURES, *NAMES, *PRESETS):
        assert f"`{name}`" in page, name
