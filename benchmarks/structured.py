"""Models that people wrote: XCSP3 files and cost function networks, ours against ACE, CP-SAT and toulbar2.

    python benchmarks/structured.py --out DIR [--systems local auto ace cp-sat toulbar2] [--time-limit 10]
    python benchmarks/structured.py --out DIR --only 'series/Magic*' --systems local --again all
    python benchmarks/structured.py --out DIR --systems local --beside REFERENCE   # the others' rows from there
    python benchmarks/structured.py --out DIR --table                              # run nothing
    python benchmarks/structured.py --smoke                                        # three tiny models

Each run is a process on one core with one thread, its wall-clock time that of the whole process; small files first.
Each finished run is a line of DIR/structured.jsonl, and a run found there is not repeated, so the benchmark can be
stopped and resumed; of several lines for one run the last counts. Files are looked for in ANYCSP_DATA or beside the
checkout. Every answer is confirmed by SolutionChecker or `anycsp check`, and only confirmed ones in time count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from solvers import SYSTEMS, Budget, Instance, run_system

DATA = Path(os.environ.get("ANYCSP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
JOURNAL = "structured.jsonl"
COMPARED = ("local", "auto", "ace", "cp-sat", "toulbar2")

Record = dict[str, Any]
Key = tuple[str, str, int, float]


# ── instances ────────────────────────────────────────────────────────────────────────────────────


def instances(data: Path) -> list[Instance]:
    """All files, the smallest first: an interrupted run has then seen the most problems."""
    xcsp3 = sorted((data / "xcsp3").rglob("*.xml"))
    networks = sorted(path for path in (data / "wcsp").iterdir() if path.suffix in (".wcsp", ".cfn"))
    return [instance(path, data) for path in sorted([*xcsp3, *networks], key=lambda path: path.stat().st_size)]


def instance(path: Path, data: Path) -> Instance:
    name = str(path.relative_to(data)).removeprefix("xcsp3/")
    if path.suffix != ".xml":
        return Instance(name, path, "wcsp", 1)
    goal = re.search(rb"<(minimize|maximize)", path.read_bytes())
    if goal is None:
        return Instance(name, path, "csp")
    return Instance(name, path, "cop", 1 if goal[1] == b"minimize" else -1)


def chosen(args: argparse.Namespace, data: Path) -> list[Instance]:
    found = [x for x in instances(data) if not args.only or any(fnmatch(x.name, f"*{p}*") for p in args.only)]
    if args.sample is not None:
        kept = set(random.Random(args.seed).sample([x.name for x in found], min(args.sample, len(found))))
        found = [x for x in found if x.name in kept]
    return found[: args.limit]


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def load_records(folder: Path) -> dict[Key, Record]:
    """The last record of every run; a line torn by an interruption is left out."""
    records: dict[Key, Record] = {}
    path = folder / JOURNAL
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        records[record["instance"], record["system"], record["seed"], record["limit"]] = record
    return records


def run(args: argparse.Namespace, problems: Sequence[Instance]) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    done = load_records(args.out)
    journal = args.out / JOURNAL
    version = commit()
    if journal.exists() and not journal.read_bytes().endswith(b"\n"):
        with journal.open("a") as file:
            file.write("\n")
    budget = Budget(args.time_limit, args.seed, args.core, args.megabytes, args.anycsp)
    for name in args.systems:
        if reason := SYSTEMS[name].absent():
            print(f"{name}: {reason}", file=sys.stderr)
    systems = [SYSTEMS[name] for name in args.systems if not SYSTEMS[name].absent()]
    for problem in problems:
        for system in systems:
            if problem.kind not in system.kinds:
                continue
            earlier = done.get((problem.name, system.name, args.seed, args.time_limit))
            if earlier and not repeated(earlier, args.again):
                continue
            facts = {"kind": problem.kind, "sense": problem.sense, "bytes": problem.path.stat().st_size}
            record = {"instance": problem.name, "system": system.name, "seed": args.seed, "limit": args.time_limit}
            record |= facts | run_system(system, problem, budget) | {"commit": version}
            with journal.open("a") as file:
                file.write(json.dumps(record) + "\n")
            said = record.get("verdict") or record.get("note") or ""
            cost = f" {record['cost']:g}" if record.get("cost") is not None else ""
            print(
                f"{record['wall']:7.2f} s  {system.name:8}  {problem.name}: {record['claim']}{cost} {said}", flush=True
            )


def commit() -> str:
    """The state of the checkout; our own searches change with it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


# ── what the records say ─────────────────────────────────────────────────────────────────────────


def late(record: Record) -> bool:
    return bool(record["wall"] > record["limit"] * 1.05 + 0.3)


def starved(record: Record) -> bool:
    """Other work took its core: the time says less than it should."""
    return bool(record["wall"] > 1.0 and record["cpu"] < 0.75 * record["wall"])


def valid(record: Record) -> bool:
    return record.get("verdict") == "valid"


def settled(record: Record) -> bool:
    """More of its core could not have helped."""
    return record["claim"] in ("optimum", "unsatisfiable") or (
        record["kind"] == "csp" and valid(record) and not late(record)
    )


