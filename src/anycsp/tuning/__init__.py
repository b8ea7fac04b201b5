"""Tuning: settings of compiled search for a family of problems, found by measuring it on instances of the family."""
