"""Wrong descriptions of systems: every key, every rule, every unreadable file is refused in one sentence by name."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from twin_gym import System
from twin_gym.errors import SystemConfigError
from twin_gym.system import Topology
from twin_gym.system_schema import Checked, Range, _ids, _spans, plain, rules

# Every declared key, found by walking the classes along a real description.


def walk(part: Checked, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield path, rule and value of every key below an object."""
    for key, rule in rules(type(part)).items():
        value = getattr(part, key)
        yield (*path, key), rule, value
        if isinstance(value, Checked):
            yield from walk(value, (*path, key))
        elif key == "partitions":
            for item in value:
                yield from walk(item, (*path, key, item.name))


# frontier has a plant, states and everything else that is optional, but no chiller
FULL = System.from_dict({**System.load("frontier").to_dict(), "description": "x"})
FULL = dataclasses.replace(
    FULL,
    cooling=dataclasses.replace(FULL.cooling, chiller=System.load("summit").cooling.chiller),  # type: ignore[arg-type,union-attr]
)
KEYS = [(path, rule, value) for path, rule, value in walk(FULL) if path[-1] != "name" or len(path) == 1]
LIMITED = [
    (path, rule, note) for path, rule, _ in KEYS for note in rule.notes if isinstance(note, Range) and not rule.many
]


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    data = FULL.to_dict()
    table = data
    for key in path[:-1]:
        table = table[key]
    if value is Ellipsis:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = value
    return data


def refusal(path: tuple[str, ...], value: Any) -> str:
    with pytest.raises(SystemConfigError) as caught:
        System.from_dict(changed(path, value))
    text = str(caught.value)
    assert text.endswith((".", "?"))
    assert "\n" not in text
    return text


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)


def test_the_walk_reaches_every_class() -> None:
    assert len(KEYS) > 130
    assert len(LIMITED) > 100


@pytest.mark.parametrize(("path", "rule", "limits"), LIMITED, ids=[dotted(path) for path, _, _ in LIMITED])
def test_numbers_out_of_range(path: tuple[str, ...], rule: Any, limits: Range) -> None:
    below = math.nextafter(limits.low, -math.inf) if rule.kind is float else int(limits.low) - 1
    above = math.nextafter(limits.high, math.inf) if rule.kind is float else int(limits.high) + 1
    for value in (below, above):
        assert refusal(path, value) == f"{dotted(path)}={value} is out of range: it must lie {limits}."
    for value in (math.nan, math.inf):
        assert refusal(path, value).startswith(f"{dotted(path)}={value} ")


@pytest.mark.parametrize(("path", "rule", "value"), KEYS, ids=[dotted(path) for path, _, _ in KEYS])
def test_wrong_types(path: tuple[str, ...], rule: Any, value: Any) -> None:
    wrong: list[Any] = [[["nested"]], object]
    if isinstance(rule.kind, tuple) or rule.kind is str:
        wrong += [7, True, "", "no such"] if isinstance(rule.kind, tuple) else [7, True, "  "]
    elif rule.kind in (int, float):
        wrong += ["7", "x", True, {}]
    elif rule.kind is bool:
        wrong += [1, "yes"]
    else:
        wrong += ["x", 7]
    for item in wrong:
        assert refusal(path, item).startswith(dotted(path)), item


BATCH = ("partitions", "batch")
# Keys whose default does not go with the rest of frontier, and the key that is blamed.
NEEDED = {
    (*BATCH, "topology", "cdus"): "missing_racks",
    (*BATCH, "topology", "racks_per_cdu"): "missing_racks",
    (*BATCH, "topology", "chassis_per_rack"): "nodes_per_rectifier",
    (*BATCH, "topology", "rectifiers_per_chassis"): "nodes_per_rectifier",
    (*BATCH, "node", "gpu_max_w"): "gpu_max_w is missing, but there are gpus=4 in a node.",
    (*BATCH, "node", "nic_max_w"): "nic_max_w=0.0 is less than nic_idle_w=20.0.",
}


