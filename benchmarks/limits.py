"""Does every call of `anycsp solve` end in time? Wall-clock and CPU time of the whole process under a time limit.

    python benchmarks/limits.py --out DIR [--limits 1 2 5] [--only 'xcsp3/*'] [--options '--search neural']
    python benchmarks/limits.py --out DIR --table         # run nothing
    python benchmarks/limits.py --smoke                   # two tiny files and a formula of 20,000 clauses

Every file of the data (ANYCSP_DATA, or beside the checkout) and some enormous ones that are written to DIR. A call is
late where it takes longer than its limit, 5% of it and 0.3 s. On a busy machine the process waits for its turn, so it
is given besides how many are late by their CPU time, which is the time that the program can do something about. A
run is a line of DIR/limits.jsonl, and a run found there is not repeated. Ends with 1 where a call is late by CPU time,
or without an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.errors import AnyCSPError
from anycsp.formats import detect
from anycsp.formats.files import load_head

DATA = Path(os.environ.get("ANYCSP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
KINDS = ("col", "gset", "maxsat", "rb50", "satlib", "wcsp", "xcsp3")
JOURNAL = "limits.jsonl"
GRACE = 0.3
"""Seconds after the limit, besides 5% of it."""
ANSWERS = (0, 10, 20, 30)
"""Exit codes of calls that print an answer; 2 is that of what cannot be read at all."""

Record = dict[str, Any]


def formula(variables: int, clauses: int) -> str:
    """A random 3-SAT formula."""
    rng = np.random.default_rng(0)
    literals = rng.integers(1, variables + 1, (clauses, 3)) * rng.choice([-1, 1], (clauses, 3))
    return f"p cnf {variables} {clauses}\n" + "".join(f"{a} {b} {c} 0\n" for a, b, c in literals.tolist())


def ring(vertices: int) -> str:
    """Every vertex can wait for its neighbours, but only a few at a time once three colours are given."""
    edges = "".join(f"e {v} {v % vertices + 1}\n" for v in range(1, vertices + 1))
    return f"p edge {vertices} {vertices}\n{edges}"


ENORMOUS: dict[str, Callable[[], str]] = {
    "formula-1000000.cnf": lambda: formula(250_000, 1_000_000),
    "loose-1000000.cnf": lambda: formula(1_000_000, 900_000),
    "empty-1000000.cnf": lambda: "p cnf 1000000 0\n",
    "vertices-1000000.col": lambda: "p edge 1000000 0\n",
    "ring-300000.col": lambda: ring(300_000),
}


def files(data: Path, folder: Path, only: list[str]) -> Iterator[tuple[str, Path]]:
    """(name, path) of all files that hold a problem; the enormous ones first."""
    for name, text in ENORMOUS.items():
        if wanted(name, only):
            path = folder / name
            if not path.exists():
                path.write_text(text())
            yield name, path
    for path in sorted(path for kind in KINDS for path in (data / kind).rglob("*") if path.is_file()):
        name = str(path.relative_to(data))
        if wanted(name, only) and holds_a_problem(path):
            yield name, path


def wanted(name: str, only: list[str]) -> bool:
    return not only or any(fnmatch(name, pattern) for pattern in only)


def holds_a_problem(path: Path) -> bool:
    try:
        detect(load_head(path, 1 << 16))
    except AnyCSPError:
        return False
    return True


def measured(path: Path, limit: float, options: list[str]) -> Record:
    command = [sys.executable, "-m", "anycsp", "solve", str(path), "--time-limit", str(limit), "--threads", "1"]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        began = time.perf_counter()
        process = subprocess.Popen([*command, "--quiet", *options], stdout=said, stderr=complained)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        answer, errors = said.read(), complained.read().decode(errors="replace")
    return {
        "wall": round(wall, 3),
        "cpu": round(usage.ru_utime + usage.ru_stime, 3),
        "code": process.returncode,
        "answered": process.returncode in ANSWERS and b"\nv" in b"\n" + answer,
        "error": errors.strip()[-300:],
    }


def table(records: list[Record]) -> int:
    """One row per limit; returns how many calls are late by CPU time or lack an answer."""
    missed = 0
    print(f"{'limit (s)':>9} {'calls':>6} {'late':>5} {'late by CPU':>11} {'no answer':>9} {'latest (s over)':>15}")
    for limit in sorted({record["limit"] for record in records}):
        rows = [record for record in records if record["limit"] == limit]
        allowed = limit * 1.05 + GRACE
        late = [r for r in rows if r["wall"] > allowed]
        busy = [r for r in rows if r["cpu"] > allowed]
        silent = [r for r in rows if not r["answered"] and r["code"] != 2]
        latest = max(rows, key=lambda r: r["wall"])
        over = f"{latest['wall'] - limit:.2f}"
        print(f"{limit:>9g} {len(rows):>6} {len(late):>5} {len(busy):>11} {len(silent):>9} {over:>15}")
        for r in sorted(late + [r for r in silent if r not in late], key=lambda r: -r["wall"]):
            print(
                f"{'':>9} {r['wall']:>7.2f} s wall {r['cpu']:>7.2f} s CPU, code {r['code']}: {r['name']} {r['error']}"
            )
        missed += len(busy) + len(silent)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("limits"), metavar="DIR")
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 2.0, 5.0], metavar="S")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN", help="Names such as 'xcsp3/*'.")
    parser.add_argument("--options", default="", help="More options of `anycsp solve`.")
    parser.add_argument("--table", action="store_true", help="Print what is in DIR, run nothing.")
    parser.add_argument("--smoke", action="store_true", help="A few small files only.")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    journal = args.out / JOURNAL
    records = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    done = {(r["name"], r["limit"], r["options"]) for r in records}
    found: Iterator[tuple[str, Path]] = iter(())
    if args.smoke:
        (args.out / "small.cnf").write_text(formula(5_000, 20_000))
        (args.out / "small.col").write_text(ring(9))
        found = iter([("small.cnf", args.out / "small.cnf"), ("small.col", args.out / "small.col")])
        args.limits = [0.5]
    elif not args.table:
        found = files(DATA, args.out, args.only)
    for name, path in found:
        for limit in args.limits:
            if (name, limit, args.options) not in done:
                record = {"name": name, "limit": limit, "options": args.options}
                record |= measured(path, limit, args.options.split())
                records.append(record)
                with journal.open("a") as lines:
                    lines.write(json.dumps(record) + "\n")
    return int(table(records) > 0)


if __name__ == "__main__":
    sys.exit(main())
