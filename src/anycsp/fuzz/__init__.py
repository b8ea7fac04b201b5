"""Fuzzing: random problems, broken files, broken models and faults, for as long as one likes.

`python -m anycsp.fuzz --minutes 10` (or `make fuzz MINUTES=10`) runs a campaign; docs/reliability.md says what is tried
and what has been found. A tool of developers: nothing else imports it.
"""
