"""Settings beside the default, on fresh instances: how many times faster, with an interval.

    python benchmarks/tuned.py quasigroup.toml quasigroup --set order=20 --seconds 0.5 --instances 30 --seeds 3

Instances are drawn by a seed that tuning does not use; processor time, both in turns in one process.
"""

from __future__ import annotations

import argparse
import math

from anycsp.cli.generate import setting
from anycsp.search.heuristic import load_heuristic
from anycsp.tuning.instances import Family, Laboratory
from anycsp.tuning.measure import gain

FRESH = 77_000_000
"""Seed of the instances, far from those that tuning draws with."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", help="file, or name of shipped settings")
    parser.add_argument("distribution")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--instances", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    family = Family(arguments.distribution, dict(map(setting, arguments.set)), FRESH, arguments.instances)
    laboratory = Laboratory(family, arguments.seconds)
    default, tuned = laboratory.judge([None, load_heuristic(arguments.settings)], arguments.seeds)
    for name, measured in (("default", default), ("tuned", tuned)):
        seconds = math.exp(float(measured.costs.mean()))
        print(f"{name:8} solved {measured.solved.mean():.0%}, {seconds:.3g} s to a target")
    print(f"{gain(default.costs, tuned.costs)} as fast on {family.count} instances × {arguments.seeds} seeds")


if __name__ == "__main__":
    main()
