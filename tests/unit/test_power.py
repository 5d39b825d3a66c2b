"""Power by hand: traces that begin late and end early, metered nodes, naps, energies, bands, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.errors import OptionError
from twin_gym.power import PowerError, PowerModel, power_history
from twin_gym.ragged import Trace

SYSTEM = tg.System.uniform(nodes=4)
NODE = SYSTEM.partitions[0].node
MODEL = PowerModel(SYSTEM)
CPU = NODE.cpus * (NODE.cpu_max_w - NODE.cpu_idle_w)
GPU = NODE.gpus * (NODE.gpu_max_w - NODE.gpu_idle_w)


def mains(dc: float) -> float:
    """Watts that so many more watts of a node's devices draw from the mains."""
    conversion = SYSTEM.partitions[0].conversion
    return dc / conversion.sivoc_efficiency / conversion.rectifier_efficiency


def one(runtime: int = 100, nodes: int = 2, **traces: Trace) -> tg.Workload:
    return tg.Workload.build(
        id=[1], submit=[0], runtime=[runtime], requested_time=[runtime], nodes=[nodes], traces=traces
    )


def samples(values: list[float], start: int = 0, quantum: int = 10, unit: str = "1") -> Trace:
    return Trace(np.array(values), np.array([0, len(values)]), np.array([start]), np.array([quantum]), unit)


def history_of(workload: tg.Workload, **options):
    return power_history(tg.simulate(SYSTEM, workload), SYSTEM, **options)


def test_a_trace_holds_its_last_value_and_is_idle_before_it_begins():
    history = history_of(one(cpu=samples([0.5, 1.0], start=20), gpu=samples([0.0])))
    assert history.time.tolist() == [0, 20, 30, 100]
    expected = [0.0, mains(2 * 0.5 * CPU), mains(2 * CPU), 0.0]
    np.testing.assert_allclose(history.total - MODEL.idle, expected, atol=1e-5)
    assert history.energy() == pytest.approx(MODEL.idle * 100 + sum(expected[1:2]) * 10 + expected[2] * 70, rel=1e-12)


def test_samples_after_the_end_of_a_job_that_is_cut_do_not_happen():
    log = tg.Workload.build(
        id=[1], submit=[0], runtime=[100], requested_time=[15], nodes=[1], traces={"cpu": samples([0.0, 0.5, 1.0])}
    )
    history = history_of(log, assumed=0.0)
    assert history.time.tolist() == [0, 10, 15]
    assert history.total.max() - MODEL.idle == pytest.approx(mains(0.5 * CPU), rel=1e-9)


def test_a_nodes_metered_power_goes_before_its_utilisation_and_unused_nodes_idle():
    history = history_of(one(node_power=samples([NODE.idle_w + 100.0], unit="W"), cpu=samples([1.0])))
    assert history.total[0] == pytest.approx(MODEL.idle + mains(2 * 100.0), rel=1e-9)


def test_what_was_not_recorded_is_assumed_and_can_be_told():
    assert history_of(one()).total[0] == pytest.approx(MODEL.idle + mains(2 * 0.7 * (CPU + GPU)), rel=1e-9)
    assert history_of(one(), assumed=0.0).total[0] == pytest.approx(MODEL.idle, rel=1e-12)


def test_a_jobs_energy_is_its_nodes_through_their_converters():
    history = history_of(one(cpu=samples([1.0]), gpu=samples([1.0])))
    assert history.job_energy[0] == pytest.approx(2 * 100 * SYSTEM.partitions[0].node_full_w, rel=1e-9)
    assert history_of(one(), assumed=0.0).job_energy[0] == pytest.approx(
        2 * 100 * SYSTEM.partitions[0].node_idle_w, rel=1e-9
    )


def test_all_resolutions_give_the_same_energy():
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=4, load=0.9, seed=1)
    history = history_of(log)
    for resolution in (1, 15, 3600):
        table = history.bins(resolution)
        spans = np.diff(np.append(table["time"], history.time[-1]))
        assert (table["total"] * spans).sum() == pytest.approx(history.energy(), rel=1e-9)
        assert (table["total_min"] <= table["total"] * (1 + 1e-12)).all()
        assert (table["total_max"] >= table["total"] * (1 - 1e-12)).all()


