"""Node, total, loss and per-CDU power of every case that another program has worked out, to 1e-9.

That program has four rectifiers in every chassis whatever the system says, and counts the loss of the rectifiers of
missing racks; here the first is a changed system, the second is added by the test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.power import PowerHistory, PowerModel, power_history
from twin_gym.ragged import Ragged

NAMES = {"frontier": "frontier", "marconi100": "marconi100", "fugaku": "fugaku", "lassen": "lassen",
         "adastraMI250": "adastra", "summit": "summit"}  # fmt: skip


@pytest.fixture(scope="module")
def record(shared_dir: Path) -> dict[str, Any]:
    return json.loads((shared_dir / "oracle" / "raps_power.json").read_text())["systems"]


def peer(name: str, parameters: dict[str, Any]) -> tg.System:
    """The system with the other program's parameters: ours corrects some of them, which docs/systems.md lists."""
    data = tg.System.load(NAMES[name]).to_dict()
    (part,) = data["partitions"].values()
    part["topology"] |= {"rectifiers_per_chassis": 4, "nodes_per_rectifier": None}
    part["node"] |= {
        "cpus": parameters["cpus_per_node"],
        "gpus": parameters["gpus_per_node"],
        "nics": parameters["nics_per_node"],
        "cpu_idle_w": parameters["power_cpu_idle"],
        "cpu_max_w": parameters["power_cpu_max"],
        "gpu_idle_w": parameters.get("power_gpu_idle", 0.0),
        "gpu_max_w": parameters.get("power_gpu_max", 0.0),
        "memory_w": parameters["power_mem"],
        "nic_idle_w": parameters.get("power_nic", parameters.get("power_nic_idle", 0.0)) or 0.0,
        "nic_max_w": parameters.get("power_nic", parameters.get("power_nic_max", 0.0)) or 0.0,
        "nvme_w": parameters.get("power_nvme", 0.0),
        "cpu_peak_flops": parameters["cpu_peak_flops"],
        "gpu_peak_flops": parameters.get("gpu_peak_flops", 0.0),
        "cpu_flops_ratio": parameters["cpu_fp_ratio"],
        "gpu_flops_ratio": parameters.get("gpu_fp_ratio", 0.0),
    }
    part["conversion"] |= {
        "sivoc_constant_w": parameters["sivoc_loss_constant"],
        "sivoc_efficiency": parameters["sivoc_efficiency"],
        "rectifier_constant_w": parameters["rectifier_loss_constant"],
        "rectifier_efficiency": parameters["rectifier_efficiency"],
    }
    part["switch_w"], part["cdu_pump_w"] = parameters["power_switch"], parameters["power_cdu"]
    return tg.System.from_dict(data)


def phantom(system: tg.System) -> float:
    """What the other program counts as loss of the rectifiers of missing racks, W."""
    part = system.partitions[0]
    load = part.topology.switches_per_chassis * part.switch_w
    lost = (load + 4 * part.conversion.rectifier_constant_w) / part.conversion.rectifier_efficiency - load
    return len(part.topology.missing_racks) * part.topology.chassis_per_rack * lost


class Exact(PowerModel):
    """A model that is told how busy devices are in double precision: traces hold float32, and 0.79 is none."""

    fractions: tuple[tuple[float, float], ...] = ()

    def profiles(self, workload: tg.Workload, partition: Any = None) -> Any:
        merged = np.column_stack([np.array(self.fractions, np.float64), np.full(len(workload), np.nan)])
        return self._priced(np.zeros(len(workload), np.int64), merged, np.arange(len(workload) + 1), partition)


def exact(system: tg.System, *fractions: tuple[float, float], **options: Any) -> Exact:
    model = Exact(system, **options)
    object.__setattr__(model, "fractions", fractions)
    return model


