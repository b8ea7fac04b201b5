"""Problems of the MiniZinc Challenge: what flattens, what is read, and solutions against Gecode's in equal time.

    python benchmarks/minizinc.py ../shared/data/minizinc --out runs/minizinc --seconds 20
    python benchmarks/minizinc.py ../shared/data/minizinc --out runs/minizinc --parts flatten     # what needs no clock
    python benchmarks/minizinc.py ../shared/data/minizinc --out runs/minizinc --parts solve --minutes 3
    python benchmarks/minizinc.py ../shared/data/minizinc --out runs/minizinc --parts check
    python benchmarks/minizinc.py ../shared/data/minizinc --table runs/minizinc --one-each > table.md
    python benchmarks/minizinc.py ../shared/data/minizinc --record runs/minizinc
    python benchmarks/minizinc.py --page     # docs/minizinc-challenge.md from research/records/minizinc.jsonl

Every instance is flattened by `minizinc` for anycsp's library and for Gecode's, read, and solved by both with one
thread. Each solution of ours is checked by MiniZinc itself: the model is solved once more, by Gecode, with the values
of the solution asserted. Rows are appended to `results.jsonl` as they come, and what is there is not done again; so the
part that depends on the clock can be run for some minutes at a time.

Debian's MiniZinc has a library of Gecode's for an older version, which fails on globals.mzn: `GECODE` is what newer
ones ship, as far as it matters here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anycsp.integrations.minizinc import executable, install

INTS, VARS = "array[int] of int", "array[int] of var int"
GECODE = {
    "all_different_int": f"({VARS}: x);",
    "all_equal_int": f"({VARS}: x);",
    "among": f"(var int: n, {VARS}: x, set of int: v);",
    "nvalue": f"(var int: n, {VARS}: x);",
    "count_eq": f"({VARS}: x, var int: y, var int: c);",
    "increasing_int": f"({VARS}: x);",
    "decreasing_int": f"({VARS}: x);",
    "member_int": f"({VARS}: x, var int: y);",
    "global_cardinality_low_up": f"({VARS}: x, {INTS}: cover, {INTS}: lbound, {INTS}: ubound);",
    "circuit": f"""({VARS}: x) = gecode_circuit(min(index_set(x)), x);
predicate gecode_circuit(int: offset, {VARS}: x);""",
    "inverse": f"""({VARS}: f, {VARS}: invf) = inverse_offsets(f, min(index_set(invf)), invf, min(index_set(f)));
predicate inverse_offsets({VARS}: f, int: foff, {VARS}: invf, int: invfoff);""",
    "table_int": f"""({VARS}: x, array[int, int] of int: t) = gecode_table_int(x, array1d(t));
predicate gecode_table_int({VARS}: x, {INTS}: t);""",
    "regular": f"""({VARS}: x, int: Q, int: S, array[int, int] of int: d, int: q0, set of int: F) =
  gecode_regular(x, Q, S, array1d(d), q0, F);
predicate gecode_regular({VARS}: x, int: Q, int: S, {INTS}: d, int: q0, set of int: F);""",
    "diffn": f"""({VARS}: x, {VARS}: y, {VARS}: dx, {VARS}: dy) = gecode_nooverlap(x, dx, y, dy);
predicate gecode_nooverlap({VARS}: x, {VARS}: w, {VARS}: y, {VARS}: h);""",
    "cumulative": f"""({VARS}: s, {VARS}: d, {VARS}: r, var int: b) = cumulatives(s, d, r, b);
predicate cumulatives({VARS}: s, {VARS}: d, {VARS}: r, var int: b);""",
    "global_cardinality": f"""({VARS}: x, {INTS}: cover, {VARS}: counts) = gecode_global_cardinality(x, cover, counts);
predicate gecode_global_cardinality({VARS}: x, {INTS}: cover, {VARS}: counts);""",
    "bin_packing_load": f"""({VARS}: load, {VARS}: bin, {INTS}: w) =
  gecode_bin_packing_load(load, bin, w, min(index_set(load)));
predicate gecode_bin_packing_load({VARS}: l, {VARS}: bin, {INTS}: w, int: minIndex);""",
    "lex_less_int": f"""({VARS}: x, {VARS}: y) = array_int_lt(x, y);
predicate array_int_lt({VARS}: x, {VARS}: y);""",
    "lex_lesseq_int": f"""({VARS}: x, {VARS}: y) = array_int_lq(x, y);
predicate array_int_lq({VARS}: x, {VARS}: y);""",
    "value_precede_int": f"""(int: s, int: t, {VARS}: x) = gecode_precede(x, s, t);
