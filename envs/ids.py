"""The environments by name: one class for each id, whose docstring is its specification."""

from __future__ import annotations

from typing import Any, ClassVar

from .core import TwinVectorEnv
from .single import TwinEnv


class SelectJobEnv(TwinEnv):
    """Pick the next job to start.

    Description
    -----------
    The queue stands in the order of `policy`; its first `window` jobs are visible. At each scheduling pass the agent
    picks jobs, one after the other, until it waits or (``pick="mask"``) nothing fits any more.

    Action
    ------
    ``Discrete(window + 1)``. 0 .. window - 1: the visible job at that place. If it fits it starts; if not, `pick` says
    what happens: ``block`` (time runs until it fits, and it starts; until then others are backfilled as `backfill`
    says), ``reserve`` (it is protected like a blocked head while `backfill` goes on behind it, then time runs to the
    next event) or ``mask`` (it can't be picked). `window`: wait for the next event.

    An action that is masked out is counted (``info["invalid"]``); the twin waits instead, or, where nothing is left to
    come, starts the first job that fits.

    Observation
    -----------
    ``Box(0, 1, (D,), float32)``: 9 features of each visible job, 11 of machine, queue and clock, `release_bins` of the
    nodes that will come free (`twin_gym.envs.spaces` names and defines each). ``layout="dict"`` gives the three as a
    ``Dict``; ``layout="rlscheduler"`` the 128x8 layout of RLScheduler.

    Reward
    ------
    The change of a weighted sum of objectives (`reward`), by default minus the mean bounded slowdown of the episode's
    jobs; with ``dense=False`` all of it at the end. ``info["reward/..."]`` holds each term.

    Episode end
    -----------
    ``terminated`` when every job of the episode has ended. Never ``truncated``.

    Arguments
    ---------
    See `twin_gym.envs.options.EnvOptions`.

    Version history
    ---------------
    v0: first version.
    """

    task: ClassVar[str] = "select"

    def __init__(self, **options: Any) -> None:
        super().__init__(task=self.task, **options)


class DispatchPolicyEnv(TwinEnv):
    """Choose by which policy and backfill mode the next pass is done.

    Description
    -----------
    At each pass with a job in the queue, or every `interval` seconds, the agent chooses one pair of `pool`.

    Action
    ------
    ``Discrete(len(pool))``: the pair (policy, backfill) that does the pass, and all others until `interval` is over.

    Observation, Reward, Episode end, Arguments
    -------------------------------------------
    As `SelectJobEnv`; the queue stands in the order of `policy`.

    Version history
    ---------------
    v0: first version.
    """

    task: ClassVar[str] = "dispatch"

    def __init__(self, **options: Any) -> None:
        super().__init__(task=self.task, **options)


class BackfillEnv(TwinEnv):
    """Choose what is backfilled behind a protected head.

    Description
    -----------
    The base `policy` orders the queue and starts jobs up to the first that does not fit, the head. As long as visible
    jobs could start without delaying it (they end before its shadow time, or leave it enough nodes), the agent is
    asked.

    Action
    ------
    ``Discrete(window + 1)``. 1 .. window - 1: start the candidate at that place of the queue; `window`: end the pass.
    The head itself, at place 0, and jobs that would delay it are masked out; choosing one ends the pass and is counted.

    Observation, Reward, Episode end, Arguments
    -------------------------------------------
    As `SelectJobEnv`; the feature ``behind`` marks the candidates.

    Version history
    ---------------
    v0: first version.
    """

    task: ClassVar[str] = "backfill"

    def __init__(self, **options: Any) -> None:
        super().__init__(task=self.task, **options)


class InspectEnv(TwinEnv):
    """Accept or reject the base policy's next start.

    Description
    -----------
    Whenever the first job in the order of `policy` fits, the agent may reject it. While it does not fit, others are
    backfilled as `backfill` says, without asking.

    Action
    ------
    ``Discrete(2)``. 0: start it. 1: let it wait until the next event, or for `interval` seconds at most. Where nothing
    is left to come it can't be rejected (masked out, counted, started).

    Observation, Reward, Episode end, Arguments
    -------------------------------------------
    As `SelectJobEnv`; the job in question is the first visible one.

    Version history
    ---------------
    v0: first version.
    """

    task: ClassVar[str] = "inspect"

    def __init__(self, **options: Any) -> None:
        super().__init__(task=self.task, **options)


class PriorityWeightsEnv(TwinEnv):
    """Choose the weights of the priority function by which the queue is ordered.

    Description
    -----------
    At each pass with a job in the queue, every `interval` seconds (3600 unless given), or once an episode
    (``interval="episode"``), the agent sets the weights of the priority function of `family`; the twin orders the queue
    by it and backfills as `backfill` says.

    Action
    ------
    ``Box(-1, 1, (K,), float32)``: a weight for each term of the family (`twin_gym.policies.FAMILIES`): ``loglinear``
    K = 10, ``exponential`` K = 4, or ``multifactor`` K = 4, whose weights are (a + 1) / 2, so that they are never
    negative. Orders depend on the ratios of the weights alone. Values beyond the bounds are clipped.

    Observation, Reward, Episode end, Arguments
    -------------------------------------------
    As `SelectJobEnv`; the queue stands in the order that the last weights gave it. There is no mask.

    Version history
    ---------------
    v0: first version.
    """

    task: ClassVar[str] = "weights"

    def __init__(self, **options: Any) -> None:
        super().__init__(task=self.task, **{"interval": 3600, **options})


class SelectJobVectorEnv(TwinVectorEnv):
    """A batch of `SelectJobEnv`; see there, and `TwinVectorEnv`."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, task=SelectJobEnv.task, **options)


class DispatchPolicyVectorEnv(TwinVectorEnv):
    """A batch of `DispatchPolicyEnv`; see there, and `TwinVectorEnv`."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, task=DispatchPolicyEnv.task, **options)


class BackfillVectorEnv(TwinVectorEnv):
    """A batch of `BackfillEnv`; see there, and `TwinVectorEnv`."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, task=BackfillEnv.task, **options)


class InspectVectorEnv(TwinVectorEnv):
    """A batch of `InspectEnv`; see there, and `TwinVectorEnv`."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, task=InspectEnv.task, **options)


class PriorityWeightsVectorEnv(TwinVectorEnv):
    """A batch of `PriorityWeightsEnv`; see there, and `TwinVectorEnv`."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, task=PriorityWeightsEnv.task, **{"interval": 3600, **options})
