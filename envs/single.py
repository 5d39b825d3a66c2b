"""`TwinEnv`: the batch of one, as an ordinary Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from .core import TwinVectorEnv
from .world import World


class TwinEnv(gym.Env[Any, Any]):
    """One twin of a machine over a log; see `TwinVectorEnv` for everything that both have.

    Parameters
    ----------
    render_mode : str, optional
        ``ansi`` (one screen of text), ``rgb_array`` (a picture), or ``human`` (after each reset and step the
        picture in a window or, where there is no screen for one, the text on the terminal).
    **options
        See `EnvOptions`.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None, world: World | None = None, **options: Any) -> None:
        self.batch = TwinVectorEnv(
            1, autoreset_mode=AutoresetMode.DISABLED, render_mode=render_mode, world=world, **options
        )
        self.render_mode = render_mode
        self._window: Any = None
        if render_mode == "human":
            from .render import Window

            self._window = Window() if Window.possible() else None
        self.action_space = self.batch.single_action_space
        self.observation_space = self.batch.single_observation_space
        self._discrete = isinstance(self.action_space, gym.spaces.Discrete)
        self._action = np.zeros(1, np.int64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; ``options={"first": row}`` pins it by the row of its first job."""
        super().reset(seed=seed)
        self.batch._rngs = [self.np_random]
        observation, info = self.batch.reset(options=options)
        if self.render_mode == "human":
            self._show()
        return self._only(observation), self._only(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action and run to the next decision."""
        if self._discrete:
            self._action[0] = action
        else:
            self._action = np.asarray(action)[np.newaxis]
        observation, reward, terminated, truncated, info = self.batch.step(self._action)
        if self.render_mode == "human":
            self._show()
        return self._only(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), self._only(info)

    @staticmethod
    def _only(batch: Any) -> Any:
        if isinstance(batch, dict):
            return {name: values[0] for name, values in batch.items()}
        return batch[0]

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions make sense now, (A,) bool; there is always one."""
        masks: npt.NDArray[np.bool_] = self.batch.action_masks()[0]
        return masks

    def render(self) -> Any:
        """Return the picture or the screen of text of the present state (``human``: None, it is shown already)."""
        if self.render_mode in (None, "human"):
            return None
        return self.batch.render()[0]

    def _show(self) -> None:
        from .render import draw, screen

        if self._window is not None:
            self._window.show(draw(self.batch, 0))
        else:
            print(screen(self.batch, 0), end="\n\n")

    def close(self) -> None:
        """Close the window, and stop the threads, if there are any."""
        if self._window is not None:
            self._window.close()
        self.batch.close()
