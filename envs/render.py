"""One environment as a picture or a screen of text: who runs where and until when, who waits, what time it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.kernels.state import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from .core import TwinVectorEnv

WIDTH, HEIGHT = 720, 480
STRIP = 80  # height of a strip over time; with a plant there is one more
_LEFT, _RIGHT, _CHART = 12, WIDTH - 12, 220
_SPAN = 86_400  # s that a picture shows, two thirds of them past
_FILL = (170, 200, 225)
_ROWS = 200  # of the Gantt chart, at most: larger machines are drawn in groups of nodes
_LISTED = 12  # waiting jobs that the text lists
_PAPER, _INK, _GRID, _NOW = (255, 255, 255), (40, 40, 40), (225, 225, 225), (200, 30, 30)
# Okabe and Ito's colours, which colour-blind people can tell apart
_COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))


def draw(batch: TwinVectorEnv, e: int) -> str | npt.NDArray[np.uint8]:
    """Return environment `e` as text (``ansi``) or as (HEIGHT, WIDTH, 3) uint8 (``rgb_array``; higher with a plant)."""
    return screen(batch, e) if batch.render_mode == "ansi" else _picture(batch, e)


class Window:
    """A window on the screen that shows one picture after the other (``human``)."""

    @staticmethod
    def possible() -> bool:
        """Tell whether matplotlib has a screen to show it on."""
        import matplotlib

        return matplotlib.get_backend().lower() not in ("agg", "pdf", "svg", "ps", "cairo", "template")

    def __init__(self) -> None:
        from matplotlib import pyplot

        self._plot = pyplot
        self._figure: Any = None
        self._image: Any = None

    def show(self, picture: npt.NDArray[np.uint8]) -> None:
        """Show a picture, and let the window answer its user for a moment."""
        if self._figure is None:
            self._figure = self._plot.figure(figsize=(picture.shape[1] / 100, picture.shape[0] / 100), num="twin_gym")
            axes = self._figure.add_axes((0, 0, 1, 1))
            axes.axis("off")
            self._image = axes.imshow(picture)
            self._plot.show(block=False)
        self._image.set_data(picture)
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()
        self._plot.pause(0.001)

    def close(self) -> None:
        """Close it."""
        if self._figure is not None:
            self._plot.close(self._figure)
            self._figure = None


def _clock(seconds: float) -> str:
    days, rest = divmod(int(seconds), 86_400)
    return f"{days} d {rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _queue(batch: TwinVectorEnv, e: int) -> npt.NDArray[Any]:
    state = batch._state
    first, end = state.sim["first"][e], state.sim["end"][e]
    return np.asarray(state.queue[e, first:end])


def _fits(batch: TwinVectorEnv, e: int, who: int) -> bool:
    """Tell whether a waiting job could start now."""
    sim, setup = batch._state.sim[e], batch._setups[e]
    if batch._state.job["nodes"][e, who] > sim["free"]:
        return False
    return not setup["powered"] or bool(sim["drawn"] + batch._jobs.watts[setup["first"] + who] <= setup["cap"])


def _headline(batch: TwinVectorEnv, e: int) -> str:
    sim, setup, nodes = batch._state.sim[e], batch._setups[e], batch.world.system.nodes
    elapsed = sim["clock"] - batch._setups["clock"][e]
    before = setup["before"]
    return (
        f"{_clock(elapsed)}   {nodes - sim['free']} of {nodes} nodes busy   {sim['running']} running   "
        f"{sim['end'] - sim['first']} waiting   {sim['arrived'] - before} of {setup['count'] - before} jobs submitted"
    )


def screen(batch: TwinVectorEnv, e: int) -> str:
    """Return environment `e` as text."""
    job, clock, nodes = batch._state.job[e], int(batch._state.sim["clock"][e]), batch.world.system.nodes
    busy = round(40 * (1 - batch._state.sim["free"][e] / nodes))
    lines = [_headline(batch, e), f"[{'#' * busy}{'.' * (40 - busy)}]", ""]
    waiting = _queue(batch, e)
    ids = batch.world.workload.id[int(batch._setups["first"][e]) :]
    mask = batch._buffers.mask[e]
    if len(waiting):
        lines.append("place        job   nodes   requested      waited   fits")
    for place, who in enumerate(waiting[:_LISTED].tolist()):
        it = job[who]
        able = "yes" if _fits(batch, e, who) else "no"
        lines.append(
            f"{place:5d} {ids[who]:10d} {it['nodes']:7d} {_duration(it['request']):>11} "
            f"{_duration(clock - it['submit']):>11}   {able}"
        )
    if len(waiting) > _LISTED:
        lines.append(f"      ... and {len(waiting) - _LISTED} more")
    lines.append(
        f"{int(mask.sum())} of {len(mask)} actions make sense; reward of the last step {batch._buffers.reward[e]:.4g}"
    )
    return "\n".join(lines)


def _lanes(batch: TwinVectorEnv, e: int) -> list[tuple[int, int, int, npt.NDArray[np.int64]]]:
    """Return (job, start, end, rows of the chart) of each job that has started; rows are the lowest free ones."""
    job, nodes = batch._state.job[e], batch.world.system.nodes
    rows = min(nodes, _ROWS)
    until = np.full(rows, np.iinfo(np.int64).min)
    arrived = int(batch._state.sim["arrived"][e])
    started = np.flatnonzero(job["start"][:arrived] != UNKNOWN)
    lanes = []
    for who in started[np.argsort(job["turn"][started], kind="stable")].tolist():
        start, end = int(job["start"][who]), int(job["end"][who])
        need = max(1, round(int(job["nodes"][who]) * rows / nodes))
        chosen = np.flatnonzero(until <= start)[:need]
        until[chosen] = end
        lanes.append((who, start, end, chosen))
    return lanes


def _picture(batch: TwinVectorEnv, e: int) -> npt.NDArray[np.uint8]:
    from PIL import Image, ImageDraw

    cooled = batch._climate.memory.shape[0] > 0
    image = Image.new("RGB", (WIDTH, HEIGHT + (STRIP if cooled else 0)), _PAPER)
    pen = ImageDraw.Draw(image)
    clock = int(batch._state.sim["clock"][e])
    begin = clock - 2 * _SPAN // 3

    def x(time: float) -> float:
        return float(np.clip(_LEFT + (time - begin) / _SPAN * (_RIGHT - _LEFT), _LEFT, _RIGHT))

    pen.text((_LEFT, 10), _headline(batch, e), fill=_INK)
    _draw_nodes(pen, batch, e, clock, begin, x)
    below = 30 + _CHART
    pen.text((_LEFT, below + 3), "-16 h", fill=_INK)
    pen.text((x(clock) - 10, below + 3), "now", fill=_NOW)
    pen.text((_RIGHT - 28, below + 3), "+8 h", fill=_INK)
    top = below + 36
    _draw_power(pen, batch, e, top, begin, x)
    if cooled:
        top += STRIP
        _draw_temperatures(pen, batch, e, top, begin, x)
    _draw_queue(pen, batch, e, clock, top + STRIP)
    return np.asarray(image)


def _draw_nodes(pen: Any, batch: TwinVectorEnv, e: int, clock: int, begin: int, x: Callable[[float], float]) -> None:
    """Draw who runs where; what is still to come is drawn as it is believed, paler."""
    top, bottom = 30, 30 + _CHART
    job, rows = batch._state.job[e], min(batch.world.system.nodes, _ROWS)
    for who, start, end, chosen in _lanes(batch, e):
        if end <= begin or not len(chosen):
            continue
        believed = end if end <= clock else max(start + int(job["plan"][who]), clock)
        colour = _COLOURS[who % len(_COLOURS)]
        pale = tuple((value + 2 * 255) // 3 for value in colour)
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1):
            high, low = top + run[0] * (bottom - top) / rows, top + (run[-1] + 1) * (bottom - top) / rows
            low = max(low - 0.5, high)
            pen.rectangle((x(start), high, x(min(believed, clock)), low), fill=colour)
            if believed > clock:
                pen.rectangle((x(clock), high, x(believed), low), fill=pale)
    pen.rectangle((_LEFT, top, _RIGHT, bottom), outline=_INK)
    pen.line((x(clock), top, x(clock), bottom), fill=_NOW, width=2)


def _power(batch: TwinVectorEnv, e: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return when believed power changed so far, (T,) s, and what it was from then on, (T,) W."""
    setup, clock = batch._setups[e], int(batch._state.sim["clock"][e])
    job = batch._state.job[e][: int(batch._state.sim["arrived"][e])]
    ran = np.flatnonzero((job["start"] != UNKNOWN) & (job["end"] > setup["clock"]))
    watts = batch._jobs.watts[int(setup["first"]) + ran]
    # who ran before the episode is there from its begin
    times = np.concatenate([np.maximum(job["start"][ran], setup["clock"]), job["end"][ran], [setup["clock"], clock]])
    changes = np.concatenate([watts, -watts, [0, 0]])
    past = times <= clock
    moments, place = np.unique(times[past], return_inverse=True)
    return moments, setup["idle_watts"] + np.cumsum(np.bincount(place, changes[past]))


