"""Exact search: OR-Tools CP-SAT as an engine, alone (`engine`), beside compiled search (`beside`), within large
neighbourhoods, and for constraints that cannot hold together (`core`). `translation` says a problem in its words."""