@pytest.mark.parametrize(("path", "rule", "value"), KEYS, ids=[dotted(path) for path, _, _ in KEYS])
def test_missing_and_empty_keys(path: tuple[str, ...], rule: Any, value: Any) -> None:
    scaled = path[0] == "cooling" and len(path) > 1 and path != ("cooling", "design_power_w") and "chiller" not in path
    if rule.required and not scaled:
        assert refusal(path, ...) == f"{dotted(path)} is missing."
    elif path in NEEDED:
        assert refusal(path, ...).startswith(dotted((*path[:-1], NEEDED[path])))
    else:
        System.from_dict(changed(path, ...))
    if rule.optional:
        System.from_dict(changed(path, None))
    elif path == ("partitions",):
        assert refusal(path, None) == "partitions has no value."
    else:
        assert refusal(path, None) == f"{dotted(path)} has no value."


TABLES = [(), *(path for path, rule, value in KEYS if isinstance(value, Checked)), ("partitions", "batch")]


@pytest.mark.parametrize("path", TABLES, ids=[dotted(path) or "top" for path in TABLES])
def test_unknown_keys(path: tuple[str, ...]) -> None:
    table: Any = FULL
    for key in path:
        table = table.partitions[0] if key == "batch" else getattr(table, key) if key != "partitions" else table
    near = next(key for key in rules(type(table)) if key not in ("name", "partitions"))
    text = refusal((*path, f"{near}z"), 1)
    assert text.startswith(f"{dotted((*path, f'{near}z'))} is not a known key. Did you mean '{near}'? Choose from: ")
    assert refusal((*path, "zzzzzz"), 1).startswith(f"{dotted((*path, 'zzzzzz'))} is not a known key. Choose from: ")


TOGETHER = [
    ((*BATCH, "topology", "chassis_per_rack"), 7, "=7 does not divide nodes_per_rack=128."),
    ((*BATCH, "topology", "nodes_per_blade"), 3, "=3 does not divide the 16 nodes of a chassis."),
    ((*BATCH, "topology", "nodes_per_rectifier"), 3, "=3: 4 rectifiers can't feed the 16 nodes of a chassis."),
    ((*BATCH, "topology", "missing_racks"), [75], " names 75, but the ids are 0 to 74."),
    ((*BATCH, "topology", "missing_racks"), [3, 2], " must hold ascending ids, each once."),
    ((*BATCH, "topology", "missing_racks"), [3, 3], " must hold ascending ids, each once."),
    ((*BATCH, "topology", "missing_racks"), [-1], "=-1 is out of range: it must lie between 0 and 10000000."),
    ((*BATCH, "topology", "missing_racks"), ["3-1"], " holds '3-1'; write ids and spans such as [3, '8-11']."),
    ((*BATCH, "topology", "missing_racks"), "3-5", "='3-5' must be a list."),
    ((*BATCH, "topology", "down_nodes"), [9600], " names 9600, but the ids are 0 to 9599."),
    ((*BATCH, "topology", "down_nodes"), ["0-9599"], " leaves no node in service."),
    ((*BATCH, "topology", "nodes_per_rack"), 10_000_000, ": 750000000 nodes in all are more than 10000000."),
    ((*BATCH, "node", "cpu_max_w"), 80, "=80.0 is less than cpu_idle_w=90.0."),
    ((*BATCH, "node", "gpu_max_w"), 80, "=80.0 is less than gpu_idle_w=88.0."),
    ((*BATCH, "node", "nic_max_w"), 10, "=10.0 is less than nic_idle_w=20.0."),
    ((*BATCH, "jobs", "max_nodes"), 9473, "=9473 is more than the 9472 nodes in service."),
    ((*BATCH, "jobs", "max_walltime_s"), 59, "=59 is less than min_walltime_s=60."),
    ((*BATCH, "name"), "batch", " is not a known key: the partition is named above it."),
    (BATCH, 5, " must hold the keys of a partition."),
    (("partitions",), {}, " is empty; a system needs at least one partition."),
    (("partitions",), [1], " must map names to partitions."),
    (("scheduler", "policy"), "fcsf", "='fcsf' is unknown. Did you mean 'fcfs'?"),
    (("scheduler", "backfill"), "eazy", "='eazy' is unknown. Did you mean 'easy'?"),
    (("site", "time_zone"), "Europe/Romee", "='Europe/Romee' is not in the IANA database. Did you mean 'Europe/Rome'?"),
    (("site", "time_zone"), "/etc", "='/etc' is not in the IANA database."),
    (("cooling", "cdu", "coolant"), "watre", "='watre' is unknown. Did you mean 'water'?"),
    (("cooling", "cdu", "supply_c"), 10, "=10.0 is less than supply_min_c=20.0."),
    (("cooling", "cdu", "pump_speed_max"), 0.5, "=0.5 is less than pump_speed_min=0.52."),
    (("cooling", "primary", "pumps", "speed_max"), 0.5, "=0.5 is less than speed_min=0.53."),
    (
        ("cooling", "primary", "pumps", "stage_flows_kg_s"),
        [1, 2, 3, 4],
        " names more stages than there are further pumps.",
    ),
    (("cooling", "primary", "pumps", "stage_flows_kg_s"), [2, 1], " must ascend."),
    (("cooling", "primary", "pumps", "curve_m3_s"), [1, 0.5], " must ascend."),
    (("cooling", "primary", "pumps", "curve_m"), [72, 71], " must have as many values as curve_m3_s, at least two."),
    (("cooling", "tower_loop", "pumps", "installed"), 1, "=1 is less than minimum=2."),
    (("cooling", "tower_loop", "max_flow_kg_s"), 200, "=200.0 is less than min_flow_kg_s=230.0."),
    (("cooling", "towers", "cells"), 6, "=6 is less than min_cells=7."),
    (("cooling", "towers", "setpoint_max_c"), 12, "=12.0 is less than setpoint_min_c=12.222222."),
]


