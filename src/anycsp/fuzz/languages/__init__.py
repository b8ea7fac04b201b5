"""Random models as people write them, in XCSP3, FlatZinc and CPMpy, against oracles that enumerate."""
