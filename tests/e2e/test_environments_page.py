"""The example of docs/environments.md runs; its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from twin_gym.envs import register_envs
from twin_gym.envs.options import GROUPS
from twin_gym.envs.rewards import presets
from twin_gym.envs.spaces import DETAIL_FEATURES, FACILITY_FEATURES, JOB_FEATURES, STATE_FEATURES
from twin_gym.kernels.tally import NAMES


def test_the_example_runs(project_root: Path) -> None:
    page = (project_root / "docs" / "environments.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(program, {})


def test_every_id_feature_objective_and_preset_is_on_the_page(project_root: Path) -> None:
    page = (project_root / "docs" / "environments.md").read_text(encoding="utf-8")
    features = (*JOB_FEATURES, *DETAIL_FEATURES, *STATE_FEATURES, *FACILITY_FEATURES)
    for name in (*register_envs(), *GROUPS, *features, *NAMES, *presets()):
        assert f"`{name}`" in page, name
