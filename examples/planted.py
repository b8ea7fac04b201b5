"""How planted3sat.cnf was made: a random 3-SAT formula that a hidden assignment satisfies."""

import sys
from pathlib import Path

import numpy as np

from anycsp import Problem
from anycsp.formats import write


def planted(variables: int, clauses: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    hidden = rng.choice([-1, 1], variables + 1)
    rows: list[int] = []
    while len(rows) < 3 * clauses:
        chosen = rng.choice(np.arange(1, variables + 1), 3, replace=False)
        literals = chosen * rng.choice([-1, 1], 3)
        if (literals * hidden[chosen] > 0).any():
            rows += literals.tolist()
    problem = Problem(f"planted 3-SAT, {variables} variables")
    problem.add_variables(variables, (0, 1), names=[str(i) for i in range(1, variables + 1)])
    problem.add_clauses(np.arange(0, 3 * clauses + 1, 3), np.array(rows))
    return problem


if __name__ == "__main__":
    write(planted(100, 400, seed=1), sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("planted3sat.cnf"))