predicate gecode_precede({VARS}: x, int: s, int: t);""",
}
"""Global constraints that Gecode has whole, by their names in the standard library."""
RENAMED = {f"fzn_{name}": name for name, text in GECODE.items() if "=" not in text} | {"fzn_count_eq": "count"}
"""What stands in FlatZinc, and what Gecode calls it."""
ROOT = Path(__file__).resolve().parents[1]
RECORDS, PAGE = ROOT / "research" / "records" / "minizinc.jsonl", ROOT / "docs" / "minizinc-challenge.md"
INTRODUCTION = """# MiniZinc Challenge

Problems of the MiniZinc Challenge, even years: flattened by MiniZinc 2.6.4, read, and solved in 20 s with one thread by
`auto` (OR-Tools installed) and by Gecode 6.2, each alone on a core. A star marks a proof. *check* says whether MiniZinc
itself, with Gecode and the standard library's decompositions, confirms our solution. Ours ran beside other work on the
second core; Gecode's answers to the first instances are of an earlier run, on a machine that did nothing else.

The page is written by `benchmarks/minizinc.py --page` from `research/records/minizinc.jsonl`.
"""
KEPT = ("flattened", "reason", "read", "refused", "variables", "goal", "ours", "gecode", "passes")
"""What a record has of a row."""
MOST_BYTES = 200 << 20
"""Flattened files that are larger are not read."""


def instances(folder: Path, one_each: bool = False) -> Iterator[tuple[str, Path, Path | None]]:
    """Name, model and data of every instance, or of the first one of each problem."""
    for problem in sorted({path.parent for path in folder.glob("*/*/*.mzn")}):
        models = sorted(problem.glob("*.mzn"))
        data = sorted(path for path in problem.iterdir() if path.suffix in (".dzn", ".json"))
        found = [(model, file) for model in (models if not data else models[:1]) for file in (data or [None])]
        for model, file in found[: 1 if one_each else None]:
            yield f"{problem.parent.name}/{problem.name}/{(file or model).stem}", model, file


class Bench:
    def __init__(self, out: Path, flatten_seconds: float, seconds: float) -> None:
        self._out = out
        self._flatten_seconds, self._seconds = flatten_seconds, seconds
        out.mkdir(parents=True, exist_ok=True)
        self._journal = out / "results.jsonl"
        self.rows: dict[str, dict[str, Any]] = {}
        if self._journal.exists():
            for line in self._journal.read_text().splitlines():
                row = json.loads(line)
                self.rows.setdefault(row["instance"], {}).update(row)
        install(out / "solvers")
        library = out / "gecode"
        library.mkdir(exist_ok=True)
        for name, text in GECODE.items():
            (library / f"fzn_{name}.mzn").write_text(f"predicate fzn_{name}{text}\n")
        redefinitions = Path("/usr/share/minizinc/gecode")
        for name in ("redefinitions.mzn", "redefinitions-2.0.mzn"):
            if (redefinitions / name).exists():
                (library / name).write_text((redefinitions / name).read_text())
        gecode = {"id": "bench.gecode", "name": "bench-gecode", "version": "6.2", "executable": "fzn-gecode"}
        gecode |= {"mznlib": str(library.absolute()), "stdFlags": ["-a", "-p", "-s", "-t"], "supportsFzn": True}
        (out / "solvers" / "gecode.msc").write_text(json.dumps(gecode))
        # A check needs no speed: the standard library's own decompositions, so that nothing is shared with either.
        check = {**gecode, "id": "bench.check", "name": "bench-check", "mznlib": ""}
        (out / "solvers" / "check.msc").write_text(json.dumps(check))
        self._environment = {**os.environ, "MZN_SOLVER_PATH": str((out / "solvers").absolute())}

    def add(self, instance: str, **values: Any) -> None:
        row = {"instance": instance, **values}
        self.rows.setdefault(instance, {}).update(row)
        with self._journal.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def _run(self, command: list[str], seconds: float) -> tuple[int, str, str]:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment, errors="replace"
        )
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
            return -1, output, errors
        return process.returncode, output, errors

    def file(self, instance: str, ending: str) -> Path:
        return self._out / "flat" / (instance.replace("/", "-") + ending)

    def flatten(self, instance: str, model: Path, data: Path | None, solver: str, flat: Path, ozn: Path) -> str:
        """Flatten; why it failed, or nothing."""
        flat.parent.mkdir(exist_ok=True)
        command = ["minizinc", "-c", "--solver", solver, "--output-mode", "dzn", "--output-objective"]
        files = [str(model)] + ([] if data is None else [str(data)])
        code, _, errors = self._run([*command, "--fzn", str(flat), "--ozn", str(ozn), *files], self._flatten_seconds)
        if code == 0 and flat.exists():
            # MiniZinc 2.6 calls a function of enums by another name than it gives it, and cannot read the file then.
            ozn.write_text(ozn.read_text().replace(r"'\0@", "'_0@"))
            return ""
        flat.unlink(missing_ok=True)
        lines = [line for line in errors.splitlines() if "rror" in line] or ["?"]
        return "out of time" if code == -1 else lines[0][:200]

    def one(self, instance: str, model: Path, data: Path | None, parts: set[str]) -> None:
        flat, ozn = self.file(instance, ".fzn"), self.file(instance, ".ozn")
        if "flatten" in parts:
            self._flatten_and_read(instance, model, data, flat, ozn)
        row = self.rows.get(instance, {})
        if "solve" in parts and row.get("read"):
            if "ours" not in row:
                self._solve_ours(instance, flat, ozn)
            if "gecode" not in row:
                self._solve_gecode(instance)
        if "check" in parts and (row.get("ours") or {}).get("found") and "passes" not in row:
            solution = self.file(instance, ".solution.dzn").read_text()
            self.add(instance, passes=self.check(model, data, solution) if "=" in solution else "no values to check")

    def _flatten_and_read(self, instance: str, model: Path, data: Path | None, flat: Path, ozn: Path) -> None:
        row = self.rows.get(instance, {})
        if "flattened" not in row:
            began = time.perf_counter()
            reason = self.flatten(instance, model, data, "org.anycsp.anycsp", flat, ozn)
            seconds = round(time.perf_counter() - began, 2)
            self.add(instance, flattened=not reason, reason=reason, flatten_seconds=seconds)
            row = self.rows[instance]
        if row["flattened"] and "read" not in row:
            self.add(instance, **self.read(flat))
        if row.get("read") and "gecode_flattened" not in row:
            other, other_ozn = self.file(instance, ".gecode.fzn"), self.file(instance, ".gecode.ozn")
            reason = self.flatten(instance, model, data, "bench.gecode", other, other_ozn)
            if not reason:
                other.write_text(re.sub(r"\bfzn_\w+", lambda m: RENAMED.get(m[0], m[0]), other.read_text()))
            self.add(instance, gecode_flattened=not reason, gecode_reason=reason)

    def read(self, flat: Path) -> dict[str, Any]:
        if flat.stat().st_size > MOST_BYTES:
            return {"read": False, "refused": f"{flat.stat().st_size >> 20} MB"}
        code, output, errors = self._run([sys.executable, __file__, "--read", str(flat)], 120)
        if code == -1:
            return {"read": False, "refused": "out of time"}
        return json.loads(output) if code == 0 else {"read": False, "refused": errors.splitlines()[-1][:250]}

    def _solve_ours(self, instance: str, flat: Path, ozn: Path) -> None:
        limit = ["-t", str(int(self._seconds * 1000))]
        _, raw, errors = self._run([str(executable()), "-p", "1", *limit, str(flat)], self._seconds + 30)
        ours = self._last(raw, ozn)
        if ours["found"]:
            self.file(instance, ".solution.dzn").write_text(ours.pop("solution"))
        ours["error"] = errors.strip().splitlines()[-1][:200] if errors.strip() else ""
        self.add(instance, ours={**ours, "commit": commit()})

    def _solve_gecode(self, instance: str) -> None:
        if not self.rows[instance].get("gecode_flattened"):
            self.add(instance, gecode={"found": False, "error": self.rows[instance].get("gecode_reason", "?")})
            return
        flat, ozn = self.file(instance, ".gecode.fzn"), self.file(instance, ".gecode.ozn")
        limit = ["-time", str(int(self._seconds * 1000))]
        _, raw, errors = self._run(["fzn-gecode", "-a", *limit, str(flat)], self._seconds + 30)
        gecode = self._last(raw, ozn)
        gecode.pop("solution", None)
        self.add(instance, gecode={**gecode, "error": errors.strip()[:200]})

    def _last(self, raw: str, ozn: Path) -> dict[str, Any]:
        """The last solution of a solver's output, as data, and its objective."""
        result: dict[str, Any] = {"found": "----------" in raw, "complete": "==========" in raw}
        result["unsatisfiable"] = "=====UNSATISFIABLE=====" in raw
        if not result["found"]:
            return result
        last = raw.split("----------")[-2].removeprefix("\n")
        process = subprocess.run(
            ["minizinc", "--ozn-file", str(ozn)], input=last + "----------\n", capture_output=True, text=True
        )
        solution = process.stdout.split("----------")[0]
        objective = re.search(r"^_objective = (-?[0-9.]+);\n", solution, re.MULTILINE)
        result["objective"] = None if objective is None else float(objective[1])
        result["solution"] = re.sub(r"^_objective = .*;\n", "", solution, flags=re.MULTILINE)
        return result

    def check(self, model: Path, data: Path | None, solution: str) -> bool | str:
        """Whether MiniZinc finds the model satisfied with these values; what it says where it does not.

        They are asserted by constraints, and where that fails given as data. MiniZinc 2.6 gets either wrong now and
        then, and calls the model unsatisfiable: an empty set that is asserted, an order of sets that Gecode decides by
        another rule, and as data an index that does not matter but is outside its array."""
        said = ""
        for name, text in (("check.mzn", asserted(solution)), ("check.dzn", solution)):
            values = self._out / name
            values.write_text(text)
            files = [str(model), *([] if data is None else [str(data)]), str(values)]
            _, output, errors = self._run(
                ["minizinc", "--solver", "bench.check", "--time-limit", "100000", *files], self._flatten_seconds + 60
            )
            if "----------" in output:
                return True
            words = [line for line in [*output.splitlines(), *errors.splitlines()] if "UNSAT" in line or "rror" in line]
            said = said or (words or ["out of time"])[0][:200]
        return said


