"""The native engine: R runs of the policy on one graph, stepping in C++ without the interpreter.

Same mathematics as `PolicyNetwork.forward` followed by sampling; docs/architecture.md says how it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.constraints.external import ExternalLabelling
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Improvement, Incomplete
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.guidance import UNGUIDED, Guidance
from anycsp.neural.native_weights import step_weights
from anycsp.neural.profile import PHASES, Profile
from anycsp.neural.weights import Weights

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class NativeEngine(Incomplete):
    """R runs of the policy on one graph; see `Engine` for the face."""

    def __init__(
        self,
        graph: ConstraintValueGraph,
        policy: Weights,
        runs: int | range = 1,
        seed: int = 0,
        temperature: float = 1.0,
        threads: int = 1,
        guidance: Guidance = UNGUIDED,
        form: str = "auto",
        tile_bytes: int = 0,
        deadline: Deadline = NEVER,
    ) -> None:
        """`runs` may be a range, to compute a part of the runs of a larger search. `form` forces the direct or the
        linear computation of SUM and MEAN, `tile_bytes` the size of constraint tiles; both change only the speed. A
        step that is not done by the deadline is given up."""
        config = policy.config
        indices = range(runs) if isinstance(runs, int) else runs
        module = native.module()
        problem = graph.native_problem
        layout = module.Layout(
            problem, config.aggregation, config.hidden, config.weighted, config.kinds, form, tile_bytes, threads == 1
        )
        self.form = "linear" if layout.linear else "direct"
        self.tiles, self.parts = int(layout.tiles), int(layout.parts)
        options = {
            "first_run": indices.start,
            "runs": len(indices),
            "threads": threads,
            "seed": seed & (2**64 - 1),
            "temperature": temperature,
            "guidance": guidance.of(indices),
            "memory": guidance.memory,
            "local": config.sampling == "local",
            "hidden": config.hidden,
            "aggregation": config.aggregation,
            "gain": config.features != "none",
            "graded": config.features == "graded",
            "inertia": float(policy.arrays["inertia"]) if config.inertia else 0.0,
        }
        network = module.make_network(step_weights(policy, layout.linear), layout, options)
        self._search = module.make_search(problem, layout, network, options, graph.constant, _external(graph))
        self._units, self._deadline = graph.units, deadline
        self._hidden = config.hidden
        self._profiled_from = 0
        self.steps = 0

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        given = None if positions is None else np.ascontiguousarray(positions, dtype=np.int32)
        self._search.start(given)
        self._search.abandon_after(self._deadline.left)
        self.steps = 0

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        taken = int(self._search.advance(max_steps, seconds))
        self.steps += taken
        return taken

    def restart(self, runs: Sequence[int]) -> None:
        """These go on from random assignments, with nothing remembered."""
        self._search.restart(list(runs))

    def set_temperature(self, temperature: npt.NDArray[np.floating[Any]]) -> None:
        """[runs]: of the softmax from the next step on."""
        self._search.set_temperature(temperature.tolist())

    def improvements(self) -> list[Improvement]:
        found = [Improvement(*entry) for entry in self._search.improvements()]
        return [i._replace(weight=i.weight / float(self._units[i.instance])) for i in found]

    def best_score(self) -> IntArray:
        scores: IntArray = self._search.best_score()
        return scores

    def best_positions(self) -> npt.NDArray[np.int32]:
        positions: npt.NDArray[np.int32] = self._search.best_positions()
        return positions

    @property
    def memory(self) -> int:
        """Bytes of all buffers."""
        return int(self._search.bytes)

    # ── the current state, for tests and callbacks ───────────────────────────────────────────────

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        result: npt.NDArray[np.int32] = self._search.positions()
        return result

    def violations(self) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
        """Violated constraints, their weight, how many are hard, and the score: each [runs, instances]."""
        violated, weight, hard, score = self._search.current()
        return violated, weight / self._units, hard, score

    def logits(self) -> npt.NDArray[np.float32]:
        result: npt.NDArray[np.float32] = self._search.logits()
        return result

    def state(self) -> npt.NDArray[np.float32]:
        """h: [runs, values, d]."""
        result: npt.NDArray[np.float32] = self._search.state()[:, :, : self._hidden]
        return result

    def labels(self) -> npt.NDArray[np.uint8]:
        """L_E of the current assignments: [runs, edges]."""
        result: npt.NDArray[np.uint8] = self._search.labels()
        return result

    # ── profiling ────────────────────────────────────────────────────────────────────────────────

    def enable_profile(self, on: bool = True) -> None:
        """Start timing the phases afresh, or stop; timing itself costs one or two percent."""
        self._search.set_profile(on)
        self._profiled_from = self.steps

    def phase_seconds(self) -> dict[str, float]:
        """Seconds by phase since `enable_profile`, summed over threads."""
        return dict(zip(PHASES, self._search.phase_seconds(), strict=True))

    def profile(self) -> Profile:
        seconds = self.phase_seconds()
        steps = self.steps - self._profiled_from
        products = seconds["gemm"] + seconds["gru"]
        operations = 2.0 * self._search.multiply_adds * steps
        gflops = operations / products * 1e-9 if products > 0 else 0.0
        return Profile(seconds, steps, gflops, float(native.module().measured_peak()))


def _external(graph: ConstraintValueGraph) -> Callable[[npt.NDArray[np.int32]], npt.NDArray[np.uint8]] | None:
    """The labels of families that live in Python, all of them side by side; None where there are none."""
    labellings = [l for l in graph.labellings if isinstance(l, ExternalLabelling)]
    if not labellings:
        return None

    def labels(positions: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        return np.concatenate([l.labels(positions) for l in labellings], axis=1)

    return labels
