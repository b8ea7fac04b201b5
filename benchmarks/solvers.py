"""Solvers as commands: each run is a process pinned to one core, and its answer is confirmed by somebody else.

Ours are called as a user calls them (`anycsp solve --json`), ACE and CP-SAT as they enter the XCSP3 competition,
toulbar2 on cost function networks. SolutionChecker, from the ACE jar that pycsp3 carries, confirms answers to XCSP3
files; `anycsp check`, which shares nothing with the search, those to cost function networks.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OURS = ("local", "auto", "exact", "neural", "hybrid")
HERE = Path(__file__).resolve().parent
CODES = (0, 10, 20, 30, 40, 128 + signal.SIGTERM)
"""Exit codes of a solver that came to an end; the last is Java's when told to stop."""


@dataclass(frozen=True)
class Instance:
    name: str
    path: Path
    kind: str
    """csp, cop or wcsp."""
    sense: int = 0
    """1 where less is better, -1 where more is, 0 without an objective."""


@dataclass(frozen=True)
class Budget:
    seconds: float
    seed: int
    core: int
    megabytes: int
    anycsp: str
    """The command that our own searches are called by."""


@dataclass(frozen=True)
class Answer:
    """What a solver says."""

    claim: str
    """solution, optimum, unsatisfiable or none."""
    text: str = ""
    """The assignment, in the form its checker reads."""
    objective: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    name: str
    kinds: tuple[str, ...]
    command: Callable[[Instance, Budget], list[str]]
    parse: Callable[[str, Instance], Answer]
    absent: Callable[[], str | None] = lambda: None
    """Why it cannot run here."""
    told_to_stop: bool = False
    """Ended from outside when the time is over, as the competition does it; it then prints its best answer."""


@dataclass(frozen=True)
class Run:
    output: str
    errors: str
    code: int
    wall: float
    cpu: float
    megabytes: float


def run_system(system: System, instance: Instance, budget: Budget) -> dict[str, Any]:
    """Run, read and confirm: everything about it that the journal keeps."""
    done = measured(system.command(instance, budget), budget, system.told_to_stop)
    record: dict[str, Any] = {
        "wall": round(done.wall, 3),
        "cpu": round(done.cpu, 3),
        "megabytes": round(done.megabytes),
        "code": done.code,
    }
    try:
        answer = system.parse(done.output, instance)
    except (ValueError, KeyError, TypeError) as error:
        answer = Answer("none", facts={"note": f"unreadable output: {error!r}"})
    record |= {"claim": answer.claim, **answer.facts}
    if answer.objective is not None:
        record["objective"] = answer.objective
    if answer.claim in ("solution", "optimum"):
        record |= confirmed(instance, answer, budget)
    elif answer.claim == "none" and done.code not in CODES and "note" not in record:
        record["note"] = _last_line(done.errors) or _last_line(done.output) or f"exit code {done.code}"
    return record


def measured(command: list[str], budget: Budget, told_to_stop: bool = False) -> Run:
    """One process, from its start to its end. What does not stop is killed long after its time."""
    wrapper = ["taskset", "-c", str(budget.core), "prlimit", f"--data={budget.megabytes << 20}"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*wrapper, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
        )
        timers = [threading.Timer(1.5 * budget.seconds + 5.0, _signal, (process.pid, signal.SIGKILL))]
        if told_to_stop:
            timers.append(threading.Timer(budget.seconds - (time.perf_counter() - began), process.terminate))
        for timer in timers:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        for timer in timers:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has reaped it: Popen must not try again
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    cpu = usage.ru_utime + usage.ru_stime
    return Run(texts[0], texts[1], process.returncode, wall, cpu, usage.ru_maxrss / 1024)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _last_line(text: str) -> str:
    """The last that says something; Java ends with where it was instead."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return lines[-1][:300] if lines else ""


# ── the systems ──────────────────────────────────────────────────────────────────────────────────


def _ours(search: str) -> System:
    def command(instance: Instance, budget: Budget) -> list[str]:
        limits = ["--time-limit", f"{budget.seconds:g}", "--threads", "1", "--seed", str(budget.seed)]
        return [*shlex.split(budget.anycsp), "solve", str(instance.path), "--search", search, *limits, "--json"]

    return System(search, ("csp", "cop", "wcsp"), command, _from_json)


def _from_json(output: str, instance: Instance) -> Answer:
    """The object of `anycsp solve --json`."""
    if not output.strip():
        return Answer("none")
    said = json.loads(output)
    facts = {key: said[key] for key in ("found_by", "best_seconds", "steps", "violated") if said.get(key) is not None}
    if said["status"] == "unsatisfiable":
        return Answer("unsatisfiable", facts=facts)
    if said["hard_violated"] or (instance.kind != "wcsp" and said["violated"]):
        return Answer("none", facts=facts)
    claim = "optimum" if said["status"] == "optimal" else "solution"
    value = said["objective"]["value"] if said.get("objective") else None
    if instance.kind == "wcsp":
        return Answer(claim, json.dumps({"assignment": said["assignment"]}), value, facts)
    names, values = " ".join(said["assignment"]), " ".join(str(v) for v in said["assignment"].values())
    text = f"<instantiation> <list> {names} </list> <values> {values} </values> </instantiation>"
    return Answer(claim, text, value, facts)


def _from_lines(output: str, instance: Instance) -> Answer:
    """The `s`, `o` and `v` lines of the XCSP3 competition."""
    lines = output.splitlines()
    statuses = [line[2:].strip() for line in lines if line.startswith("s ")]
    text = "\n".join(line[2:] for line in lines if line.startswith("v "))
    status = statuses[-1] if statuses else "UNKNOWN"
    if status == "UNSATISFIABLE":
        return Answer("unsatisfiable")
    if status == "UNSUPPORTED":
        return Answer("none", facts={"note": "unsupported"})
    if status not in ("SATISFIABLE", "OPTIMUM FOUND") or "</instantiation>" not in text:
        said = _last_line("\n".join(line[2:] for line in lines if line.startswith("c ")))
        return Answer("none", facts={"note": said} if said else {})
    cost = re.search(r"cost=['\"](-?\d+)['\"]", text)
    return Answer("optimum" if status == "OPTIMUM FOUND" else "solution", text, int(cost[1]) if cost else None)


def _java(budget: Budget) -> list[str]:
    # Serial collector and one processor: a JVM otherwise helps itself to all cores.
    return ["java", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", f"-Xmx{budget.megabytes * 3 // 4}m"]


def _ace(instance: Instance, budget: Budget) -> list[str]:
    options = [f"-t={math.ceil(budget.seconds)}s", f"-seed={budget.seed}", "-xc=false", "-npc"]
    return [*_java(budget), "-jar", str(jar()), str(instance.path), *options]


def _cp_sat(instance: Instance, budget: Budget) -> list[str]:
    options = ["--solver", "ortools", "-l", str(math.ceil(budget.seconds)), "-c", "1", "-s", str(budget.seed)]
    return [sys.executable, "-m", "cpmpy.tools.xcsp3.xcsp3_cpmpy", str(instance.path), *options]


def _toulbar2(instance: Instance, budget: Budget) -> list[str]:
    program = str(HERE / "toulbar2_file.py")
    return [sys.executable, program, str(instance.path), str(math.ceil(budget.seconds)), str(budget.seed)]


def _missing(*modules: str) -> Callable[[], str | None]:
    def absent() -> str | None:
        lacking = [module for module in modules if find_spec(module) is None]
        return f"not installed: {', '.join(lacking)}" if lacking else None

    return absent


def _no_java() -> str | None:
    if shutil.which("java") is None:
        return "not installed: java"
    return None if jar() else "not installed: the ACE jar of pycsp3"


def jar() -> Path | None:
    """pycsp3's own folder, found without importing it: it parses the command line when imported."""
    spec = find_spec("pycsp3")
    if spec is None or spec.origin is None:
        return None
    return max((Path(spec.origin).parent / "solvers" / "ace").glob("ACE*.jar"), default=None)


