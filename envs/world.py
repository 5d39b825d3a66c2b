"""What all environments of a batch share, laid out for the kernels: machine, jobs, task, surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.arrays import check_run, job_table, outage_table, setup_table, user_count
from twin_gym.config import BACKFILLS
from twin_gym.errors import OptionError
from twin_gym.kernels import batch, observe, tasks
from twin_gym.kernels.climate import METER, Climate
from twin_gym.kernels.cooling import CONTROL, MEMORY, OUTPUT, PARAMETERS
from twin_gym.kernels.state import UNKNOWN, Jobs, Outages
from twin_gym.kernels.tally import METERED, NAMES
from twin_gym.outages import Outage
from twin_gym.policies import FAMILIES, find_policy
from twin_gym.power import PowerModel
from twin_gym.power_budget import believed_watts, power_budget
from twin_gym.series import Series
from twin_gym.site import Surroundings
from twin_gym.system import System
from twin_gym.workload import Workload

from .episodes import Episodes
from .options import ENDING_BEFORE, EnvOptions
from .rewards import weights_of
from .spaces import Layout

Ints = npt.NDArray[np.int64]
_TASKS = {
    "select": tasks.SELECT,
    "dispatch": tasks.DISPATCH,
    "backfill": tasks.BACKFILL,
    "inspect": tasks.INSPECT,
    "weights": tasks.WEIGHTS,
}
_PICKS = {"block": tasks.BLOCK, "reserve": tasks.RESERVE, "mask": tasks.MASK}
_VIEWS = {"head": tasks.HEAD, "split": tasks.SPLIT, "sample": tasks.SAMPLE}
_CELL = 900  # s, of prices, carbon intensities and weather
_TAIL = 30 * 86_400  # s after the last submit for which they are laid out
_RESTS = 24  # wet bulbs for which a plant at rest is worked out


@dataclass(frozen=True, eq=False)
class World:
    """Machine, jobs and task.

    Attributes
    ----------
    options : EnvOptions
    system : System
    workload : Workload
    """

    options: EnvOptions
    system: System
    workload: Workload

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle takes along; what is laid out for the kernels is laid out again."""
        return {"options": self.options, "system": self.system, "workload": self.workload}

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Return the world itself, which never changes."""
        return self

    @staticmethod
    def of(options: EnvOptions) -> World:
        """Read the log and the machine.

        Raises
        ------
        TwinGymError
            If one can't be read, or they do not go with the options.
        """
        workload = options.workload
        if isinstance(workload, Mapping):
            from twin_gym import datasets

            arguments = dict(workload)
            workload = datasets.load(arguments.pop("loader", "swf"), arguments.pop("path", None), **arguments)
        if not isinstance(workload, Workload):
            raise OptionError("workload must be a Workload, or a mapping such as {'loader': 'swf', 'path': 'log.swf'}.")
        if len(workload) == 0:
            raise OptionError("workload holds no job; an environment needs some.")
        return World(options, _system(options.system, workload), workload)

    @cached_property
    def layout(self) -> Layout:
        """How an observation is laid out."""
        return Layout(self.options)

    @cached_property
    def episodes(self) -> Episodes:
        """Where episodes may lie."""
        return Episodes(self.workload, self.options, self._standing)

    @cached_property
    def power(self) -> PowerModel:
        """What the machine draws."""
        return PowerModel(self.system)

    @property
    def metered(self) -> bool:
        """Whether anybody asks what power costs."""
        weighted = weights_of(self.options.reward)
        terms = any(weighted[k] != 0.0 for k, name in enumerate(NAMES) if name in METERED)
        return self.options.cooling or terms or bool({"facility", "market"} & set(self.options.features))

    @cached_property
    def _standing(self) -> tuple[Ints, Ints] | None:
        """When each job runs in the schedule that prepopulates episodes."""
        warmup = self.options.warmup
        if warmup is None:
            return None
        policy, backfill = warmup
        workload = self.workload
        if policy == "replay":
            config = replace(self.options.run, policy="replay")
            check_run(config, self.system, workload, (), None)
            return workload.start, workload.start + workload.runtime
        from twin_gym.simulate import simulate

        kill = self.options.kill_at_request
        jobs = simulate(self.system, workload, policy, backfill, kill_at_request=kill).jobs
        missing = jobs["start"].isna().to_numpy()
        start = jobs["start"].fillna(0).to_numpy(np.int64)
        end = jobs["end"].fillna(0).to_numpy(np.int64)
        return np.where(missing, UNKNOWN, start), np.where(missing, UNKNOWN, end)

    @cached_property
    def jobs(self) -> Jobs:
        """The table of jobs."""
        workload = self.workload
        if self._standing is not None:
            workload = replace(workload, start=self._standing[0])
        if self.options.share_by == "account":
            workload = replace(workload, user=workload.account, users=workload.accounts)
        watts = believed_watts(self.system, workload)
        return job_table(workload, self.system, self.options.run.multifactor, None, watts)

    @property
    def users(self) -> int:
        """Users, or accounts, that share the machine."""
        return user_count(self.workload) if self.options.share_by == "user" else int(self.jobs.user.max(initial=0)) + 1

    @cached_property
    def outages(self) -> Outages:
        """Nodes that fail, over the whole log."""
        return outage_table(_failures(self.options.failures, self.system, self.workload), 0)

    @cached_property
    def setup(self) -> npt.NDArray[Any]:
        """What every environment is told, (1,) SETUP; where its episode lies is still to be filled in."""
        given, run = self.options, self.options.run
        failing = len(self.outages.start) > 0
        check_run(run, self.system, self.workload, (), None)
        if failing and run.powered:
            raise OptionError("failures do not go with power_cap yet; leave one of them out.")
        setup = setup_table([run], self.workload, self.system, outages=failing, budget=power_budget(run, self.system))
        if given.backfill == ENDING_BEFORE:
            setup["backfill"] = tasks.ENDING_BEFORE
        setup["count"] = self.episodes.room
        setup["target_watts"] = np.inf if given.target_power is None else given.target_power
        pumps = self.power.pumps if given.cooling else 0.0  # the plant has its own
        setup["idle_watts"], setup["full_watts"] = self.power.idle - pumps, self.power.full - self.power.idle
        setup["varied"], setup["noise"] = given.varied, given.estimate_noise
        if given.varied or given.prepopulate is not None:
            setup["overdue"] = 1
        return setup

    @cached_property
    def task(self) -> batch.Task:
        """What is decided and seen."""
        given, workload = self.options, self.workload
        pool = [(find_policy(policy), backfill) for policy, backfill in given.pool]
        for policy, backfill in pool:
            if policy.name == "replay" or policy.name in FAMILIES:
                raise OptionError(f"pool holds {policy.name}, which depends on more than the jobs and the clock.")
            if backfill not in BACKFILLS:
                raise OptionError(f"pool holds backfill={backfill!r}, which is unknown.")
        deadline = workload.extra.get("deadline")
        return batch.Task(
            rules=tasks.Rules(
                kind=_TASKS[given.task],
                meaning=_PICKS[given.pick],
                window=given.window,
                sight=_VIEWS[given.view],
                interval=given.hold,
            ),
            policies=np.array([policy.code for policy, _ in pool], np.int64),
            backfills=np.array([BACKFILLS.index(backfill) for _, backfill in pool], np.int64),
            initial=np.array(FAMILIES[given.family].weights if given.task == "weights" else ()),
            dense=given.dense,
            weights=weights_of(given.reward),
            places=self.layout.places,
            parts=given.release_bins,
            horizon=given.release_horizon,
            epoch=int(workload.epoch),
            longest=float(max(workload.requested_time.max(initial=1), 1)),
            static=self._static(),
            deadline=np.zeros(0, np.int64) if deadline is None else np.array(deadline, np.int64),
        )

    def _static(self) -> npt.NDArray[np.float32]:
        workload = self.workload
        request = workload.requested_time.astype(np.float32)
        full = max(float(self.setup["full_watts"][0]), 1.0)
        priority = np.nan_to_num(workload.priority, nan=0.0)
        lowest = priority.min(initial=np.inf)
        span = max(float(priority.max(initial=-np.inf) - lowest), 1e-9)
        columns = [
            request / (request + np.float32(observe.HOUR)),
            np.minimum(workload.nodes / self.system.nodes, 1.0),
            np.minimum(self.jobs.watts / full, 1.0),
            (priority - lowest) / span,
        ]
        return np.stack(columns, axis=1).astype(np.float32)

    def climate(self, num_envs: int) -> Climate:
        """Return price, carbon intensity and weather, and a meter and a plant at rest for each environment."""
        given, workload = self.options, self.workload
        if not self.metered:
            return _nothing()
        begin, end = int(workload.submit[0]) - 86_400, int(workload.submit[-1]) + _TAIL + given.release_horizon
        around = Surroundings.of(
            self.system,
            workload.epoch if workload.epoch_known else None,
            (begin, end),
            weather=given.weather,
            price=given.price,
            carbon=given.carbon,
        )
        edges = np.arange(begin, end, _CELL)
        price, carbon = (_sums(series, edges) for series in (around.price, around.carbon))
        wet_bulb = _sums(around.weather.wet_bulb, edges)
        it_share = (self.power.full_it - self.power.idle_it) / max(self.power.full - self.power.idle, 1e-9)
        climate = _nothing()._replace(
            begin=begin,
            cell=_CELL,
            price=price,
            carbon=carbon,
            wet_bulb=wet_bulb,
            price_range=_range(price),
            carbon_range=_range(carbon),
            meters=np.zeros(num_envs, METER),
            it_idle=self.power.idle_it,
            it_share=it_share,
            seconds=given.tick,
        )
        return self._with_plants(climate, num_envs) if given.cooling else climate

    def _with_plants(self, climate: Climate, num_envs: int) -> Climate:
        from twin_gym.cooling import Controls, Plant

        if self.system.cooling is None:
            raise OptionError(
                f"cooling=True, but {self.system.name} describes no cooling plant; choose another system."
            )
        plant = Plant(self.system.cooling, cdus=self.system.cdus)
        idle = np.full(plant.cdus, float(self.setup["idle_watts"][0]) / plant.cdus)
        low, high = _range(climate.wet_bulb)
        step = max((high - low) / (_RESTS - 1), 1e-3)
        rests = []
        for k in range(_RESTS):
            plant.reset(idle, low + k * step)
            rests.append(plant.snapshot())
        parameters = np.array([plant.parameters], PARAMETERS)
        return climate._replace(
            parameters=parameters,
            control=Controls().record(),
            memory=np.zeros(num_envs, MEMORY),
            loops=np.zeros((num_envs, 1)),
            valves=np.zeros((num_envs, 1)),
            out=np.zeros(num_envs, OUTPUT),
            heat=np.zeros((num_envs, 1)),
            supply=np.zeros((num_envs, 1)),
            parts=max(1, int(np.ceil(self.options.tick / plant.longest_step - 1e-9))),
            cdus=float(plant.cdus),
            limit=float(parameters["cdu_high"][0]),
            rest=np.concatenate([rest.memory for rest in rests]),
            rest_loops=np.array([rest.loop[:1] for rest in rests]),
            rest_valves=np.array([rest.valves[:1] for rest in rests]),
            rest_low=low,
            rest_step=step,
        )


def _system(system: Any, workload: Workload) -> System:
    if system is None:
        return System.uniform(nodes=workload.capacity or int(workload.nodes.max(initial=1)))
    if isinstance(system, System):
        return system
    if isinstance(system, int) and not isinstance(system, bool):
        return System.uniform(nodes=system)
    return System.from_dict(system) if isinstance(system, Mapping) else System.load(system)


def _failures(told: Mapping[str, Any] | None, system: System, workload: Workload) -> list[Outage]:
    """Draw single nodes that fail over the whole log: a Poisson process, each repaired after the same time."""
    if told is None:
        return []
    choices = {"mtbf": 0.0, "repair": 4.0, "seed": 0, "mode": "requeue", **told}
    if set(choices) != {"mtbf", "repair", "seed", "mode"} or not (choices["mtbf"] > 0 and choices["repair"] > 0):
        raise OptionError(
            "failures needs mtbf (of one node, h), and takes repair (h), seed and mode (requeue or fail)."
        )
    rng = np.random.default_rng(choices["seed"])
    begin, end = int(workload.submit[0]), int(workload.submit[-1]) + _TAIL
    count = rng.poisson((end - begin) / 3600 * system.nodes / choices["mtbf"])
    if count > 100_000:
        raise OptionError(
            f"failures.mtbf={choices['mtbf']} h means {count} failures over the log; choose a longer one."
        )
    times = np.sort(rng.integers(begin, end, count))
    nodes = rng.integers(0, system.nodes, count)
    repair = max(int(3600 * choices["repair"]), 1)
    return [
        Outage((int(node),), int(time), int(time) + repair, mode=choices["mode"], planned=False)
        for time, node in zip(times, nodes, strict=True)
    ]


def _sums(series: Series, edges: Ints) -> npt.NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(series.integral(edges[:-1], edges[1:]))])


def _range(sums: npt.NDArray[np.float64]) -> tuple[float, float]:
    means = np.diff(sums) / _CELL
    return float(means.min()), float(means.max())


def _nothing() -> Climate:
    """Return what stands where nobody asks: arrays without an entry."""
    flat, table = np.zeros(2), np.zeros((0, 1))
    return Climate(
        begin=0,
        cell=1,
        price=flat,
        carbon=flat,
        wet_bulb=flat,
        price_range=(0.0, 0.0),
        carbon_range=(0.0, 0.0),
        meters=np.zeros(0, METER),
        it_idle=0.0,
        it_share=0.0,
        parameters=np.zeros(0, PARAMETERS),
        control=np.zeros(0, CONTROL),
        memory=np.zeros(0, MEMORY),
        loops=table,
        valves=table,
        out=np.zeros(0, OUTPUT),
        heat=table,
        supply=table,
        seconds=15,
        parts=1,
        cdus=1.0,
        limit=0.0,
        rest=np.zeros(0, MEMORY),
        rest_loops=table,
        rest_valves=table,
        rest_low=0.0,
        rest_step=1.0,
    )