def drawn(system: tg.System, segments: list[tuple[int, int, float, float]], **options: Any) -> PowerHistory:
    """Run one job on each range (first, count, cpu, gpu) of the nodes in service, and return the power."""
    count = len(segments)
    ids = Ragged.from_rows([system.places[it[0] : it[0] + it[1]] for it in segments])
    workload = tg.Workload.build(
        id=range(count),
        submit=[0] * count,
        runtime=[15] * count,
        requested_time=[15] * count,
        nodes=[it[1] for it in segments],
        start=[0] * count,
        node_ids=ids,
    )
    result = tg.simulate(system, workload, policy="replay")
    return power_history(result, exact(system, *(it[2:] for it in segments), **options), per_cdu=15)


def expand(pairs: list[tuple[float, int]]) -> np.ndarray:
    return np.repeat([value for value, _ in pairs], [count for _, count in pairs])


@pytest.mark.parametrize("name", NAMES)
def test_every_case(name, record):
    case = record[name]
    system = peer(name, case["parameters"])
    assert system.nodes == case["parameters"]["available_nodes"]
    everything = system.nodes
    runs = [([(0, everything, it["cpu_frac"], it["gpu_frac"])], it) for it in case["uniform"]]
    runs += [([(0, it["k"], it["cpu_frac"], it["gpu_frac"])], it) for it in case["first_k"]]
    runs += [
        ([(s["first"], s["count"], s["cpu_frac"], s["gpu_frac"]) for s in it["segments"]], it) for it in case["mixed"]
    ]
    assert len(runs) == 13
    for segments, it in runs:
        history = drawn(system, segments)
        assert history.total[0] == pytest.approx(it["total_power_kW"] * 1e3, rel=1e-9)
        assert history.loss[0] + phantom(system) == pytest.approx(it["total_loss_kW"] * 1e3, rel=1e-9, abs=1e-6)
        np.testing.assert_allclose(history.heat()[0], expand(it["cdu_power_kW_rle"]) * 1e3, rtol=1e-9)
        assert history.flops[0] / 1e15 == pytest.approx(it["pflops"], rel=1e-6, abs=1e-9)
    idle = PowerModel(system).idle
    assert idle == pytest.approx(case["idle_system"]["total_power_kW"] * 1e3, rel=1e-9)
    assert system.peak_flops == pytest.approx(case["rpeak_flops"], rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_nodes_power_and_its_converters_loss(name, record):
    system = peer(name, record[name]["parameters"])
    for it in record[name]["node"]:
        if it["net_util"]:
            continue  # traffic has no power here: every NIC of the systems but one draws the same, busy or not
        part = system.partitions[0]
        priced = exact(system)._priced(
            np.zeros(1, np.int64), np.array([[it["cpu_frac"], it["gpu_frac"], np.nan]]), np.arange(2), None
        )
        dc = priced.samples["dc"][0] / 1e9 + part.node.idle_w
        node = (dc + part.conversion.sivoc_constant_w) / part.conversion.sivoc_efficiency
        assert node == pytest.approx(it["node_power_W"], rel=1e-9)
        assert node - dc == pytest.approx(it["sivoc_loss_W"], rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["frontier", "adastraMI250"])
def test_smart_load_sharing(name, record):
    system = peer(name, record[name]["parameters"])
    for it in record[name]["smart_load_sharing"]:
        history = drawn(system, [(0, system.nodes, it["cpu_frac"], it["gpu_frac"])], load_sharing="smart")
        assert history.total[0] - history.model.pumps == pytest.approx(it["sum_rack_power_kW"] * 1e3, rel=1e-9)
        missing = phantom_smart(system)
        assert history.rectifier_loss[0] + missing == pytest.approx(it["sum_rect_loss_kW"] * 1e3, rel=1e-9)


def phantom_smart(system: tg.System) -> float:
    part = system.partitions[0]
    load = part.topology.switches_per_chassis * part.switch_w
    lost = (load + part.conversion.rectifier_constant_w) / part.conversion.rectifier_efficiency - load
    return len(part.topology.missing_racks) * part.topology.chassis_per_rack * lost