@pytest.mark.parametrize(("path", "value", "problem"), TOGETHER, ids=[f"{dotted(p)}={v!r:.20}" for p, v, _ in TOGETHER])
def test_what_does_not_go_together(path: tuple[str, ...], value: Any, problem: str) -> None:
    assert refusal(path, value).startswith(dotted(path) + problem)


def test_rising_pump_curve() -> None:
    pumps = FULL.cooling.primary.pumps  # type: ignore[union-attr]
    with pytest.raises(SystemConfigError, match=r"^curve_m must descend\.$"):
        dataclasses.replace(pumps, curve_m3_s=(0.1, 0.2), curve_m=(1.0, 2.0))


def test_two_partitions_of_one_name() -> None:
    (part,) = FULL.partitions
    with pytest.raises(SystemConfigError, match=r"^partitions\.batch stands twice\.$"):
        dataclasses.replace(FULL, partitions=(part, part))


@pytest.mark.parametrize("data", [None, [], "frontier", 7])
def test_not_a_description(data: Any) -> None:
    with pytest.raises(SystemConfigError, match="must hold keys and values"):
        System.from_dict(data)


def test_checks_hold_for_objects_made_in_python() -> None:
    with pytest.raises(SystemConfigError, match=r"^cdus=0 is out of range: it must lie between 1 and 10000\.$"):
        Topology(cdus=0, nodes_per_rack=4)
    assert Topology(nodes_per_rack=4, down_nodes=[1]).down_nodes == (1,)  # type: ignore[arg-type]


