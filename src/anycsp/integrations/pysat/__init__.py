"""PySAT: its formulas as problems, and solvers with the faces of its own.

from anycsp.integrations.pysat import LocalSearch, MaxSAT
"""

from anycsp.integrations.pysat.formula import from_formula
from anycsp.integrations.pysat.maxsat import MaxSAT
from anycsp.integrations.pysat.solver import LocalSearch

__all__ = ["LocalSearch", "MaxSAT", "from_formula"]