def _draw_power(pen: Any, batch: TwinVectorEnv, e: int, top: int, begin: int, x: Callable[[float], float]) -> None:
    setup, bottom = batch._setups[e], top + STRIP - 20
    full = float(setup["idle_watts"] + setup["full_watts"])
    times, watts = _power(batch, e)
    cap = batch.options.power_cap
    now = f"power: {_watts(float(watts[-1]))} of {_watts(full)}" + ("" if cap is None else f", cap {_watts(cap)}")
    pen.text((_LEFT, top - 14), now, fill=_INK)

    def y(value: float) -> float:
        return bottom - value / max(full, 1.0) * (bottom - top)

    ends = np.append(times[1:], times[-1])
    for start, end, value in zip(times.tolist(), ends.tolist(), watts.tolist(), strict=True):
        if end > begin:
            pen.rectangle((x(start), y(value), x(end), bottom), fill=_FILL)
    if cap is not None:
        pen.line((_LEFT, y(cap), _RIGHT, y(cap)), fill=_NOW)
    pen.rectangle((_LEFT, top, _RIGHT, bottom), outline=_INK)


def _draw_temperatures(
    pen: Any, batch: TwinVectorEnv, e: int, top: int, begin: int, x: Callable[[float], float]
) -> None:
    """Draw the plant's temperatures at the times of the pictures so far."""
    climate, bottom = batch._climate, top + STRIP - 20
    clock, memory = int(batch._state.sim["clock"][e]), climate.memory[e]
    wet_bulb = climate_now(batch, clock)
    trail = batch._trail.setdefault(e, [])
    while trail and trail[-1][0] >= clock:  # a new episode, or the same moment again
        trail.pop()
    trail.append((clock, float(climate.supply[e, 0]), float(memory["hot"]), wet_bulb))
    del trail[:-2000]
    # no list of pictures is older than its window
    names = ("supply", "tower return", "wet bulb")
    left = float(_LEFT)
    for k, name in enumerate(names):
        text = f"{name} {trail[-1][1 + k]:.1f} degC   "
        pen.text((left, top - 14), text, fill=_COLOURS[k])
        left += pen.textlength(text)

    def y(value: float) -> float:
        return bottom - float(np.clip((value + 10.0) / 60.0, 0, 1)) * (bottom - top)

    for k in range(len(names)):
        line = [(x(point[0]), y(point[1 + k])) for point in trail if point[0] >= begin]
        if len(line) > 1:
            pen.line(line, fill=_COLOURS[k], width=2)
    pen.text((_RIGHT - 70, top - 14), "-10 to 50", fill=_INK)
    pen.rectangle((_LEFT, top, _RIGHT, bottom), outline=_INK)