class TestFiles:
    def broken(self, tmp_path: Path, text: str | bytes) -> str:
        path = tmp_path / "broken.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        with pytest.raises(SystemConfigError) as caught:
            System.load(path)
        assert "\n" not in str(caught.value)
        return str(caught.value).replace(str(path), "FILE")

    def text(self, project_root: Path, name: str = "frontier") -> str:
        return (project_root / "conf" / "system" / f"{name}.yaml").read_text(encoding="utf-8")

    def test_value_with_file_and_line(self, tmp_path: Path, project_root: Path) -> None:
        text = self.text(project_root)
        line = next(i for i, row in enumerate(text.split("\n"), 1) if row.strip().startswith("gpu_max_w"))
        said = self.broken(tmp_path, text.replace("gpu_max_w: 560.0", "gpu_max_w: 5.6e5"))
        assert said == (
            f"FILE, line {line}: partitions.batch.node.gpu_max_w=560000.0 is out of range: "
            "it must lie between 0 and 10000 W."
        )

    def test_unknown_key_with_line(self, tmp_path: Path, project_root: Path) -> None:
        said = self.broken(tmp_path, self.text(project_root).replace("      cdus: 25 ", "      cdu: 25 "))
        assert re.match(
            r"FILE, line 8: partitions\.batch\.topology\.cdu is not a known key\. Did you mean 'cdus'\?", said
        )

    def test_missing_key_points_at_its_table(self, tmp_path: Path, project_root: Path) -> None:
        said = self.broken(tmp_path, self.text(project_root).replace("      nodes_per_rack: 128\n", ""))
        assert said == "FILE, line 7: partitions.batch.topology.nodes_per_rack is missing."

    def test_not_yaml(self, tmp_path: Path) -> None:
        assert self.broken(tmp_path, "name: x\npartitions: [1, 2\nsite: y\n").startswith("FILE, line ")
        assert self.broken(tmp_path, "name: x\n\tpartitions: 3\n").startswith("FILE, line 2: ")
        assert self.broken(tmp_path, "name: x\nsite: !!python/object:os.system {}\n").startswith("FILE, line 2: ")

    def test_key_twice(self, tmp_path: Path) -> None:
        said = self.broken(tmp_path, "name: x\nsite: {}\nname: y\n")
        assert said == "FILE, line 3: the key 'name' stands twice."

    @pytest.mark.parametrize("text", ["? [a]\n: 1\n", "? {a: 1}\n: 1\n"])
    def test_keys_that_are_no_words(self, tmp_path: Path, text: str) -> None:
        assert self.broken(tmp_path, text).startswith("FILE, line 1: ")

    def test_empty(self, tmp_path: Path) -> None:
        for text in ("", "# nothing\n", "[1, 2]\n", "frontier\n"):
            assert self.broken(tmp_path, text).startswith(
                "FILE, line 1: A system description must hold keys and values"
            )
        assert self.broken(tmp_path, "[" * 5000).startswith("FILE")

    @pytest.mark.parametrize("content", [b"\x00\x01\x02\xff\xfe", b"\x1f\x8b\x08\x00", b"name: \x00\x01\n", b"\x07"])
    def test_binary(self, tmp_path: Path, content: bytes) -> None:
        assert re.match(r"FILE(, line \d+:)? .*", self.broken(tmp_path, content))

    def test_absent(self, tmp_path: Path) -> None:
        path = tmp_path / "none.yaml"
        with pytest.raises(SystemConfigError) as caught:
            System.load(path)
        assert str(caught.value) == f"{path} can't be read: No such file or directory."
        with pytest.raises(SystemConfigError, match=r"can't be read: Is a directory\.$"):
            System.load(tmp_path)

    def test_unknown_name(self) -> None:
        with pytest.raises(
            SystemConfigError, match=r"^There is no system 'fronteir'. Did you mean 'frontier'\? Choose"
        ):
            System.load("fronteir")

    def test_large_numbers_without_a_point(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.yml"
        path.write_text(yaml.safe_dump(FULL.to_dict()).replace("52000000000000.0", "5.2e13"), encoding="utf-8")
        assert "gpu_peak_flops: 5.2e13" in path.read_text(encoding="utf-8")
        assert System.load(str(path)) == FULL

    def test_anchors(self, tmp_path: Path) -> None:
        data = System.uniform(3).to_dict()
        part = yaml.safe_dump({"one": data["partitions"]["batch"]}).replace("one:", "one: &node")
        path = tmp_path / "two.yaml"
        text = "name: two\npartitions:\n" + "".join(f"  {row}\n" for row in part.splitlines())
        path.write_text(text + "  other:\n    <<: *node\n    trace_quantum_s: 60\n", encoding="utf-8")
        one, other = System.load(path).partitions
        assert dataclasses.replace(other, name="one", trace_quantum_s=15) == one


@given(st.sets(st.integers(0, 40)).map(sorted))
def test_spans_are_read_back(ids: list[int]) -> None:
    assert _ids(_spans(ids), ()) == ids


def test_the_documentation_names_every_key(project_root: Path) -> None:
    text = (project_root / "docs" / "systems.md").read_text(encoding="utf-8")
    missing = [dotted(path) for path, _, _ in KEYS if path[0] != "cooling" and f"`{path[-1]}`" not in text]
    assert not missing


def test_plain_leaves_the_object_alone() -> None:
    before = copy.deepcopy(FULL)
    data = plain(FULL)
    data["sources"].append("x")
    assert before == FULL
