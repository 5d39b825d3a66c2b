"""Systems: the shipped ones are what their sources say, and a wrong description is refused by name."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from omegaconf import OmegaConf

from twin_gym import System
from twin_gym.errors import SystemConfigError
from twin_gym.system import Partition
from twin_gym.system_plant import CoolingPlant

NAMES = ["adastra", "aurora", "bluewaters", "frontier", "fugaku", "kestrel", "lassen", "lumi", "marconi100"]
NAMES += ["mit_supercloud", "perlmutter", "selene", "setonix", "summit", "uniform"]

# What the source says where we say something else: the path below a partition, and the source's value.
# Machines whose partitions the source does not have (perlmutter, kestrel, bluewaters) stand in NEW.
SOURCE: dict[str, dict[str, Any]] = {
    "fugaku/batch": {
        "topology.switches_per_chassis": 2,
        "conversion.sivoc_constant_w": 13.0,
        "conversion.sivoc_efficiency": 0.98,
        "conversion.rectifier_constant_w": 17.0,
        "conversion.rectifier_efficiency": 0.96,
    },
    "setonix/cpu": {
        "topology.cdus": 1,
        "topology.racks_per_cdu": 7,
        "topology.missing_racks": (),
    },
    "lumi/lumi-c": {"topology.cdus": 1},
    "lumi/lumi-g": {"topology.cdus": 10, "topology.down_nodes": ()},
    "aurora/batch": {"node.nics": 4},
    "mit_supercloud/cpu": {"node.cpu_idle_w": 1.0, "node.cpu_max_w": 6.0},
    "selene/batch": {"node.cpu_peak_flops": 3.481e12, "node.gpu_peak_flops": 6.24e14, "cdu_pump_w": 8473.47},
    "perlmutter/gpu": {
        "topology.cdus": 36,
        "topology.missing_racks": (),
        "node.gpu_max_w": 300.0,
        "node.cpu_peak_flops": 3.58e12,
    },
}
NEW = {"perlmutter/cpu", "kestrel/cpu", "kestrel/gpu", "bluewaters/xe", "bluewaters/xk", "uniform/batch"}

# Facts of the source: places, available, CPU and GPU peak [flop/s]; node W after SIVOC, idle and full; system kW, idle
# and full, as the source computes it: with four rectifiers per chassis, and the NICs idle.
TABLE = {
    "frontier/batch": (9600, 9472, 2.048e12, 5.2e13, 652.306, 2772.714, 7306.524, 28227.884),
    "marconi100/batch": (980, 980, 3.968e11, 7.8e12, 555.760, 1865.260, 605.895, 1889.205),
    "fugaku/batch": (158976, 158976, 3.379e12, 0, 54.082, 176.531, 9200.718, 29478.269),
    "lassen/batch": (792, 792, 3.968e11, 7.8e12, 533.760, 1843.260, 477.738, 1514.862),
    "adastra/mi250": (384, 356, 2.048e12, 2.112e13, 583.806, 2361.357, 251.668, 910.843),
    "summit/batch": (4626, 4626, 4.362e11, 7.8e12, 733.429, 2626.796, 3552.413, 12676.077),
    "setonix/cpu": (1792, 1600, 2.50944e12, 0, 384.959, 772.714, 712.372, 1358.631),
    "setonix/gpu": (256, 192, 2.048e12, 5.2e13, 652.306, 2772.714, 156.735, 580.816),
    "lumi/lumi-c": (512, 512, 2.50944e12, 0, 384.959, 772.714, 231.585, 438.388),
    "lumi/lumi-g": (3840, 3840, 2.048e12, 5.2e13, 652.306, 2772.714, 2960.959, 11442.592),
    "perlmutter/gpu": (13824, 13824, 3.58e12, 9.7e12, 652.306, 1711.490, 10659.453, 25911.698),
    "aurora/batch": (10752, 10624, 3.9936e12, 5.243e13, 923.735, 4589.041, 12055.950, 52618.671),
    "mit_supercloud/cpu": (480, 480, 2.9952e12, 0, 203.327, 213.531, 310.145, 315.247),
    "mit_supercloud/gpu": (224, 224, 1.248e12, 7.8e12, 538.020, 1384.959, 142.912, 340.531),
    "selene/batch": (560, 560, 3.481e12, 6.24e14, 1103.327, 4038.020, 1436.077, 3147.981),
}
ORACLE = {
    "frontier": "frontier",
    "marconi100": "marconi100",
    "fugaku": "fugaku",
    "lassen": "lassen",
    "adastraMI250": "adastra",
    "summit": "summit",
}


def as_in_source(key: str) -> Partition:
    """A shipped partition with the source's values put back where ours are corrected."""
    system, _, name = key.partition("/")
    partition = next(part for part in System.load(system).partitions if part.name == name)
    tables: dict[str, dict[str, Any]] = {}
    for path, value in SOURCE.get(key, {}).items():
        table, _, field = path.rpartition(".")
        tables.setdefault(table, {})[field] = value
    changes = tables.pop("", {})
    changes |= {name: dataclasses.replace(getattr(partition, name), **values) for name, values in tables.items()}
    changes["jobs"] = dataclasses.replace(partition.jobs, max_nodes=None)
    return dataclasses.replace(partition, **changes)


