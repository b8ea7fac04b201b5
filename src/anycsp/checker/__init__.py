"""The independent recount: its own readers and evaluator, sharing nothing with the search that it checks."""
