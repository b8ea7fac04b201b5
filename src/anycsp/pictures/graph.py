"""Graphs: a node per variable, a line per pair of variables with a constraint between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.problem import Problem
from anycsp.model.structure import cut_graph
from anycsp.pictures.layout import placed
from anycsp.pictures.picture import LARGEST_LINKS, LARGEST_NODES, Frame, Positions, violated


@dataclass(frozen=True)
class Graph:
    """What has constraints over one or two variables only: colourings, cuts, binary problems."""

    places: npt.NDArray[np.float64]
    """[nodes, 2], from 0 to 1."""
    links: list[tuple[int, int]]
    index: dict[tuple[int, int], int]
    is_cut: bool
    kind = "graph"

    @staticmethod
    def of(problem: Problem) -> Graph | None:
        if problem.num_variables > LARGEST_NODES or not problem.num_constraints:
            return None
        if any((block.arity > 2).any() for block in problem.blocks):
            return None
        pairs = [block.scope[_slots_of_pairs(block)].reshape(-1, 2) for block in problem.blocks]
        ends = np.unique(np.sort(np.concatenate([*pairs, np.zeros((0, 2), dtype=np.int64)]), axis=1), axis=0)
        if not 0 < len(ends) <= LARGEST_LINKS:
            return None
        links = [(int(a), int(b)) for a, b in ends]
        index = {pair: k for k, pair in enumerate(links)}
        return Graph(placed(problem.num_variables, ends), links, index, cut_graph(problem) is not None)

    def describe(self) -> dict[str, Any]:
        places = [[round(float(x), 4), round(float(y), 4)] for x, y in self.places]
        return {"kind": self.kind, "places": places, "links": self.links}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        bad, nodes = set(), set()
        for block, rows in violated(problem, positions):
            for row in rows:
                scope = sorted(block.scope_of(row).tolist())
                if len(scope) == 2:
                    bad.add(self.index[scope[0], scope[1]])
                else:
                    nodes.update(scope)
        what = "edges not cut" if self.is_cut else "edges in conflict"
        says = f"{len(bad)} of {len(self.links)} {what}"
        return {"color": positions.tolist(), "links": sorted(bad), "bad": sorted(nodes), "says": says}


def _slots_of_pairs(block: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(np.repeat(block.arity == 2, block.arity))
