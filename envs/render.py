"""One environment as a picture or a screen of text: who runs where and until when, who waits, what time it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.kernels.state import UNKNOWN

if TYPE_CHECKING:
    from .core import TwinVectorEnv

WIDTH, HEIGHT = 720, 400
_ROWS = 200  # of the Gantt chart, at most: larger machines are drawn in groups of nodes
_LISTED = 12  # waiting jobs that the text lists
_PAPER, _INK, _GRID, _NOW = (255, 255, 255), (40, 40, 40), (225, 225, 225), (200, 30, 30)
# Okabe and Ito's colours, which colour-blind people can tell apart
_COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))


def draw(batch: TwinVectorEnv, e: int) -> str | npt.NDArray[np.uint8]:
    """Return environment `e` as text (``ansi``) or as (HEIGHT, WIDTH, 3) uint8 (``rgb_array``)."""
    return _text(batch, e) if batch.render_mode == "ansi" else _picture(batch, e)


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


def _headline(batch: TwinVectorEnv, e: int) -> str:
    sim, nodes = batch._state.sim[e], batch.world.system.nodes
    elapsed = sim["clock"] - batch._setups["clock"][e]
    return (
        f"{_clock(elapsed)}   {nodes - sim['free']} of {nodes} nodes busy   {sim['running']} running   "
        f"{sim['end'] - sim['first']} waiting   {sim['arrived']} of {batch.options.episode_jobs} jobs submitted"
    )


def _text(batch: TwinVectorEnv, e: int) -> str:
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
        able = "yes" if it["nodes"] <= batch._state.sim["free"][e] else "no"
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

    image = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    pen = ImageDraw.Draw(image)
    clock, job = int(batch._state.sim["clock"][e]), batch._state.job[e]
    left, top, right, bottom = 12, 30, WIDTH - 12, 250
    span = 86_400
    begin = clock - 2 * span // 3
    rows = min(batch.world.system.nodes, _ROWS)

    def x(time: float) -> float:
        return float(np.clip(left + (time - begin) / span * (right - left), left, right))

    pen.text((left, 10), _headline(batch, e), fill=_INK)
    for who, start, end, chosen in _lanes(batch, e):
        if end <= begin or not len(chosen):
            continue
        # what is still to come is drawn as it is believed, paler
        believed = end if end <= clock else max(start + int(job["plan"][who]), clock)
        colour = _COLOURS[who % len(_COLOURS)]
        pale = tuple((value + 2 * 255) // 3 for value in colour)
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1):
            high, low = top + run[0] * (bottom - top) / rows, top + (run[-1] + 1) * (bottom - top) / rows
            low = max(low - 0.5, high)
            pen.rectangle((x(start), high, x(min(believed, clock)), low), fill=colour)
            if believed > clock:
                pen.rectangle((x(clock), high, x(believed), low), fill=pale)
    pen.rectangle((left, top, right, bottom), outline=_INK)
    pen.line((x(clock), top, x(clock), bottom), fill=_NOW, width=2)
    pen.text((left, bottom + 3), "-16 h", fill=_INK)
    pen.text((x(clock) - 10, bottom + 3), "now", fill=_NOW)
    pen.text((right - 28, bottom + 3), "+8 h", fill=_INK)
    _draw_queue(pen, batch, e, clock)
    return np.asarray(image)


def _draw_queue(pen: Any, batch: TwinVectorEnv, e: int, clock: int) -> None:
    """Draw the visible queue: a bar for each job, its height the nodes, filled if it fits."""
    left, top, right, bottom = 12, 290, WIDTH - 12, HEIGHT - 24
    waiting, job = _queue(batch, e), batch._state.job[e]
    free, nodes = batch._state.sim["free"][e], batch.world.system.nodes
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
        pen.rectangle(box, fill=_COLOURS[who % len(_COLOURS)] if need <= free else None, outline=_INK)
    pen.text(
        (left, bottom + 6),
        f"{len(waiting)} waiting, the first for {_duration(_oldest(job, waiting, clock))}",
        fill=_INK,
    )


def _oldest(job: npt.NDArray[Any], waiting: npt.NDArray[Any], clock: int) -> float:
    return float(clock - job["submit"][waiting[0]]) if len(waiting) else 0.0
