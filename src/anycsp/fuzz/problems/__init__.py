"""Random problems against an oracle of their own: `draw` a case, `check` it, or find a `smaller` one that fails too."""
