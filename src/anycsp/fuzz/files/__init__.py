"""Broken files of every format: each command must end in time with a code of the contract, and one line at most."""
