"""The table of research/xcsp3.md: every XCSP3 file of a folder read, searched and confirmed by the official checker.

    python benchmarks/xcsp3_table.py ../shared/data/xcsp3 --seconds 4 --search local > table.md

Each file is read in a process of its own, so that the memory is its own. Answers are confirmed by SolutionChecker from
the ACE jar that pycsp3 bundles; it needs Java.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from anycsp import formats
from anycsp.errors import AnyCSPError, FormatError, UnsupportedError
from anycsp.formats import load, parse, xcsp3
from anycsp.search import solve


def one(path: str, seconds: float, search: str) -> dict[str, object]:
    """Read and search one file; what the row says."""
    source = load(path)
    xcsp3._parser_module(source)  # importing pycsp3 is not the file's time
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    try:
        problem = parse(source, format="xcsp3")
    except AnyCSPError as error:
        kind = "unsupported" if isinstance(error, UnsupportedError) else "refused"
        reason = error.reason if isinstance(error, FormatError) else str(error)
        return {"read": False, "reason": f"{kind}: {reason}"}
    row: dict[str, object] = {
        "read": True,
        "read_seconds": time.perf_counter() - began,
        "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "variables": problem.num_variables - len(problem.definitions),
        "constraints": problem.num_constraints,
        "optimise": problem.objective is not None,
    }
    try:
        result = solve(problem, search=search, time_limit=seconds, seed=0)
    except AnyCSPError as error:
        return {**row, "reason": f"not searched: {error}"}
    row["violated"] = result.violated
    if result.violated == 0:
        row["objective"] = result.objective["value"] if result.objective else None
        row["seconds"] = result.best_seconds
        row["answer"] = formats.FORMATS["xcsp3"].answer(problem, result.positions)
    return row


def checked(jar: Path, path: Path, answer: list[str]) -> str:
    """What SolutionChecker says: OK, OK with the cost, or its first complaint."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(answer) + "\n")
        file.flush()
        command = ["java", "-cp", str(jar), "org.xcsp.parser.callbacks.SolutionChecker", str(path), file.name]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    verdict = [line for line in lines if not line.startswith("LOG")]
    return " ".join(verdict[-1].split()) if verdict else "no verdict"


def in_a_process(path: Path, seconds: float, search: str) -> dict[str, object]:
    """`one` in a forked child, so that the memory it reports is the file's own."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            row = one(str(path), seconds, search)
        except BaseException as error:
            row = {"read": False, "reason": f"crashed: {error!r}"}
        with os.fdopen(send, "w") as pipe:
            json.dump(row, pipe)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return dict(json.loads(text)) if text else {"read": False, "reason": "crashed"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--search", default="local")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    spec = find_spec("pycsp3")
    assert spec is not None
    assert spec.origin is not None
    jar = next((Path(spec.origin).parent / "solvers" / "ace").glob("ACE-*.jar"))
    print("| file | kind | variables | constraints | read (s) | memory (MiB) | answer | SolutionChecker |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for path in sorted(arguments.folder.rglob("*.xml")):
        row = in_a_process(path, arguments.seconds, arguments.search)
        kind = "COP" if b'type="COP"' in path.read_bytes() else "CSP"
        start = f"| {path.relative_to(arguments.folder)} | {kind} |"
        if not row["read"]:
            print(f"{start} | | | | {row['reason']} | |", flush=True)
            continue
        start += f" {row['variables']} | {row['constraints']} | {row['read_seconds']:.2f} | {row['memory']:.0f} |"
        if "answer" in row:
            value = f", objective {row['objective']}" if row["optimise"] else ""
            said = checked(jar, path, row["answer"])
            print(f"{start} solved in {row['seconds']:.2f} s{value} | {said} |", flush=True)
        else:
            print(f"{start} {row.get('reason') or str(row['violated']) + ' violated'} | |", flush=True)


if __name__ == "__main__":
    main()