def test_counts_and_identities_of_nodes_give_the_same_power():
    system = tg.System.load("adastra")
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=200, capacity=356, load=0.9, seed=1)
    by_count = power_history(tg.simulate(system, log, "sjf", "easy"), system)
    for options in ({}, {"placement": "contiguous"}):
        result = tg.simulate(system, log, "sjf", "easy", **options)
        detailed = power_history(result, system, per_cdu=900)
        np.testing.assert_allclose(detailed.total, by_count.total, rtol=1e-12)
        pumps = detailed.model.pumps * (detailed.time[-1] - detailed.time[0])
        assert detailed.cdu_energy.sum() + pumps == pytest.approx(by_count.energy(), rel=1e-9)


def test_nodes_that_are_off_draw_what_their_states_say():
    states = SYSTEM.partitions[0].states
    log = tg.Workload.build(
        id=[1, 2], submit=[0, 1000], runtime=[100, 50], requested_time=[100, 50], nodes=[4, 1],
        traces={"cpu": Trace.scalars([0.0, 0.0], "1"), "gpu": Trace.scalars([0.0, 0.0], "1")},
    )  # fmt: skip
    result = tg.simulate(SYSTEM, log, idle_timeout=300)
    history = power_history(result, SYSTEM)
    end = 1000 + states.boot_s + 50
    off, down, boot = (mains(w - NODE.idle_w) for w in (states.off_w, states.shutdown_w, states.boot_w))
    shut = states.shutdown_s
    expected = MODEL.idle * end + 4 * (down * shut) + off * ((1000 - 400 - shut) + 3 * (end - 400 - shut))
    assert history.energy() == pytest.approx(expected + boot * states.boot_s, rel=1e-9)
    assert history.total.min() == pytest.approx(MODEL.idle + 4 * off, rel=1e-9)


def test_jobs_that_a_cap_keeps_waiting_keep_the_machine_below_it():
    system = tg.System.uniform(nodes=64)
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=400, capacity=64, load=1.0, seed=2)
    free = power_history(tg.simulate(system, log, "sjf", "easy"), system)
    cap = PowerModel(system).idle + 0.6 * (free.total.max() - PowerModel(system).idle)
    capped = power_history(tg.simulate(system, log, "sjf", "easy", power_cap=cap), system)
    assert 0.9 * cap < capped.total.max() <= cap < free.total.max()


def test_slowed_jobs_keep_the_machine_below_the_cap_and_stretch_their_traces():
    system = tg.System.uniform(nodes=64)
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=400, capacity=64, load=1.0, seed=2)
    idle = PowerModel(system).idle
    cap = idle + 0.6 * (PowerModel(system, assumed=0.7).full - idle)
    result = tg.simulate(system, log, "sjf", "easy", power_cap=cap, over_cap="slow")
    assert 0.99 * cap < power_history(result, system).total.max() <= cap * (1 + 1e-9)

    slowing = tg.Slowing(floor=0.5, exponent=1.0, sensitivity=1.0)  # half the power, half the speed
    log = one(nodes=1, runtime=40, cpu=samples([1.0, 0.0, 1.0, 0.0]), gpu=samples([0.0]))
    watts = PowerModel(SYSTEM).believed(log)
    result = tg.simulate(SYSTEM, log, power_cap=MODEL.idle + watts[0] / 2 + 1, over_cap="slow", slowing=slowing)
    history = power_history(result, SYSTEM)
    assert history.time.tolist() == [0, 20, 40, 60, 80]
    np.testing.assert_allclose(history.total - MODEL.idle, [watts[0] / 2, 0, watts[0] / 2, 0, 0], rtol=0.01, atol=1e-5)