SYSTEMS = {
    **{search: _ours(search) for search in OURS},
    "ace": System("ace", ("csp", "cop"), _ace, _from_lines, _no_java, told_to_stop=True),
    # CPMpy translates the model and gives it to CP-SAT: its own entry in the competition.
    "cp-sat": System("cp-sat", ("csp", "cop"), _cp_sat, _from_lines, _missing("cpmpy", "ortools", "pycsp3", "psutil")),
    "toulbar2": System("toulbar2", ("wcsp",), _toulbar2, _from_json, _missing("pytoulbar2")),
}


# ── confirming answers ───────────────────────────────────────────────────────────────────────────

CHECK_SECONDS = 300.0


def confirmed(instance: Instance, answer: Answer, budget: Budget) -> dict[str, Any]:
    """`verdict` (valid, "invalid: …" or "unconfirmed: …"), the `cost` counted anew, and who counted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer"
        file.write_text(answer.text + "\n")
        try:
            if instance.kind == "wcsp":
                return _recount(instance, answer, file, budget)
            return _solution_checker(instance, answer, file, budget)
        except subprocess.TimeoutExpired:
            return {"verdict": "unconfirmed: the checker ran out of time"}


def _solution_checker(instance: Instance, answer: Answer, file: Path, budget: Budget) -> dict[str, Any]:
    if _no_java():
        return {"verdict": "unconfirmed: no Java for SolutionChecker"}
    program = ["-cp", str(jar()), "org.xcsp.parser.callbacks.SolutionChecker"]
    lines = _said([*_java(budget), "-XX:TieredStopAtLevel=1", *program, str(instance.path), str(file)], budget)
    verdict = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith("LOG")]
    for line in verdict:
        if line.startswith("OK"):
            cost = re.search(r"-?\d+", line)
            return _judged(answer, float(cost[0]) if cost else None)
        if line.startswith("INVALID") or "Wrong value" in line or "not given a value" in line:
            return {"verdict": f"invalid: {' '.join(verdict)[:300]}"}
    return {"verdict": f"unconfirmed: {' '.join(verdict)[:300]}"}


def _recount(instance: Instance, answer: Answer, file: Path, budget: Budget) -> dict[str, Any]:
    command = [*shlex.split(budget.anycsp), "check", str(instance.path), str(file), "--json"]
    lines = _said(command, budget)
    if not lines or not lines[0].startswith("{"):
        return {"verdict": f"unconfirmed: {' '.join(lines)[:300]}"}
    counted = json.loads(lines[0])
    if counted["hard_violated"]:
        return {"verdict": f"invalid: {counted['first_violated']}"}
    return _judged(answer, counted["objective"])


def _judged(answer: Answer, cost: float | None) -> dict[str, Any]:
    """A valid assignment, and whether the claimed objective is its own."""
    if cost is not None and answer.objective is not None and not math.isclose(cost, answer.objective, abs_tol=1e-6):
        return {"verdict": f"invalid: claims {answer.objective:g}, is {cost:g}", "cost": cost}
    return {"verdict": "valid", "cost": cost}


def _said(command: list[str], budget: Budget) -> list[str]:
    pinned = ["taskset", "-c", str(budget.core), *command]
    done = subprocess.run(pinned, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False)
    return (done.stdout + done.stderr).splitlines()
