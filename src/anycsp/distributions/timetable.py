"""Timetables: lessons of classes and teachers in hours and rooms, with a solution hidden in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.expressions import total
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Timetable(Distribution):
    """One variable per lesson: its hour. Lessons of a class, and of a teacher, are at different hours; no hour has
    more lessons than rooms; a teacher is there at some hours only; some lessons come before others."""

    classes: Size = (5, 8)
    hours: Size = (20, 30)
    """In a week."""
    filled: tuple[float, float] = (0.8, 0.95)
    """Share of its hours that a class has lessons in."""
    teachers: float = 1.25
    """Per class: the fewer, the tighter."""
    absent: tuple[float, float] = (0.1, 0.3)
    """Share of the hours at which the hidden timetable does not need a teacher that they are away."""
    ordered: float = 0.1
    """Pairs of lessons of one class with an order, per lesson."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 1, 1000, classes=self.classes)
        check(Kind.SIZE, 2, 1000, hours=self.hours)
        check(Kind.NUMBER, 1, 100, "each class needs somebody at every hour", teachers=self.teachers)
        check(Kind.RANGE, 0, 1, filled=self.filled, absent=self.absent)
        check(Kind.NUMBER, 0, 100, ordered=self.ordered)

    def draw(self, rng: np.random.Generator) -> Problem:
        classes, hours = draw_size(rng, self.classes), draw_size(rng, self.hours)
        teachers = max(classes, round(self.teachers * classes))
        class_of, hour_of, teacher_of = self._hidden(rng, classes, hours, teachers)
        away = rng.random((teachers, hours)) < draw_between(rng, self.absent)
        away[teacher_of, hour_of] = False
        problem = Problem(f"timetable of {classes} classes, {hours} hours, {len(hour_of)} lessons")
        lessons = [problem.add_variable(np.flatnonzero(~away[teacher]).tolist()) for teacher in teacher_of]
        for group in [*(class_of == c for c in range(classes)), *(teacher_of == t for t in range(teachers))]:
            together = np.flatnonzero(group).tolist()
            if len(together) > 1:
                problem.add_all_different([lessons[i] for i in together])
        rooms = int(np.bincount(hour_of).max())
        for hour in range(hours):
            problem.add(total([x == hour for x in lessons]) <= rooms)
        for first, then in self._orders(rng, class_of, hour_of):
            problem.add(lessons[first] < lessons[then])
        return problem

    def _hidden(
        self, rng: np.random.Generator, classes: int, hours: int, teachers: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Class, hour and teacher of every lesson. At every hour the classes that have a lesson have different
        teachers; a teacher is drawn more often for the classes that are theirs."""
        lessons = max(1, round(draw_between(rng, self.filled) * hours))
        rows = []
        own = rng.random((teachers, classes)) ** 3
        has = np.zeros((classes, hours), dtype=bool)
        for c in range(classes):
            has[c, rng.permutation(hours)[:lessons]] = True
        for hour in range(hours):
            free = np.ones(teachers, dtype=bool)
            for c in rng.permutation(np.flatnonzero(has[:, hour])).tolist():
                chance = np.where(free, own[:, c] + 1e-9, 0.0)
                teacher = int(rng.choice(teachers, p=chance / chance.sum()))
                free[teacher] = False
                rows.append((c, hour, teacher))
        columns = np.array(rows)[rng.permutation(len(rows))].T
        return columns[0], columns[1], columns[2]

    def _orders(self, rng: np.random.Generator, class_of: IntArray, hour_of: IntArray) -> list[tuple[int, int]]:
        """Pairs (first, then) of one class."""
        pairs = []
        for first in rng.integers(len(hour_of), size=round(self.ordered * len(hour_of))).tolist():
            later = np.flatnonzero((class_of == class_of[first]) & (hour_of > hour_of[first]))
            if len(later) > 0:
                pairs.append((first, int(later[rng.integers(len(later))])))
        return pairs
