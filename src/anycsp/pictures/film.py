"""A search as a film: a point for every improvement, a frame of the picture now and then, told as it goes.

Both `anycsp serve` and `anycsp animate` watch searches through this, so they show the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anycsp.engine import Improvement
from anycsp.model.problem import Problem
from anycsp.pictures.picture import Picture, Positions
from anycsp.search.driver import Leaning, Progress

Event = dict[str, Any]
Tell = Callable[[Event], None]

FRAME_GAP, FRAMES_PER_GAP = 0.05, 100
"""Seconds between two frames: faster nobody sees. After so many the gap doubles, so that a long search has a few
hundred frames and not thousands."""
EARLY_SHARE = 0.125
"""A gap is no longer than this share of the time so far: replayed, the first moments of a search are worth seeing."""
POINT_GAP, POINTS_PER_GAP = 0.01, 200
"""The same for the points of every run's curve."""
TICK_SECONDS = 0.5
"""How often it is said that the search goes on."""


class Gap:
    """Lets something pass unless the last was too short ago; what is too short grows with how often it passed."""

    def __init__(self, first: float, often: int) -> None:
        self._first, self._often = first, often
        self._count, self._last = 0, -1.0

    def over(self, now: float) -> bool:
        wait = min(self._first * 2.0 ** (self._count // self._often), EARLY_SHARE * now)
        if self._last >= 0 and now - self._last < wait:
            return False
        self._count, self._last = self._count + 1, now
        return True


class Film:
    """The callback of a search; what it sees goes to `tell` as plain data. `begin` comes before every search."""

    def __init__(self, picture: Picture, tell: Tell) -> None:
        self._picture, self._tell = picture, tell
        self._frames, self._ticks = Gap(FRAME_GAP, FRAMES_PER_GAP), Gap(TICK_SECONDS, 1 << 30)
        self._points: dict[int, Gap] = {}
        self._held: dict[int, Event] = {}
        """The last point of every run that came too soon after another: told later, unless a better one comes."""
        self._due = False
        """Whether the best assignment has no frame yet."""

    def begin(self, problem: Problem, before: float = 0.0) -> None:
        """A search of this problem, `before` seconds after the first one began; all have the same picture."""
        self._problem, self._before = problem, before
        self._due = False

    def __call__(self, progress: Progress) -> None:
        seconds = round(self._before + progress.seconds, 4)
        self._tell_points(progress)
        self._due = self._due or progress.improved
        leans = progress.leaning is not None and progress.step > 0  # before the first step it leans to nothing
        if (self._due or leans) and self._frames.over(seconds):
            leaning = progress.leaning() if progress.leaning is not None and leans else None
            self._frame(seconds, progress.step, progress.positions, progress.objective, progress.found_by, leaning)
        if self._ticks.over(seconds):
            self._tell({"event": "tick", "step": progress.step, "seconds": seconds, "bound": progress.bound})

    def end(self, seconds: float, step: int, positions: Positions, objective: float | None, found_by: str) -> None:
        """The answer, which always has its frame."""
        for point in self._held.values():
            self._tell(point)
        self._held.clear()
        self._frame(self._before + seconds, step, positions, objective, found_by, None)

    def _tell_points(self, progress: Progress) -> None:
        found = [
            _point(self._before + i.seconds, i.step, i.run, i.violated, i.weight, i.hard, self._gain(i), i.found_by)
            for i in progress.improvements
        ]
        if progress.improved and progress.objective is not None:
            found = [_point(self._before + progress.seconds, progress.step, 0, progress.violated,
                            progress.violated_weight, progress.hard_violated, progress.objective,
                            progress.found_by)]  # fmt: skip
        for point in found:
            self._held[point["run"]] = point
            self._tell_held(point["run"], point["seconds"])
        for run in list(self._held):  # nothing better came, and it is time to tell
            self._tell_held(run, self._before + progress.seconds)

    def _tell_held(self, run: int, seconds: float) -> None:
        if self._points.setdefault(run, Gap(POINT_GAP, POINTS_PER_GAP)).over(seconds):
            self._tell(self._held.pop(run))

    def _gain(self, improvement: Improvement) -> float | None:
        """The cut, cost or gain that the violated weight is another word for; None where there is no such word."""
        asked = self._problem.objective
        if asked is None or not asked.is_violated_weight or improvement.hard:
            return None
        return asked.of_weight(improvement.weight)

    def _frame(
        self,
        seconds: float,
        step: int,
        positions: Positions,
        objective: float | None,
        found_by: str,
        leaning: Leaning | None,
    ) -> None:
        self._due = False
        counted = self._problem.violation_of_positions(positions)
        frame = self._picture.frame(self._problem, positions)
        if leaning is not None:
            sure = np.rint(100 * leaning.confidence).astype(np.int64).tolist()
            frame["soft"] = {**self._picture.frame(self._problem, leaning.positions), "sure": sure}
        self._tell(
            {
                "event": "frame", "seconds": round(seconds, 4), "step": step, "violated": counted.violated,
                "weight": counted.weight, "objective": objective, "found_by": found_by, "frame": frame,
            }
        )  # fmt: skip


def _point(
    seconds: float,
    step: int,
    run: int,
    violated: int,
    weight: float,
    hard: int,
    objective: float | None,
    found_by: str,
) -> Event:
    return {
        "event": "point", "run": run, "step": step, "seconds": round(seconds, 4), "violated": violated,
        "weight": weight, "hard": hard, "objective": objective, "found_by": found_by,
    }  # fmt: skip
