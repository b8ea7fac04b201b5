"""What the native module is handed it checks: arrays with a wrong entry are refused, and none is read beyond its end.

Cases that .ci/fuzz-native found, or that were found on the way to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anycsp import Problem, native
from anycsp.constraints.distinct import DistinctBlock
from anycsp.constraints.extremum import ExtremumBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.short_table import ShortRelation, ShortTableBlock
from anycsp.constraints.sum import SumBlock
from anycsp.errors import ProblemError
from anycsp.graph import compile_graph
from anycsp.model.expressions import operation

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

Arrays = dict[str, Any]
LARGEST = 2**63 - 1


def problem_of_all_families() -> Problem:
    problem = Problem()
    xs = [problem.add_variable(range(3)) for _ in range(4)]
    scope, tables = np.arange(3), [np.arange(3)] * 3
    problem.add_nogood([0, 1], np.array([0, 2]))
    problem.add(xs[0] != xs[1])
    problem.add_table([0, 1, 2], [[0, 1, 2], [2, 1, 0]])
    problem.add_linear([0, 1, 2], [1, 2, -3], "<=", 2)
    problem.add_all_different([0, 1, 2])
    terms = problem.new_terms()
    problem.add_block(SumBlock.one(scope, tables, "<=", 5, terms))
    problem.add_block(ExtremumBlock.one(scope, tables, "<=", 1, True, problem.new_terms()))
    problem.add_block(DistinctBlock.one(np.arange(2), (), "<=", 0, 2, problem.new_terms()))
    relation = ShortRelation.of([problem.domain(x) for x in range(3)], [["*", 1, 2]], True)
    problem.add_block(ShortTableBlock.one(scope, relation, problem.new_terms()))
    tree = operation("ge", operation("mul", xs[0], xs[1]), operation("add", xs[2], 1))
    problem.add_block(RuleBlock.one(tree, problem.new_terms()))
    return problem


def read(change: Callable[[Arrays, dict[str, Arrays]], None]) -> Any:
    """The native problem, of arrays that were changed."""
    graph = compile_graph(problem_of_all_families())
    arrays = {name: array.copy() for name, array in graph.native_arrays.items()}
    families = [(kind, a, b, {n: x.copy() for n, x in of.items()}) for kind, a, b, of in graph.native_families]
    change(arrays, {kind: of for kind, _, _, of in families})
    return native.module().make_problem(arrays, families)


def test_what_is_right_is_read() -> None:
    assert read(lambda arrays, families: None).variables == 4


ENTRIES = [
    # An index one beyond the last of 32 bits, so that their number wrapped around.
    ("", "variable_instance", 0, 2**31 - 1),
    # Truth values that are neither 0 nor 1: labels and counts were then as large.
    ("", "hard", 0, 2),
    ("all_different", "bin_counts", 0, 2),
    ("dense", "truth", 0, 2),
    ("short_tuples", "allowed", 0, 2),
    ("distinct", "bin_counts", 0, 2),
    # A result so many slots before the last one, which lies before the scope.
    ("distinct", "has_result", 0, 200),
    ("extremum", "has_result", 0, 200),
    # Addresses that wrapped around in their own check.
    ("dense", "base", 0, LARGEST),
    ("dense", "stride", 0, LARGEST),
    ("dense", "stride", 1, LARGEST // 2 + 1),
    ("matching", "offset", 0, LARGEST),
    # A slot for whose number of slots before it there is no memory.
    ("rule", "operand", 0, 2**31 - 2),
    # Numbers whose sums leave 64 bits.
    ("", "weight", 0, -1),
    ("", "weight", 0, LARGEST),
    ("", "score", 0, LARGEST),
    ("", "hard_unit", 0, LARGEST),
    ("linear", "coefficient", 0, LARGEST),
    ("linear", "bound", 0, -LARGEST - 1),
    ("sum", "term", 0, LARGEST),
    ("sum", "bound", 0, LARGEST),
    ("extremum", "term", 0, LARGEST),
    ("extremum", "bound", 0, LARGEST),
    ("distinct", "bound", 0, LARGEST),
]


@pytest.mark.parametrize(("family", "name", "at", "entry"), ENTRIES)
def test_a_wrong_entry_is_refused(family: str, name: str, at: int, entry: int) -> None:
    def change(arrays: Arrays, families: dict[str, Arrays]) -> None:
        (families[family] if family else arrays)[name][at] = entry

    with pytest.raises(ValueError, match=r"."):
        read(change)


def test_a_node_that_nothing_uses_is_refused() -> None:
    """Whether it is undefined counted in labels, and not in the graph of invariants."""

    def change(arrays: Arrays, families: dict[str, Arrays]) -> None:
        rule = families["rule"]
        root = len(rule["code"]) - 1
        rule["code"] = np.insert(rule["code"], root, 0)  # a slot
        rule["operand_count"] = np.insert(rule["operand_count"], root, 1)
        rule["operand"] = np.insert(rule["operand"], -2, 0)
        rule["node_start"][1] += 1

    with pytest.raises(ValueError, match="rule"):
        read(change)


def test_a_maximum_of_no_terms_is_refused() -> None:
    """The tree called it unsatisfiable, and the graph of invariants read what is not there."""
    given = {"terms": [[[v, v] for v in range(3)]], "operator": "<", "bound": 0, "result": True}
    problem = Problem()
    problem.add_variable(range(3))
    with pytest.raises(ProblemError, match="no terms"):
        ExtremumBlock.from_description(problem.domain_list, [0], given, problem.new_terms())
