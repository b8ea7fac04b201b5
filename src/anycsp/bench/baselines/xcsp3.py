"""Decision problems of tables and clauses as XCSP3 files, and the solvers that read them as commands.

Variables are written with domain positions as values, so the solver's values are the answer's positions.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anycsp.bench.baseline import BaselineResult, Limit, Point
from anycsp.bench.tabular import tables
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph


def to_xcsp3(problem: Problem) -> str:
    """The instance with every constraint required."""
    variables = [f'<var id="x{i}"> 0..{size - 1} </var>' for i, size in enumerate(problem.domains.sizes)]
    found = coloring_graph(problem)
    if found is not None:
        arguments = [f"<args> x{u} x{v} </args>" for u, v in found[0].edges.tolist()]
        constraints = ["<group>", "<intension> ne(%0,%1) </intension>", *arguments, "</group>"]
    else:
        constraints = [_extension(scope, tuples, allowed) for scope, tuples, allowed, _ in tables(problem)]
    lines = ['<instance format="XCSP3" type="CSP">', "<variables>", *variables, "</variables>"]
    return "\n".join([*lines, "<constraints>", *constraints, "</constraints>", "</instance>", ""])


def _extension(scope: npt.NDArray[np.int64], tuples: npt.NDArray[np.int64], allowed: bool) -> str:
    names = " ".join(f"x{x}" for x in scope)
    if len(scope) == 1:
        rows = " ".join(str(v) for v in tuples[:, 0])
    else:
        rows = "".join("(" + ",".join(map(str, row)) + ")" for row in tuples.tolist())
    kind = "supports" if allowed else "conflicts"
    return f"<extension> <list> {names} </list> <{kind}> {rows} </{kind}> </extension>"


def run_xcsp3(problem: Problem, limit: Limit, command: Callable[[Path, int], list[str]]) -> BaselineResult:
    """Write the instance, run `command(file, seconds)`, read its `v` lines. Writing counts as the solver's time."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.xml"
        path.write_text(to_xcsp3(problem))
        left = limit.seconds - (time.perf_counter() - began)
        try:
            done = subprocess.run(
                command(path, max(1, round(left))), capture_output=True, text=True, timeout=max(left, 0.1), cwd=folder
            )
            output = done.stdout
        except subprocess.TimeoutExpired:
            return BaselineResult([], None, time.perf_counter() - began)
    seconds = time.perf_counter() - began
    if "s UNSATISFIABLE" in output:
        return BaselineResult([], None, seconds, note="claims there is no solution")
    positions = _instantiation(output, problem.num_variables)
    if positions is None:
        if done.returncode not in (0, 10, 20, 30, 40) and "s UNKNOWN" not in output:
            raise RuntimeError(f"exit code {done.returncode}: {(done.stderr or output).strip()[-300:]}")
        return BaselineResult([], None, seconds)
    return BaselineResult([Point(0, seconds, 0.0)], positions, seconds)


def _instantiation(output: str, variables: int) -> npt.NDArray[np.int32] | None:
    """The assignment in XCSP3's solution format; `*` stands for a variable that may take any value."""
    text = "\n".join(line[1:] for line in output.splitlines() if line.startswith("v"))
    names, values = re.search(r"<list>(.*?)</list>", text, re.S), re.search(r"<values>(.*?)</values>", text, re.S)
    if names is None or values is None:
        return None
    positions = np.zeros(variables, dtype=np.int32)
    for name, value in zip(names[1].split(), _expanded(values[1].split()), strict=True):
        positions[int(name[1:])] = 0 if value == "*" else int(value)
    return positions


def _expanded(values: list[str]) -> list[str]:
    """Runs of equal values, which solvers may write as `3x7` (seven times 3)."""
    result: list[str] = []
    for value in values:
        base, _, times = value.partition("x")
        result += [base] * (int(times) if times else 1)
    return result
