"""What `anycsp tune` gains: eight families tuned, and judged beside the default on instances that tuning never saw.

    python benchmarks/tuned.py --out DIR --minutes 20                # all of it; resumable, finished families are kept
    python benchmarks/tuned.py --out DIR --stages judge              # tune or judge alone
    python benchmarks/tuned.py --out DIR --stages judge --shipped    # what the package ships, where it ships any

`tune` writes DIR/NAME.toml and a journal per family, `judge` one line per family to research/records/tuned.jsonl, which
docs/results.md is made from. Times are processor time of one thread; both sides take turns in one process.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.search.heuristic import Heuristic, load_heuristic, save_heuristic
from anycsp.tuning.instances import Family, Laboratory
from anycsp.tuning.measure import Gain, gain
from anycsp.tuning.tune import Tuner

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "research" / "records" / "tuned.jsonl"
FRESH = 77_000_000
"""Seed of the instances that judge, far from those that tuning draws with."""
TUNED_ON = 16
"""Instances that settings race on, with three seeds each."""
SEEDS = 3


@dataclass(frozen=True)
class Kind:
    title: str
    distribution: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.3
    """The limit of a search."""
    solvable: bool = False
    """Leave out what the default does not solve in ten times the limit: half of them have no solution."""

    def family(self, seed: int, count: int, *, held_out: bool = False) -> Family:
        solvable_in = 10 * self.seconds if self.solvable else None
        return Family(self.distribution, self.settings, seed, count, held_out=held_out, solvable_in=solvable_in)

    def command(self, minutes: float, seed: int, out: str) -> str:
        """What a user types for the same settings."""
        given = " ".join(f"--set '{key}={json.dumps(value)}'" for key, value in self.settings.items())
        parts = ["anycsp tune", self.distribution, given, "--solvable" if self.solvable else "", f"--seed {seed}"]
        parts.append(f"--seconds {self.seconds:g} --instances {TUNED_ON} --seeds {SEEDS}")
        parts.append(f"--minutes {minutes:g} --processes 1 --out {out}")
        return " ".join(part for part in parts if part)


KINDS: Mapping[str, Kind] = {
    "sat-250": Kind("uf250-like at the threshold", "sat", {"n": 250, "density": [[4.2, 4.26]]}, solvable=True),
    "maxsat-200": Kind("Max-3-SAT", "maxsat", {"n": 200, "arity": [3], "density": [[5.0, 8.0]]}),
    "forced-rb-30": Kind(
        "forced Model RB", "forced-rb", {"n": 30, "domain": 15, "constraints": 284, "forbidden": 56}
    ),
    "colorable": Kind("DIMACS-like colouring", "colorable", {"n": [100, 250]}),
    "maxcut-sparse": Kind("sparse MaxCut", "maxcut", {"n": [400, 800], "degree": [3, 6]}),
    "quasigroup-30": Kind("quasigroups", "quasigroup", {"order": [28, 32], "holes": [0.41, 0.45]}, 0.5),
    "knapsack": Kind("knapsacks", "knapsack", {"items": [40, 80], "dimensions": [2, 5]}, 0.5),
    "jobshop": Kind("job-shops", "jobshop", {"jobs": [6, 9], "machines": [4, 6]}, 0.5),
}  # fmt: skip


def tune(name: str, out: Path, minutes: float, seed: int) -> None:
    """The best settings that so much processor time finds; nothing is done where a file says that it was spent."""
    path, kind = out / f"{name}.toml", KINDS[name]
    if path.exists() and load_heuristic(path).provenance["minutes"] >= minutes:
        return
    family = kind.family(seed, TUNED_ON)
    journal = out / f"{name}.journal.jsonl"
    tuner = Tuner(
        family, limit=kind.seconds, seeds=SEEDS, seed=seed, journal=journal,
        report=lambda line: print(f"{name}: {line}", flush=True),
    )  # fmt: skip
    found = tuner.search(minutes) or Heuristic()
    provenance = {
        "command": kind.command(minutes, seed, f"{name}.toml"),
        "seed": seed,
        "instances": family.hash,
        "seconds": kind.seconds,
        "minutes": minutes,
        "settings_tried": len(journal.read_text().splitlines()),
    }
    settings = Heuristic(**{**vars(found), "provenance": provenance})
    save_heuristic(settings, path, f"Settings of compiled search for {kind.title}, made by `anycsp tune`.")


def judge(name: str, settings: Heuristic, instances: int, records: Path) -> None:
    """Tuned and default on fresh instances, in turns; the line replaces an older one of the family."""
    kind = KINDS[name]
    laboratory = Laboratory(kind.family(FRESH, instances, held_out=True), kind.seconds)
    default, tuned = laboratory.judge([None, settings], SEEDS)
    line = {
        "family": name,
        "seconds": kind.seconds,
        "commit": commit(),
        "settings": {k: v for k, v in settings.document().items() if k != "format_version"},
        "default": np.round(default.costs, 4).tolist(),
        "tuned": np.round(tuned.costs, 4).tolist(),
        "solved": [float(default.solved.mean()), float(tuned.solved.mean())],
    }
    others = [record for record in read(records) if record["family"] != name]
    records.parent.mkdir(parents=True, exist_ok=True)
    records.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in [*others, line]))
    print(f"{name}: {gain_of(line)} on {instances} instances × {SEEDS} seeds", flush=True)


def read(records: Path) -> list[dict[str, Any]]:
    """In the order of the families."""
    lines = [json.loads(line) for line in records.read_text().splitlines()] if records.exists() else []
    return sorted(lines, key=lambda line: list(KINDS).index(line["family"]))


def gain_of(record: Mapping[str, Any]) -> Gain:
    return gain(np.array(record["default"]), np.array(record["tuned"]))


def seconds_of(costs: Sequence[Sequence[float]]) -> float:
    """Geometric mean of the time to a target."""
    return math.exp(float(np.mean(costs)))


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    return found.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of settings and journals")
    parser.add_argument("--stages", nargs="+", choices=("tune", "judge"), default=["tune", "judge"])
    parser.add_argument("--minutes", type=float, default=20.0, help="of processor time to tune a family")
    parser.add_argument("--instances", type=int, default=24, help="that judge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="FAMILY")
    parser.add_argument("--shipped", action="store_true", help="judge what the package ships")
    parser.add_argument("--records", type=Path, default=RECORDS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        if "tune" in given.stages:
            tune(name, given.out, given.minutes, given.seed)
        if "judge" not in given.stages:
            continue
        settings = load_heuristic(name if given.shipped else given.out / f"{name}.toml")
        known = [record for record in read(given.records) if record["family"] == name]
        same = [
            r for r in known if r["settings"]["provenance"] == dict(settings.provenance) and r["commit"] == commit()
        ]
        if not same:
            judge(name, settings, given.instances, given.records)


if __name__ == "__main__":
    main()