def system_kw(part: Partition, node_dc_w: float, rectifiers: int | None = None) -> float:
    """Power of a partition whose nodes all draw `node_dc_w`, kW: the formulas of the source."""
    conversion, topology = part.conversion, part.topology
    chassis = (topology.racks - len(topology.missing_racks)) * topology.chassis_per_rack
    nodes = part.nodes * (node_dc_w + conversion.sivoc_constant_w) / conversion.sivoc_efficiency
    direct = nodes + chassis * topology.switches_per_chassis * part.switch_w
    per_chassis = topology.rectifiers_per_chassis if rectifiers is None else rectifiers
    alternating = (direct + chassis * per_chassis * conversion.rectifier_constant_w) / conversion.rectifier_efficiency
    return (alternating + topology.cdus * part.cdu_pump_w) / 1000


def dc_watts(part: Partition, cpu: float, gpu: float, nic: float = 0.0) -> float:
    """Direct-current power of a node at the given utilisations, 0 to 1."""
    node = part.node

    def device(count: int, idle: float, full: float, used: float) -> float:
        return count * (used * full + (1 - used) * idle)

    return (
        device(node.cpus, node.cpu_idle_w, node.cpu_max_w, cpu)
        + device(node.gpus, node.gpu_idle_w, node.gpu_max_w, gpu)
        + device(node.nics, node.nic_idle_w, node.nic_max_w, nic)
        + node.memory_w
        + node.nvme_w
    )


def test_the_systems_that_come_along() -> None:
    assert System.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name: str, tmp_path: Path) -> None:
    system = System.load(name)
    assert system.name == name
    data = system.to_dict()
    assert System.from_dict(data) == system
    assert System.from_dict(json.loads(json.dumps(data))) == system
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    assert System.load(path) == System.load(str(path)) == system