def asserted(solution: str) -> str:
    """Data as constraints."""
    lines = []
    for name, value in re.findall(r"^(\w+) = (.*?);$", solution, re.MULTILINE | re.DOTALL):
        whole = value.lstrip().startswith(("[", "array"))
        lines.append(f"constraint array1d({name}) = array1d({value});" if whole else f"constraint {name} = {value};")
    return "\n".join(lines) + "\n"


def commit() -> str:
    """What the code is of, with a plus where it was changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def read_one(path: str) -> dict[str, Any]:
    from anycsp.errors import AnyCSPError
    from anycsp.formats.files import load
    from anycsp.formats.flatzinc import read_flatzinc

    began = time.perf_counter()
    try:
        problem = read_flatzinc(load(path)).problem
    except AnyCSPError as error:
        return {"read": False, "refused": str(error).removeprefix(path)[:250]}
    return {
        "read": True,
        "refused": "",
        "read_seconds": round(time.perf_counter() - began, 2),
        "variables": problem.num_variables,
        "constraints": problem.num_constraints,
        "goal": "satisfy" if problem.objective is None else problem.objective.kind,
    }


def as_good(row: dict[str, Any]) -> bool | None:
    """Whether ours is as good as Gecode's; None where neither says anything."""
    ours, gecode = row.get("ours"), row.get("gecode")
    if ours is None or gecode is None or not (ours["found"] or gecode["found"]):
        return None
    if not (ours["found"] and gecode["found"]):
        return bool(ours["found"])
    if ours.get("objective") is None or gecode.get("objective") is None:
        return True
    sign = 1 if row["goal"] == "minimize" else -1
    return bool(sign * ours["objective"] <= sign * gecode["objective"])


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The table of docs, and the sums under it."""
    head = ["instance", "flattened", "read", "variables", "goal", "ours", "Gecode", "as good", "check"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for name, row in sorted(rows.items()):
        cells = [name, _yes(row.get("flattened"), row.get("reason")), _yes(row.get("read"), row.get("refused"))]
        cells += [
            str(row.get("variables", "")),
            row.get("goal", ""),
            _found(row.get("ours")),
            _found(row.get("gecode")),
        ]
        passes = row.get("passes", "")
        cells += [_yes(as_good(row), ""), "passes" if passes is True else str(passes)]
        lines.append("| " + " | ".join(cells).replace("  ", " ") + " |")
    flat = [row for row in rows.values() if row.get("flattened")]
    read = [row for row in flat if row.get("read")]
    checked = [row["passes"] for row in read if "passes" in row]
    compared = [good for row in read if (good := as_good(row)) is not None]
    return "\n".join(
        [
            *lines,
            "",
            f"{len(rows)} instances, {len(flat)} flatten, {len(read)} of these are read; {len(checked)} solutions, of "
            f"which {sum(p is True for p in checked)} pass; as good as Gecode or better on {sum(compared)} of "
            f"{len(compared)} that either solves.",
        ]
    )


def read_records(records: Path = RECORDS) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for line in records.read_text().splitlines():
        row = json.loads(line)
        rows.setdefault(row["instance"], {}).update(row)
    return rows


def record(folder: Path, out: Path, records: Path = RECORDS) -> None:
    """Take the rows of a run into the committed records, in place of those of the same instances."""
    rows, first = read_records(records), {name for name, _, _ in instances(folder, one_each=True)}
    for name, row in Bench(out, 0, 0).rows.items():
        if "ours" in row and "gecode" in row:  # what was not solved stays as it is in the records
            rows[name] = {
                "instance": name,
                **{key: row[key] for key in KEPT if key in row},
                "second": name not in first,
            }
    records.write_text("".join(json.dumps(rows[name]) + "\n" for name in sorted(rows)))


def page(records: Path = RECORDS) -> str:
    """The page of docs: nothing of it but its first lines is typed."""
    rows = read_records(records)
    parts = {
        "The first instance of every problem": {n: row for n, row in rows.items() if not row.get("second")},
        "Some of the second instances": {n: row for n, row in rows.items() if row.get("second")},
    }
    return INTRODUCTION + "".join(
        f"\n## {title}\n\n{commits(part)}\n\n{table(part)}\n" for title, part in parts.items() if part
    )


def commits(rows: dict[str, dict[str, Any]]) -> str:
    """Which code the rows are of."""
    counts = Counter(row["ours"].get("commit", "38ba738 or before") for row in rows.values() if row.get("ours"))
    return "Solved by the code of " + ", ".join(f"{name} ({count})" for name, count in counts.most_common()) + "."


def _yes(value: bool | None, reason: str | None) -> str:
    why = f": {reason[:80]}".replace("|", "/") if reason else ""
    return "" if value is None else "yes" if value else f"no{why}"


def _found(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    if not run["found"]:
        return "unsatisfiable" if run.get("unsatisfiable") else "none"
    objective = run.get("objective")
    return ("solved" if objective is None else f"{objective:g}") + ("*" if run["complete"] else "")


def smallest(folder: Path) -> None:
    """A folder with one instance."""
    problem = folder / "2000" / "queens"
    problem.mkdir(parents=True, exist_ok=True)
    (problem / "queens.mzn").write_text(
        'include "alldifferent.mzn"; int: n; array[1..n] of var 1..n: q; constraint alldifferent(q);\n'
        "constraint forall(i, j in 1..n where i < j)(abs(q[i] - q[j]) != j - i); solve maximize q[1];\n"
    )
    (problem / "six.dzn").write_text("n = 6;\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/minizinc"))
    parser.add_argument("--parts", default="flatten,solve,check", help="which of these to do")
    parser.add_argument("--seconds", type=float, default=20, help="of each solver")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no instance after so long")
    parser.add_argument("--one-each", action="store_true", help="only the first instance of every problem")
    parser.add_argument("--flatten-seconds", type=float, default=30)
    parser.add_argument("--every", type=int, default=1, help="only every so many instances")
    parser.add_argument("--read", metavar="FILE", help="read one FlatZinc file and print what it is")
    parser.add_argument("--table", metavar="DIR", type=Path, help="print the table of results")
    parser.add_argument("--record", metavar="DIR", type=Path, help="take its results into the committed records")
    parser.add_argument("--page", action="store_true", help="write the page of docs from the committed records")
    parser.add_argument("--check", action="store_true", help="end with 1 where that page says something else")
    parser.add_argument("--smoke", action="store_true", help="one small instance")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.folder, arguments.seconds = arguments.out / "data", 10
        smallest(arguments.folder)
    if arguments.check:
        sys.exit(PAGE.read_text() != page())
    if arguments.record:
        record(arguments.folder, arguments.record)
    elif arguments.page:
        PAGE.write_text(page())
    elif arguments.read:
        print(json.dumps(read_one(arguments.read)))
    elif arguments.table:
        rows = Bench(arguments.table, 0, 0).rows
        asked = {name for name, _, _ in instances(arguments.folder, arguments.one_each)} if arguments.folder else rows
        print(table({name: row for name, row in rows.items() if name in asked}))
    else:
        bench = Bench(arguments.out, arguments.flatten_seconds, arguments.seconds)
        parts, began = set(arguments.parts.split(",")), time.monotonic()
        for name, model, data in list(instances(arguments.folder, arguments.one_each))[:: arguments.every]:
            before = dict(bench.rows.get(name, {}))
            if time.monotonic() - began > 60 * arguments.minutes:
                return
            bench.one(name, model, data, parts)
            if bench.rows.get(name, {}) != before:
                print(name, {k: v for k, v in bench.rows[name].items() if k != "instance"}, flush=True)
        print(table(bench.rows))


if __name__ == "__main__":
    main()