def climate_now(batch: TwinVectorEnv, clock: int) -> float:
    """Return the wet bulb at a time, degC."""
    climate = batch._climate
    k = int(np.clip((clock - climate.begin) // climate.cell, 0, len(climate.wet_bulb) - 2))
    return float(climate.wet_bulb[k + 1] - climate.wet_bulb[k]) / climate.cell


def _watts(value: float) -> str:
    for size, unit in ((1e6, "MW"), (1e3, "kW")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} W"


def _draw_queue(pen: Any, batch: TwinVectorEnv, e: int, clock: int, top: int) -> None:
    """Draw the visible queue: a bar for each job, its height the nodes, filled if it fits."""
    left, right, bottom = _LEFT, _RIGHT, top + 86
    waiting, job = _queue(batch, e), batch._state.job[e]
    nodes = batch.world.system.nodes
    shown = waiting[: batch.options.window]
    step = (right - left) / max(len(shown), 24)
    pen.text((left, top - 14), "queue: nodes of each waiting job (filled: fits now)", fill=_INK)
    for level in (0.0, 0.5, 1.0):
        y = bottom - level * (bottom - top)
        pen.line((left, y, right, y), fill=_GRID)
    for place, who in enumerate(shown.tolist()):
        need = int(job["nodes"][who])
        high = bottom - max(need / nodes * (bottom - top), 1)
        box = (left + place * step, high, left + (place + 0.8) * step, bottom)
        pen.rectangle(box, fill=_COLOURS[who % len(_COLOURS)] if _fits(batch, e, who) else None, outline=_INK)
    pen.text(
        (left, bottom + 6),
        f"{len(waiting)} waiting, the first for {_duration(_oldest(job, waiting, clock))}",
        fill=_INK,
    )


def _oldest(job: npt.NDArray[Any], waiting: npt.NDArray[Any], clock: int) -> float:
    return float(clock - job["submit"][waiting[0]]) if len(waiting) else 0.0
