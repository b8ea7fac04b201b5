"""Presolve: each module makes a smaller problem and knows the way back to the whole one."""