def test_direct_current_saves_the_rectifiers_losses():
    system = tg.System.load("frontier")
    usual, direct = PowerModel(system), PowerModel(system, supply="dc", dc_loss=0.0)
    lost = usual.idle - direct.idle
    assert direct.idle == pytest.approx(system.nodes * system.partitions[0].node_idle_w + usual.switches + usual.pumps)
    assert lost / usual.idle == pytest.approx(0.045, abs=0.005)


def test_the_summary_by_hand():
    history = history_of(one(cpu=samples([1.0]), gpu=samples([1.0]), runtime=120))
    high = MODEL.idle + mains(2 * (CPU + GPU))
    summary = history.summary
    assert summary["power_mean"] == summary["power_max"] == pytest.approx(high, rel=1e-9)
    assert summary["energy"] == pytest.approx(120 * high, rel=1e-9)
    assert summary["ramp_max"] == pytest.approx(0.0, abs=1e-6)
    flops = 2 * (
        NODE.cpus * NODE.cpu_peak_flops * NODE.cpu_flops_ratio + NODE.gpus * NODE.gpu_peak_flops * NODE.gpu_flops_ratio
    )
    assert summary["pflops_mean"] == pytest.approx(flops / 1e15, rel=1e-6)
    assert summary["gflops_per_watt"] == pytest.approx(flops / 1e9 / high, rel=1e-6)
    assert summary["energy"] == pytest.approx(
        summary["it_energy"] + summary["loss_energy"] + 120 * MODEL.pumps, rel=1e-9
    )


def test_idle_nodes_do_no_flops():
    log = tg.Workload.build(id=[1, 2], submit=[0, 500], runtime=[100] * 2, requested_time=[100] * 2, nodes=[2, 2])
    history = history_of(log)
    idle = (history.time >= 100) & (history.time < 500)
    assert idle.any()
    assert (history.flops[idle] == 0).all()
    assert (history.utilization[idle] == 0).all()


def test_bands_of_uncertainty_are_seeded_and_as_wide_as_the_errors():
    history = history_of(one(cpu=samples([1.0]), gpu=samples([1.0]), runtime=2000))
    table, again = history.uncertainty(seed=1), history.uncertainty(seed=1)
    np.testing.assert_array_equal(table, again)
    assert (table["p5"] < table["mean"]).all()
    assert (table["mean"] < table["p95"]).all()
    assert table["mean"].to_numpy() == pytest.approx(history.bins(900)["total"].to_numpy(), rel=0.01)
    kinds, sigma = history._kinds(np.array([0, 900]))
    width = 2 * 1.6449 * np.sqrt(((kinds[0] * sigma) ** 2).sum())
    assert table["p95"][0] - table["p5"][0] == pytest.approx(width, rel=0.1)
    assert kinds.sum() == pytest.approx(history.total[0], rel=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: history_of(one(node_power=samples([-1.0], unit="W"))),
            PowerError,
            "'node_power'.*-1.0.*job 1, sample 0",
        ),
        (lambda: history_of(one(cpu=samples([0.5, np.nan]))), PowerError, "sample 1"),
        (lambda: history_of(one(), asumed=1), OptionError, "no option 'asumed'"),
        (lambda: PowerModel(SYSTEM, assumed=2.0), OptionError, "between 0 and 1"),
        (lambda: PowerModel(SYSTEM, supply="solar"), OptionError, "choose ac or dc"),
        (lambda: PowerModel(tg.System.load("fugaku"), load_sharing="smart"), OptionError, "load_sharing_threshold_w"),
        (lambda: power_history(tg.simulate(SYSTEM, one()), tg.System.uniform(nodes=9)), OptionError, "had 4 nodes"),
        (lambda: history_of(one(), per_cdu=None).bins(0), OptionError, "at least 1 s"),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_result_from_a_directory_needs_its_jobs(tmp_path):
    log = one()
    tg.simulate(SYSTEM, log).save(tmp_path / "run", figures=False)
    result = tg.Result.load(tmp_path / "run")
    with pytest.raises(OptionError, match="pass workload="):
        power_history(result, SYSTEM)
    assert power_history(result, SYSTEM, workload=log).energy() == history_of(log).energy()