def repeated(record: Record, again: str | None) -> bool:
    return again == "all" or (again == "starved" and starved(record) and not settled(record))


class Results:
    """The records of one seed and limit, by instance and system; `counts` says whether its answer does."""

    def __init__(self, records: Sequence[Record], count_late: bool = False) -> None:
        self.systems = [name for name in SYSTEMS if any(r["system"] == name for r in records)]
        self.rows: dict[str, dict[str, Record]] = {}
        for record in sorted(records, key=lambda r: (r["kind"], r["instance"])):
            counts = valid(record) and (count_late or not late(record))
            self.rows.setdefault(record["instance"], {})[record["system"]] = record | {"counts": counts}

    def of_kind(self, *kinds: str) -> Iterator[tuple[str, dict[str, Record]]]:
        for name, row in self.rows.items():
            if next(iter(row.values()))["kind"] in kinds:
                yield name, row

    def wrong(self) -> Iterator[tuple[str, str, str]]:
        """(instance, system, why): assignments the checker refuses, and proofs that an assignment disproves."""
        for name, row in self.rows.items():
            solutions = [r for r in row.values() if valid(r)]
            best = best_cost(solutions)
            for system, record in row.items():
                if str(record.get("verdict", "")).startswith("invalid"):
                    yield name, system, record["verdict"]
                if record["claim"] == "unsatisfiable" and solutions:
                    yield name, system, "claims there is no solution"
                proved = record["claim"] == "optimum" and record.get("cost") is not None
                if proved and best is not None and not equal(record["cost"], best):
                    yield name, system, f"claims {record['cost']:g} is optimal, {best:g} is better"


def equal(a: float, b: float) -> bool:
    """Costs may be decimal fractions, added up in another order."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def best_cost(records: Sequence[Record]) -> float | None:
    costs = [r["cost"] for r in records if r.get("cost") is not None]
    return (min if records[0]["sense"] > 0 else max)(costs) if costs else None


def tables(results: Results) -> str:
    parts = [satisfaction(results), optimisation(results, "cop"), optimisation(results, "wcsp"), incidents(results)]
    return "\n\n".join(part for part in parts if part)


def satisfaction(results: Results) -> str:
    rows = dict(results.of_kind("csp"))
    if not rows:
        return ""
    solvable = {name for name, row in rows.items() if any(r["counts"] for r in row.values())}
    refuted = {name for name, row in rows.items() if any(r["claim"] == "unsatisfiable" for r in row.values())}
    lines = [
        f"## Satisfaction: {len(rows)} problems; someone solves {len(solvable)}, refutes {len(refuted - solvable)}",
        "",
        "| system | run | solved | of the solvable ones run | refuted | median seconds of solved |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    misses = []
    for system in results.systems:
        ran = {name: row[system] for name, row in rows.items() if system in row}
        if not ran:
            continue
        solved = {name for name, record in ran.items() if record["counts"]}
        possible = solvable & ran.keys()
        no = sum(record["claim"] == "unsatisfiable" for record in ran.values())
        middle = sorted(ran[name]["wall"] for name in solved)[len(solved) // 2] if solved else float("nan")
        lines.append(
            f"| {system} | {len(ran)} | {len(solved)} | {share(len(solved), len(possible))} | {no} | {middle:.2f} |"
        )
        missed = sorted(possible - solved)
        misses.append(f"- {system} misses {len(missed)}: {', '.join(missed) or 'none'}")
    return "\n".join([*lines, "", *misses])


def optimisation(results: Results, kind: str) -> str:
    rows = dict(results.of_kind(kind))
    systems = [s for s in results.systems if any(s in row for row in rows.values())]
    best: dict[str, float] = {}
    for name, row in rows.items():
        cost = best_cost([r for r in row.values() if r["counts"]])
        if cost is not None:
            best[name] = cost
    if not rows:
        return ""
    title = "Optimisation" if kind == "cop" else "Cost function networks"
    lines = [
        f"## {title}: {len(rows)} problems, {len(best)} with an answer",
        "",
        "| system | run | answered | best objective | of those with an answer | proved optimal |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for system in systems:
        ran = {name: row[system] for name, row in rows.items() if system in row}
        answered = {name: r["cost"] for name, r in ran.items() if r["counts"] and r.get("cost") is not None}
        reached = sum(equal(cost, best[name]) for name, cost in answered.items())
        proved = sum(r["counts"] and r["claim"] == "optimum" for r in ran.values())
        possible = len(best.keys() & ran.keys())
        lines.append(f"| {system} | {len(ran)} | {len(answered)} | {reached} | {share(reached, possible)} | {proved} |")
    lines += ["", f"| problem | better | {' | '.join(systems)} |", f"| --- | --- |{' --- |' * len(systems)}"]
    for name, cost in best.items():
        row = rows[name]
        cells = [objective_cell(row.get(system), cost) for system in systems]
        direction = "less" if next(iter(row.values()))["sense"] > 0 else "more"
        lines.append(f"| {name} | {direction} | {' | '.join(cells)} |")
    return "\n".join(lines)


def objective_cell(record: Record | None, best: float) -> str:
    if record is None:
        return ""
    if not record["counts"] or record.get("cost") is None:
        return "late" if late(record) else "–"
    text = f"{record['cost']:.10g}" + (" ✓" if record["claim"] == "optimum" else "")
    return f"**{text}**" if equal(record["cost"], best) else text


def incidents(results: Results) -> str:
    """Overruns, wrong and unconfirmed answers, runs without an answer for a stated reason, disturbed measurements."""
    records = [(name, system, r) for name, row in results.rows.items() for system, r in row.items()]
    sections: list[tuple[str, list[str]]] = [
        ("Wrong answers", [f"{system}, {name}: {why}" for name, system, why in results.wrong()]),
        ("Past the limit", [f"{s}, {name}: {r['wall']:.1f} s of {r['limit']:g}" for name, s, r in records if late(r)]),
        (
            "Unconfirmed",
            [f"{s}, {n}: {r['verdict']}" for n, s, r in records if str(r.get("verdict")).startswith("unconfirmed")],
        ),
        ("No answer, with a reason", [f"{s}, {n}: {r['note']}" for n, s, r in records if r.get("note")]),
    ]
    lines = []
    for title, entries in sections:
        lines += [f"## {title}: {len(entries)}", "", *(f"- {entry}" for entry in sorted(entries)), ""]
    disturbed = sum(starved(record) for _, _, record in records)
    return "\n".join([*lines, f"{disturbed} of {len(records)} runs had less than 75 % of their core."])


def share(part: int, whole: int) -> str:
    return f"{part} / {whole} ({part / whole:.0%})" if whole else "–"


# ── smoke ────────────────────────────────────────────────────────────────────────────────────────

SMOKE = {
    "xcsp3/queens.xml": """<instance format="XCSP3" type="CSP"><variables><array id="q" size="[6]"> 0..5 </array>
