"""The process behind a job: reads one request from standard input, reports in lines of JSON on standard output.

It alone reads what was uploaded, within limits of memory and processor time that it sets itself before it reads. It
ends when the server does: their pipe is then closed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anycsp.formats.files import Source
    from anycsp.model.problem import Problem
    from anycsp.search.result import Result

UPLOAD = "file"
"""What messages call an upload, whose path is nobody's business."""
RUN = "run"
"""The same for the folder of a training run."""
LONGEST_MESSAGE = 300
READ_CPU_SECONDS = 60
"""Processor time beyond that of the search, for starting, reading, presolve and writing."""

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    tell = _teller()
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit(request["memory"], request["seconds"] * request["threads"] + READ_CPU_SECONDS)
    from anycsp.errors import AnyCSPError

    try:
        _solve(request, tell) if request["action"] == "solve" else _inspect(request, tell)
    except (AnyCSPError, OSError) as error:
        tell({"event": "error", "message": _message(error, request)})
    except MemoryError:
        tell({"event": "error", "message": f"needs more memory than the {request['memory'] >> 20} MB of a job"})
    except RecursionError:
        tell({"event": "error", "message": "nested too deeply to be read"})


def _teller() -> Tell:
    """A function that writes a line to what was standard output. Whatever libraries print goes to standard error."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def tell(event: dict[str, Any]) -> None:
        with lock:
            lines.write(json.dumps(event) + "\n")
            lines.flush()

    return tell


def _end_with_server() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGKILL)


def _limit(memory: int, cpu_seconds: float) -> None:
    """What the system refuses beyond; where it knows no such limits the server's own watch has to do."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (memory + _mapped_bytes(), memory + _mapped_bytes()))


def _mapped_bytes() -> int:
    """What the interpreter has mapped by itself, which is not the job's."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 30


def _message(error: Exception, request: dict[str, Any]) -> str:
    text = str(error).replace(request["file"], UPLOAD)
    if request["drawn"] is not None:
        text = text.replace(request["drawn"][0], RUN)
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


def _source(request: dict[str, Any]) -> Source:
    from anycsp.formats.files import load

    return replace(load(request["file"]), path=UPLOAD)


def _inspect(request: dict[str, Any], tell: Tell) -> None:
    """What there is to know before a search. What is made here is written to the file, for those who want to have
    it."""
    from anycsp.formats import detect, parse, write

    problem = _made(request)
    if problem is not None:
        name, takes_colors = "json", False
        write(problem, request["file"], "json")
    else:
        source = _source(request)
        chosen = detect(source, request["format"])
        name, takes_colors = chosen.name, chosen.takes_colors
        problem = parse(source, format=request["format"], colors=1 if takes_colors else None)
    tell(
        {
            "event": "facts", "format": name, "name": "" if problem.name == UPLOAD else problem.name[:100],
            "variables": problem.num_variables, "constraints": problem.num_constraints, "takes_colors": takes_colors,
            "objective": None if problem.objective is None else problem.objective.kind,
            "warnings": [comment[:LONGEST_MESSAGE] for comment in problem.comments[:5]],
        }
    )  # fmt: skip


def _made(request: dict[str, Any]) -> Problem | None:
    """An example, or a problem drawn for a training run, the same every time; None where there is an upload to read."""
    if request["example"] is not None:
        from anycsp.web.gallery import EXAMPLES

        return EXAMPLES[request["example"]].build()
    if request["drawn"] is not None:
        from anycsp.web.runs import drawn

        folder, number = request["drawn"]
        return drawn(Path(folder), number)
    return None


def _solve(request: dict[str, Any], tell: Tell) -> None:
    from anycsp.formats import detect, parse
    from anycsp.formats.files import write_whole
    from anycsp.interrupts import stop_instead
    from anycsp.pictures import picture_of
    from anycsp.pictures.film import Film
    from anycsp.search import solve

    stop = threading.Event()
    stop_instead(stop)
    options = {key: request[key] for key in ("search", "model", "runs", "seed", "threads")}
    graph, problem = None, _made(request)
    if problem is None:
        source = _source(request)
        chosen = detect(source, request["format"])
        colors = request["colors"] if chosen.takes_colors else None
        if chosen.takes_colors and colors is None:
            from anycsp.formats.col import read_graph

            graph = read_graph(source)
        problem = parse(source, format=request["format"], colors=1 if graph is not None else colors)
    tell({"event": "read"})
    warnings.showwarning = lambda message, *_, **__: tell({"event": "remark", "text": str(message)})
    picture = picture_of(problem)
    asked = problem.objective
    tell(
        {
            "event": "problem", "picture": picture.describe(),
            "objective": None if asked is None or asked.kind == "colors" else asked.kind,
            "constraints": problem.num_constraints,
        }
    )  # fmt: skip
    film = Film(picture, tell)
    began = time.perf_counter()

    def run(problem: Problem, **own: Any) -> Result:
        film.begin(problem, time.perf_counter() - began)
        return solve(problem, callback=film, **own)

    if graph is not None:
        from anycsp.search.fewest_colors import fewest_colors

        def say(text: str) -> None:
            tell({"event": "remark", "text": text})

        problem, result = fewest_colors(graph, run, say, time_limit=request["seconds"], stop=stop, **options)
        film.begin(problem)
    else:
        result = run(problem, time_limit=request["seconds"], stop=stop, **options)
    folder = Path(request["folder"])
    write_whole(folder / "solution.json", json.dumps(result.to_json()) + "\n")
    write_whole(folder / "trace.jsonl", "".join(json.dumps(point._asdict()) + "\n" for point in result.trace))
    value = None if result.objective is None or result.objective["kind"] == "colors" else result.objective["value"]
    film.end(result.seconds, result.steps, result.positions, value, result.found_by)
    summary = {key: value for key, value in result.to_json().items() if key not in ("assignment", "solutions")}
    tell({"event": "end", "result": summary})


if __name__ == "__main__":
    main()
