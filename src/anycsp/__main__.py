"""`python -m anycsp`: the command line."""

from anycsp.cli import main

main()