</variables><constraints><allDifferent> q[] </allDifferent>
<allDifferent> add(q[0],0) add(q[1],1) add(q[2],2) add(q[3],3) add(q[4],4) add(q[5],5) </allDifferent>
<allDifferent> sub(q[0],0) sub(q[1],1) sub(q[2],2) sub(q[3],3) sub(q[4],4) sub(q[5],5) </allDifferent>
</constraints></instance>""",
    "xcsp3/knapsack.xml": """<instance format="XCSP3" type="COP"><variables><array id="x" size="[4]"> 0 1 </array>
</variables><constraints><sum><list> x[] </list><coeffs> 5 4 3 2 </coeffs><condition> (le,7) </condition></sum>
</constraints><objectives><maximize type="sum"><list> x[] </list><coeffs> 9 8 5 3 </coeffs></maximize></objectives>
</instance>""",
    "wcsp/triangle.wcsp": "triangle 3 2 3 10\n2 2 2\n2 0 1 0 2\n0 0 3\n1 1 3\n2 1 2 0 2\n0 0 3\n1 1 3\n2 0 2 0 2\n"
    "0 0 1\n1 1 1\n",
}
"""Two XCSP3 models and a cost function network, so small that everybody ends in a moment."""


def smoke(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        for name, text in SMOKE.items():
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            (data / name).write_text(text)
        args.out = args.out or Path(folder) / "out"
        args.time_limit = 10.0  # a busy machine takes seconds to start a JVM
        run(args, chosen(args, data))
        print(tables(Results(list(load_records(args.out).values()))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the journal")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(COMPARED))
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="S")
    parser.add_argument("--seed", type=int, default=0, help="of every solver, and of --sample")
    parser.add_argument(
        "--only", nargs="+", metavar="PATTERN", help="instances whose name contains it; * and ? allowed"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the N smallest of them")
    parser.add_argument("--sample", type=int, metavar="K", help="K of them at random")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="all runs on this core")
    parser.add_argument("--megabytes", type=int, default=4096, help="memory of each run")
    parser.add_argument("--anycsp", default=f"{sys.executable} -m anycsp", metavar="COMMAND", help="our own program")
    parser.add_argument(
        "--again", choices=("all", "starved"), help="repeat all, or those that other work may have kept from more"
    )
    parser.add_argument("--beside", type=Path, nargs="*", default=[], help="folders whose records join the tables")
    parser.add_argument("--table", action="store_true", help="print the tables only")
    parser.add_argument("--count-late", action="store_true", help="count answers past the limit in the tables too")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        smoke(args)
        return
    if args.out is None:
        parser.error("--out is needed")
    problems = chosen(args, DATA)
    if not args.table:
        run(args, problems)
    records: dict[Key, Record] = {}
    for folder in [*args.beside, args.out]:
        records |= load_records(folder)
    names = {problem.name for problem in problems}
    shown = [r for r in records.values() if r["instance"] in names]
    shown = [r for r in shown if (r["seed"], r["limit"]) == (args.seed, args.time_limit)]
    print(tables(Results(shown, args.count_late)))


if __name__ == "__main__":
    main()