@pytest.mark.parametrize("name", NAMES)
def test_hydra_reads_the_same(name: str, project_root: Path) -> None:
    config = OmegaConf.load(project_root / "conf" / "system" / f"{name}.yaml")
    assert System.from_dict(OmegaConf.to_container(config, resolve=True)) == System.load(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped_says_where_it_is_from(name: str, project_root: Path) -> None:
    text = (project_root / "conf" / "system" / f"{name}.yaml").read_text(encoding="utf-8")
    sources = System.load(name).sources
    assert sources
    text = text[text.index("name:") :]
    for mark in set(re.findall(r"\[([REP])\]", text)):
        assert any(source.startswith(f"[{mark}]") for source in sources), mark
    corrected = any(key.startswith(f"{name}/") for key in (*SOURCE, *NEW - {"uniform/batch"}))
    assert "[C]" in text or not corrected


def test_every_shipped_partition_is_checked_against_the_source() -> None:
    ours = {f"{name}/{part.name}" for name in NAMES for part in System.load(name).partitions}
    assert ours == set(TABLE) | NEW
    assert set(SOURCE) <= set(TABLE)


@pytest.mark.parametrize("key", TABLE)
def test_source_values(key: str) -> None:
    places, available, cpu, gpu, idle_w, full_w, idle_kw, full_kw = TABLE[key]
    part = as_in_source(key)
    assert part.topology.total_nodes == places
    assert part.nodes == available
    assert (part.node.cpu_peak_flops, part.node.gpu_peak_flops) == (cpu, gpu)
    assert part.node_idle_w == pytest.approx(idle_w, abs=6e-4)
    idle, full = dc_watts(part, 0, 0), dc_watts(part, 1, 1)
    conversion = part.conversion
    assert (full + conversion.sivoc_constant_w) / conversion.sivoc_efficiency == pytest.approx(full_w, abs=6e-4)
    assert (part.node.idle_w, part.node.full_w) == (idle, dc_watts(part, 1, 1, 1))
    assert system_kw(part, idle, rectifiers=4) == pytest.approx(idle_kw, abs=6e-4)
    assert system_kw(part, full, rectifiers=4) == pytest.approx(full_kw, abs=6e-4)


@pytest.mark.parametrize("key", SOURCE)
def test_every_correction_changes_something(key: str) -> None:
    system, _, name = key.partition("/")
    ours = next(part for part in System.load(system).partitions if part.name == name)
    for path, value in SOURCE[key].items():
        target: Any = ours
        for step in path.split("."):
            target = getattr(target, step)
        assert target != value, path


@pytest.mark.parametrize("theirs", ORACLE)
def test_parameters_of_the_oracle(theirs: str, shared_dir: Path) -> None:
    record = json.loads((shared_dir / "oracle" / "raps_power.json").read_text())["systems"][theirs]
    said = record["parameters"]
    (name,) = (part.name for part in System.load(ORACLE[theirs]).partitions)
    part = as_in_source(f"{ORACLE[theirs]}/{name}")
    topology, node, conversion = part.topology, part.node, part.conversion
    ours = {
        "available_nodes": part.nodes,
        "total_nodes": topology.total_nodes,
        "num_cdus": topology.cdus,
        "racks_per_cdu": topology.racks_per_cdu,
        "nodes_per_rack": topology.nodes_per_rack,
        "chassis_per_rack": topology.chassis_per_rack,
        "switches_per_chassis": topology.switches_per_chassis,
        "rectifiers_per_chassis": topology.rectifiers_per_chassis,
        "missing_racks": list(topology.missing_racks),
        "cpus_per_node": node.cpus,
        "gpus_per_node": node.gpus,
        "nics_per_node": node.nics,
        "power_cpu_idle": node.cpu_idle_w,
        "power_cpu_max": node.cpu_max_w,
        "power_gpu_idle": node.gpu_idle_w,
        "power_gpu_max": node.gpu_max_w,
        "power_mem": node.memory_w,
        "power_nvme": node.nvme_w,
        "power_switch": part.switch_w,
        "power_cdu": part.cdu_pump_w,
        "sivoc_loss_constant": conversion.sivoc_constant_w,
        "sivoc_efficiency": conversion.sivoc_efficiency,
        "rectifier_loss_constant": conversion.rectifier_constant_w,
        "rectifier_efficiency": conversion.rectifier_efficiency,
        "rectifier_peak_threshold": conversion.load_sharing_threshold_w or 0.0,
        "cpu_peak_flops": node.cpu_peak_flops,
        "gpu_peak_flops": node.gpu_peak_flops,
        "cpu_fp_ratio": node.cpu_flops_ratio,
        "trace_quanta": part.trace_quantum_s,
    }
    assert ours == {key: said[key] for key in ours}
    nic = said.get("power_nic")
    assert (node.nic_idle_w, node.nic_max_w) == (said.get("power_nic_idle", nic), said.get("power_nic_max", nic))
    if node.gpus:
        assert node.gpu_flops_ratio == said["gpu_fp_ratio"]
    assert part.nodes * node.peak_flops == pytest.approx(record["rpeak_flops"], rel=1e-12)
    for row in record["node"]:
        watts = dc_watts(part, row["cpu_frac"], row["gpu_frac"], row["net_util"])
        after = (watts + conversion.sivoc_constant_w) / conversion.sivoc_efficiency
        assert after == pytest.approx(row["node_power_W"], rel=1e-12)


def test_down_nodes_and_missing_racks() -> None:
    frontier = System.load("frontier")
    (part,) = frontier.partitions
    assert set(range(9600)) - set(part.topology.available.tolist()) == set(range(41 * 128, 42 * 128))
    assert (frontier.nodes, frontier.total_nodes, frontier.cdus) == (9472, 9600, 25)
    assert frontier.peak_flops == 9472 * (2.048e12 + 4 * 5.2e13)
    with pytest.raises(ValueError, match="read-only"):
        part.topology.available[0] = 7


def test_places_run_through_the_partitions() -> None:
    setonix = System.load("setonix")
    expected = [*range(1600), *(2048 + place for place in range(192))]
    assert setonix.places.tolist() == expected
    assert setonix.places.dtype == np.int64
    assert setonix.nodes == len(expected) == 1792


def test_synthetic_jobs_fit() -> None:
    for name in NAMES:
        for part in System.load(name).partitions:
            assert part.jobs.max_nodes is None or part.jobs.max_nodes <= part.nodes


def test_objects_are_frozen_and_hashable() -> None:
    system = System.load("lumi")
    with pytest.raises(dataclasses.FrozenInstanceError):
        system.name = "x"  # type: ignore[misc]
    assert hash(system) == hash(System.load("lumi"))


class TestUniform:
    def test_size_and_name(self) -> None:
        system = System.uniform(nodes=37, name="cluster")
        assert (system.name, system.nodes, system.total_nodes, system.cdus) == ("cluster", 37, 37, 1)
        assert system.places.tolist() == list(range(37))
        assert System.uniform() == System.load("uniform")
        assert System.uniform().nodes == 100

    def test_the_largest_machines(self) -> None:
        assert System.uniform(nodes=158_976).nodes == 158_976

    @pytest.mark.parametrize("nodes", [0, -1, 10_000_001])
    def test_out_of_range(self, nodes: int) -> None:
        with pytest.raises(
            SystemConfigError, match=rf"^nodes={nodes} is out of range: it must lie between 1 and 10000000"
        ):
            System.uniform(nodes)

    @pytest.mark.parametrize("nodes", [2.5, "many", True, None, [3]])
    def test_not_a_count(self, nodes: Any) -> None:
        with pytest.raises(SystemConfigError, match=r"^nodes"):
            System.uniform(nodes)

    @pytest.mark.parametrize(
        "mutate",
        [
            lambda d: d["partitions"]["batch"]["topology"].update(nodes_per_rack=5),
            lambda d: d["partitions"]["batch"]["topology"].update(cdus=2),
            lambda d: d["partitions"].update(other=d["partitions"]["batch"]),
            lambda d: d["partitions"].update(batch=None),
            lambda d: d.update(partitions={}),
        ],
    )
    def test_short_form_is_for_one_partition_without_racks(self, mutate: Any) -> None:
        data = System.uniform(4).to_dict()
        data["partitions"]["batch"]["topology"] = {}
        assert System.from_dict({**data, "nodes": 9}).nodes == 9
        mutate(data)
        with pytest.raises(SystemConfigError, match=r"^nodes is for a system of one partition"):
            System.from_dict({**data, "nodes": 9})


class TestPlants:
    def plant(self, cooling: Any) -> CoolingPlant:
        plant = System.from_dict({**System.load("frontier").to_dict(), "cooling": cooling}).cooling
        assert plant is not None
        return plant

    def test_frontier_is_the_measure(self) -> None:
        frontier = System.load("frontier").cooling
        assert self.plant({"design_power_w": 30e6}) == frontier

    def test_half_a_frontier(self) -> None:
        whole, half = self.plant({"design_power_w": 30e6}), self.plant({"design_power_w": 15e6})
        assert half.towers.cells == 8
        assert half.towers.min_cells == 4
        assert half.towers.fan_w == whole.towers.fan_w
        assert half.cdu.flow_kg_s == pytest.approx(whole.cdu.flow_kg_s / 2)
        assert half.primary.supply_volume_m3 == whole.primary.supply_volume_m3 / 2
        assert half.exchangers.ua_w_k == whole.exchangers.ua_w_k / 2
        assert half.cdu.supply_c == whole.cdu.supply_c
        for ours, theirs in (
            (half.primary.pumps, whole.primary.pumps),
            (half.tower_loop.pumps, whole.tower_loop.pumps),
        ):
            flow = theirs.stage_flows_kg_s[0]
            assert ours.stage_flows_kg_s[0] == flow / 2
            assert ours.dp_quadratic_pa * (flow / 2) ** 2 == pytest.approx(theirs.dp_quadratic_pa * flow**2)
            assert ours.curve_m == theirs.curve_m

    def test_cells_are_whole_and_as_large_as_they_must_be(self) -> None:
        small = self.plant({"design_power_w": 1e6}).towers
        whole = System.load("frontier").cooling.towers  # type: ignore[union-attr]
        assert small.cells == small.min_cells == 1
        assert small.cells * small.fan_w == pytest.approx(16 * whole.fan_w / 30)

    def test_given_values_win(self) -> None:
        plant = self.plant(
            {"design_power_w": 15e6, "towers": {"cells": 11, "fan_w": 82e3}, "cdu": {"design_power_w": 9e5}}
        )
        assert (plant.towers.cells, plant.towers.fan_w, plant.towers.fan_min) == (11, 82e3, 0.3)
        assert plant.cdu.flow_kg_s == pytest.approx(17.24 * 0.75)

    @pytest.mark.parametrize(
        ("cooling", "problem"),
        [
            ({"design_power_w": -1}, "cooling.design_power_w=-1.0 is out of range"),
            ({"design_power_w": "much"}, "cooling.design_power_w='much' must be a number"),
            ({"design_power_w": 1e6, "cdu": 5}, "cooling.cdu must hold keys and values"),
            ({"design_power_w": 1e6, "cdu": {"design_power_w": 0}}, "cooling.cdu.design_power_w=0.0 is out of range"),
            ({"design_power_w": 1e6, "tower": {}}, "cooling.tower is not a known key. Did you mean 'towers'?"),
            ({}, "cooling.design_power_w is missing"),
            ([], "cooling must hold keys and values"),
        ],
    )
    def test_wrong_plants(self, cooling: Any, problem: str) -> None:
        with pytest.raises(SystemConfigError) as caught:
            self.plant(cooling)
        assert str(caught.value).startswith(problem)

    @pytest.mark.parametrize("name", [name for name in NAMES if name != "uniform"])
    def test_plants_fit_their_machines(self, name: str) -> None:
        system = System.load(name)
        plant = system.cooling
        assert plant is not None
        full = {part.name: system_kw(part, part.node.full_w) * 1e3 for part in system.partitions}
        assert 0.98 < plant.design_power_w / sum(full.values()) < 1.1
        loads = [full[part.name] / part.topology.cdus for part in system.partitions]
        assert 0.99 < plant.cdu.design_power_w / max(loads) < 1.2

    def test_no_plant(self) -> None:
        assert System.load("uniform").cooling is None
        assert System.from_dict({**System.load("lumi").to_dict(), "cooling": None}).cooling is None


def table() -> str:
    """The table of docs/systems.md."""
    rows = [
        "| system | partition | nodes in service | places | CPUs | GPUs | node W idle | node W full | Rpeak PFLOP/s |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in NAMES:
        for part in System.load(name).partitions:
            peak = part.nodes * part.node.peak_flops / 1e15
            rows.append(
                f"| {name} | {part.name} | {part.nodes} | {part.topology.total_nodes} | {part.node.cpus} | "
                f"{part.node.gpus} | {part.node_idle_w:.0f} | {part.node_full_w:.0f} | {peak:.1f} |"
            )
    return "\n".join(rows)


def test_the_smallest_system_of_the_documentation(project_root: Path, tmp_path: Path) -> None:
    text = (project_root / "docs" / "systems.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    assert (System.load(path).name, System.load(path).nodes) == ("mine", 64)


def test_the_documentation_shows_these_numbers(project_root: Path) -> None:
    text = (project_root / "docs" / "systems.md").read_text(encoding="utf-8")
    assert table() in text, f"put this table into docs/systems.md:\n{table()}"
