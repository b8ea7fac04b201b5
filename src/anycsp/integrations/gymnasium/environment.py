"""`SearchEnv`: an observation is the constraint value graph with its labels, an action a new assignment or one move,
the reward the improvement over the best assignment so far (Eq. 4 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from anycsp import native
from anycsp.constraints.base import ragged_rows
from anycsp.constraints.external import ExternalLabelling
from anycsp.distributions import Distribution, get
from anycsp.errors import AnyCSPError, ProblemError
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.model.problem import Problem

DEFAULT_STEPS = 100
"""Steps of an episode."""
UNUSED = -1
"""In index arrays: there is no vertex or edge here."""
IntArray = npt.NDArray[np.int64]
Observation = dict[str, npt.NDArray[Any]]
SIZING = 32
"""Instances that are drawn to find out how large they are."""
MARGIN = 1.25
"""How much larger than the largest of them a later one may be."""


@dataclass(frozen=True)
class Size:
    """How many of each an observation has room for."""

    variables: int
    values: int
    constraints: int
    edges: int

    @staticmethod
    def of(graph: ConstraintValueGraph) -> Size:
        return Size(graph.num_variables, graph.num_values, graph.num_constraints, graph.num_edges)

    def within(self, other: Size) -> bool:
        return all(a <= b for a, b in zip(astuple(self), astuple(other), strict=True))


class SearchEnv(gymnasium.Env[Observation, Any]):  # type: ignore[misc]
    """The search on one problem, or on a new one of a distribution in every episode.

    Args:
        problem: What every episode searches. Either this or `distribution` is given.
        distribution: What every episode draws its problem from: a `Distribution`, or its name in `anycsp generate`.
        parameters: Of the distribution, where it is given by name.
        moves: "assignment": an action has the domain position of every variable. "single": an action is one value
            vertex, whose variable takes that value.
        steps: After so many an episode is truncated.
        size: What observations have room for. Default: the problem's own size, or a quarter more than the largest of
            32 draws. A problem beyond it is refused.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        problem: Problem | None = None,
        *,
        distribution: Distribution | str | None = None,
        parameters: Mapping[str, Any] | None = None,
        moves: str = "assignment",
        steps: int = DEFAULT_STEPS,
        size: Size | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not native.available():
            raise AnyCSPError(f"the environment needs the native module, {native.why_not()}")
        if (problem is None) == (distribution is None):
            raise AnyCSPError("give either a problem or a distribution")
        if moves not in ("assignment", "single"):
            raise AnyCSPError(f"unknown moves {moves!r}: use assignment or single")
        self.render_mode = render_mode
        self._moves, self._steps = moves, steps
        self._distribution = get(distribution, **(parameters or {})) if isinstance(distribution, str) else distribution
        self._drawn = Instance(problem) if problem is not None else None
        self.size = size or self._needed()
        """What observations have room for."""
        self.observation_space = _observation_space(self.size)
        self.action_space: spaces.Space[Any]
        if moves == "single":
            self.action_space = spaces.Discrete(self.size.values)
        elif self._drawn is not None and size is None:
            self.action_space = spaces.MultiDiscrete(self._drawn.graph.domains.sizes)
        else:
            self.action_space = spaces.MultiDiscrete(np.full(self.size.variables, self.size.values))

    def _needed(self) -> Size:
        if self._drawn is not None:
            return Size.of(self._drawn.graph)
        assert self._distribution is not None
        sizes = [astuple(Size.of(compile_graph(p))) for p in self._distribution.sample(0, SIZING)]
        return Size(*(int(MARGIN * most) for most in np.max(sizes, axis=0)))

    # ── the face of an environment ───────────────────────────────────────────────────────────────────

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw a problem, where there is a distribution, and an assignment, each variable's value uniformly."""
        super().reset(seed=seed)
        if self._distribution is not None:
            self._drawn = Instance(self._distribution.draw(self.np_random))
        assert self._drawn is not None
        instance = self._instance = self._drawn
        if not (needed := Size.of(instance.graph)).within(self.size):
            raise ProblemError(
                f"an instance of {needed} does not fit into {self.size}: make the environment with size="
            )
        self._positions = (self.np_random.random(len(instance.sizes)) * instance.sizes).astype(np.int64)
        self._taken = 0
        self._look()
        self.best_quality = self.quality
        """The quality of the best assignment of the episode."""
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the action. What it says of variables or values that the problem does not have changes nothing."""
        sizes, start = self._instance.sizes, self._instance.graph.domains.start
        if self._moves == "single":
            if int(action) < start[-1]:
                x = int(np.searchsorted(start, int(action), side="right")) - 1
                self._positions[x] = int(action) - start[x]
        else:
            wanted = np.asarray(action, dtype=np.int64)[: len(sizes)]
            self._positions = np.where((wanted >= 0) & (wanted < sizes), wanted, self._positions)
        self._look()
        reward = max(0.0, self.quality - self.best_quality)
        self.best_quality = max(self.best_quality, self.quality)
        self._taken += 1
        solved = bool(self._satisfied.all())
        return self._observation(), reward, solved, self._taken >= self._steps and not solved, self._info()

    # ── where the search stands ──────────────────────────────────────────────────────────────────────

    @property
    def problem(self) -> Problem:
        """What the episode searches."""
        return self._instance.problem

    @property
    def positions(self) -> IntArray:
        """The domain position of every variable."""
        positions: IntArray = self._positions.copy()
        return positions

    def _look(self) -> None:
        self._labels = self._instance.labels(self._positions)
        self._satisfied = self._instance.satisfied(self._positions, self._labels)
        weight = self._instance.weight
        self.quality = float(weight[self._satisfied].sum() / weight.sum()) if len(weight) else 1.0
        """The part of all weight that is satisfied: Q(α) of the paper."""

    def _observation(self) -> Observation:
        instance, size = self._instance, self.size
        chosen = np.zeros(size.values, dtype=np.int8)
        chosen[instance.graph.domains.start[:-1] + self._positions] = 1
        return {
            "value_variable": _padded(instance.value_variable, size.values, UNUSED),
            "edge_constraint": _padded(instance.edge_constraint, size.edges, UNUSED),
            "edge_value": _padded(instance.edge_value, size.edges, UNUSED),
            "weight": _padded(instance.weight.astype(np.float32), size.constraints, 0),
            "chosen": chosen,
            "label": _padded(self._labels.astype(np.int8), size.edges, 0),
            "violated": _padded((~self._satisfied).astype(np.int8), size.constraints, 0),
        }

    def _info(self) -> dict[str, Any]:
        """How good the assignment and the best one are, and which actions mean something."""
        info: dict[str, Any] = {
            "quality": self.quality,
            "best_quality": self.best_quality,
            "violated": int((~self._satisfied).sum()),
        }
        if self._moves == "single":
            info["action_mask"] = (np.arange(self.size.values) < self._instance.graph.num_values).astype(np.int8)
        return info


class Instance:
    """A problem with the arrays of its graph. Constraints are in the graph's order."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.graph = problem, compile_graph(problem)
        graph = self.graph
        self.sizes: IntArray = graph.domains.sizes.astype(np.int64)
        self.weight: npt.NDArray[np.float64] = graph.terms.weight
        self.value_variable: IntArray = np.repeat(np.arange(graph.num_variables), self.sizes)
        self.edge_value: IntArray = ragged_rows(graph.domains.start, graph.scope)[1]
        slot_edges = self.sizes[graph.scope]
        slot_constraint = np.repeat(np.arange(graph.num_constraints), np.diff(graph.scope_start))
        self.edge_constraint: IntArray = np.repeat(slot_constraint, slot_edges)
        self._first_slot = graph.scope_start[:-1]
        self._slot_edge: IntArray = np.concatenate([[0], np.cumsum(slot_edges)]).astype(np.int64)

    def labels(self, positions: IntArray) -> npt.NDArray[np.uint8]:
        """[edges]: 1 where choosing the value satisfies the constraint, all others staying as they are."""
        out = np.zeros((1, self.graph.num_edges), dtype=np.uint8)
        for family in native.module().ops.edge_labels(self.graph.native_problem, positions[None, :], out):
            _, first, last, _ = self.graph.native_families[family]
            labelling = self.graph.labellings[family]
            assert isinstance(labelling, ExternalLabelling)  # a Python function, which only Python can ask
            edges = slice(*self._slot_edge[self.graph.scope_start[[first, last]]])
            out[:, edges] = labelling.labels(positions[None, :])
        labels: npt.NDArray[np.uint8] = out[0]
        return labels

    def satisfied(self, positions: IntArray, labels: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """[constraints]: the label of the value that is chosen already."""
        variable = self.graph.scope[self._first_slot]
        return np.asarray(labels[self._slot_edge[self._first_slot] + positions[variable]] == 1)


def _observation_space(size: Size) -> spaces.Dict:
    def index(count: int, below: int) -> spaces.Box:
        return spaces.Box(UNUSED, max(below - 1, 0), (count,), np.int64)

    return spaces.Dict(
        {
            "value_variable": index(size.values, size.variables),
            "edge_constraint": index(size.edges, size.constraints),
            "edge_value": index(size.edges, size.values),
            "weight": spaces.Box(0, np.inf, (size.constraints,), np.float32),
            "chosen": spaces.MultiBinary(size.values),
            "label": spaces.MultiBinary(size.edges),
            "violated": spaces.MultiBinary(size.constraints),
        }
    )


def _padded(array: npt.NDArray[Any], length: int, filler: int) -> npt.NDArray[Any]:
    result = np.full(length, filler, dtype=array.dtype)
    result[: len(array)] = array
    return result
