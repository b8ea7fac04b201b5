"""`python -m anycsp.fuzz`: campaigns, single trials, and cases that were kept."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from anycsp.fuzz.guarded import Failure, campaign, tried, tried_apart
from anycsp.fuzz.kinds import SECONDS, Case, Kind, kind
from anycsp.fuzz.shrink import shrunk


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where nothing was found, otherwise 1."""
    parser = argparse.ArgumentParser(prog="python -m anycsp.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="shared by the kinds, evenly")
    parser.add_argument("--trials", type=int, help="at most so many trials of each kind")
    parser.add_argument("--seed", type=int, help="default: the time, so that every campaign is another")
    parser.add_argument("--kind", choices=list(SECONDS), action="append", help="default: all")
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="where failing cases are written")
    parser.add_argument("--log", type=Path, help="append one JSON line per campaign and kind")
    parser.add_argument("--report", type=Path, help="only print the table of the campaigns in this log")
    parser.add_argument("--trial", type=int, help="only this trial of the seed and kind, and print its case")
    parser.add_argument("cases", nargs="*", type=Path, help="cases that were kept: check them again")
    options = parser.parse_args(arguments)
    if options.cases:
        return _again(options.cases)
    if options.report is not None:
        print(table(options.report.read_text(encoding="utf-8")))
        return 0
    seed = int(time.time()) if options.seed is None else options.seed
    kinds = [kind(name) for name in options.kind or SECONDS]
    if options.trial is not None:
        return _single(kinds[0], seed, options.trial)
    found = 0
    for each in kinds:
        found += _campaign(each, seed, options.minutes * 60 / len(kinds), options.trials, options.out, options.log)
    return 1 if found else 0


def _campaign(kind: Kind, seed: int, seconds: float, trials: int | None, out: Path, log: Path | None) -> int:
    """Run it, write every new failure with its smallest case, and say what came of all trials."""
    tally: Counter[str] = Counter()
    found: dict[str, int] = {}
    began = time.monotonic()
    for report in campaign(kind, seed, 0, seconds, trials):
        tally += report.tally
        for trial, failure in report.failures:
            found[failure.signature] = found.get(failure.signature, 0) + 1
            if found[failure.signature] == 1:
                path = _keep(kind, kind.case(seed, trial), failure, out, f"{kind.name}-{seed}-{trial}.json")
                print(f"{kind.name} {seed} {trial}: {failure.signature}\n  {path}", flush=True)
    count, took = tally.total(), time.monotonic() - began
    print(f"{kind.name}: seed {seed}, {count} trials in {took:.0f} s, {len(found)} kinds of failures", flush=True)
    for word, times in tally.most_common():
        print(f"  {times:8d}  {word}", flush=True)
    if log is not None:
        line = {"kind": kind.name, "seed": seed, "trials": count, "seconds": round(took), "commit": _commit()}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(json.dumps({**line, "failures": found}) + "\n")
    return len(found)


def table(log: str) -> str:
    """What all campaigns of a log came to, by kind, as a table of Markdown."""
    campaigns = [json.loads(line) for line in log.splitlines()]
    rows = [
        "| kind | campaigns | trials | hours | kinds of failures |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in SECONDS:
        own = [c for c in campaigns if c["kind"] == name]
        trials, hours = sum(c["trials"] for c in own), sum(c["seconds"] for c in own) / 3600
        failures = {signature for c in own for signature in c["failures"]}
        rows.append(f"| {name} | {len(own)} | {trials:,} | {hours:.1f} | {len(failures)} |")
    return "\n".join(rows)


def _keep(kind: Kind, case: Case, failure: Failure, out: Path, name: str) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    smallest = shrunk(kind, case, failure)
    path = out / name
    kept = {"kind": kind.name, "failure": failure.signature, "case": smallest}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path.with_suffix(".txt").write_text(failure.detail, encoding="utf-8", errors="replace")
    return path


def _commit() -> str:
    """The commit of the checkout, where it is one."""
    try:
        told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip()


def _single(kind: Kind, seed: int, trial: int) -> int:
    case = kind.case(seed, trial)
    print(json.dumps(case, ensure_ascii=False))
    outcome = tried(kind, case)
    print(outcome.detail if isinstance(outcome, Failure) else outcome)
    return int(isinstance(outcome, Failure))


def _again(paths: Sequence[Path]) -> int:
    failed = 0
    for path in paths:
        kept = json.loads(path.read_text(encoding="utf-8"))
        outcome = tried_apart(kind(kept["kind"]), kept["case"])
        failed += isinstance(outcome, Failure)
        print(f"{path}: {outcome.signature if isinstance(outcome, Failure) else outcome}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
