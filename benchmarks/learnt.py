"""Whether what `anycsp learn` claims holds: it learns from a folder of 60 instances, and is judged on 30 fresh ones.

    python benchmarks/learnt.py --minutes 15 --only timetable

Every line says what the closing table claimed on the folder's own held-out files, and what was measured afterwards on
instances of another seed. Times are processor time of one thread; all searchers take turns in one process.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tuned import FRESH

from anycsp.distributions import get
from anycsp.formats import write
from anycsp.tuning.instances import Family, Laboratory
from anycsp.tuning.learn import Learner
from anycsp.tuning.measure import gain

FOLDERS: Mapping[str, Mapping[str, Any]] = {
    "timetable": {"classes": [4, 6], "hours": [15, 20]},
    "quasigroup": {"order": 16},
}
"""As the slow tests in tests/tuning have them."""
SEEDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seconds", type=float, default=0.3, help="limit of a search")
    parser.add_argument("--instances", type=int, default=60, help="in the folder")
    parser.add_argument("--judges", type=int, default=30, help="fresh instances")
    parser.add_argument("--only", nargs="+", choices=FOLDERS, default=list(FOLDERS))
    given = parser.parse_args()
    for name in given.only:
        with TemporaryDirectory() as temporary:
            folder = Path(temporary) / "instances"
            folder.mkdir()
            for k, problem in enumerate(get(name, **FOLDERS[name]).sample(1, given.instances)):
                write(problem, folder / f"{k}.json")
            learner = Learner(str(folder), limit=given.seconds, report=lambda line: print(line, flush=True))
            lesson = learner.run(given.minutes, Path(temporary) / "learnt")
        laboratory = Laboratory(Family(name, FOLDERS[name], FRESH, given.judges), given.seconds)
        measured = laboratory.judge([row.searcher for row in lesson.rows], SEEDS)
        for row, fresh in zip(lesson.rows, measured, strict=True):
            claimed = "1" if row.gain is None else str(row.gain)
            held = gain(measured[0].costs, fresh.costs)
            kept = " kept" if row is lesson.best else ""
            seconds = math.exp(float(fresh.costs.mean()))
            print(
                f"{name} {row.name:8} claimed {claimed:20} fresh {held}, {seconds:.3g} s to a target{kept}", flush=True
            )


if __name__ == "__main__":
    main()
