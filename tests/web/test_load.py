"""Many visitors at once, and requests that no page would make."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from repository import ROOT
from serving import PATIENCE, served, visitor

VISITORS = 20
SECONDS = float(os.environ.get("ANYCSP_LOAD_SECONDS", "15"))
"""How long they come; the full measurement takes 120."""
EXAMPLES_DRAWN = os.environ.get("ANYCSP_REQUESTS", "5")
"""Requests to each part of the interface; the full measurement draws 100."""
MOST_MEMORY = 400 << 20
"""Bytes of the server process at any time: about 100 when it starts, and what it keeps of finished jobs."""
MOST_MEMORY_OF_A_JOB = 2048 << 20
"""Bytes of one of its processes: the default of `anycsp serve --memory`."""


def children(process: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def resident(process: int) -> int:
    """Bytes; none of a process that has just ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def visit(address: str, number: int, until: float, ends: list[str], failures: list[str]) -> None:
    """Bring a problem or pick an example, search, watch; some stop, some leave while they watch."""
    rng = random.Random(number)
    with visitor(address) as client:
        while time.monotonic() < until:
            if rng.random() < 0.5:
                answer = client.post("/api/problems", content=(ROOT / "examples" / "planted3sat.cnf").read_bytes())
            else:
                answer = client.post(f"/api/examples/{rng.choice(['grid', 'sudoku', 'maxsat', 'jobshop'])}")
            if answer.status_code == 503:
                time.sleep(0.5)
                continue
            search = rng.choice(["local", "neural", "auto"])
            asked: dict[str, Any] = {"problem": answer.json()["id"], "search": search, "seconds": rng.randint(1, 2)}
            job = client.post("/api/jobs", json=asked)
            if job.status_code == 503:  # the queue is full: that is an answer too
                time.sleep(0.5)
                continue
            identity, patience = job.json()["id"], rng.choice([5, 10, 10_000])
            with client.stream("GET", f"/api/jobs/{identity}/events") as stream:
                for count, _ in enumerate(stream.iter_lines()):
                    if count > patience:
                        break
            if rng.random() < 0.5:
                client.delete(f"/api/jobs/{identity}")
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                state = client.get(f"/api/jobs/{identity}")
                if state.status_code == 404 or state.json()["state"] in ("done", "stopped", "failed"):
                    break
                time.sleep(0.2)
            if state.status_code == 200:
                ends.append(state.json()["state"])
                if state.json()["state"] not in ("done", "stopped"):
                    failures.append(state.text)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="processes are counted by /proc")
def test_many_visitors_at_once_break_nothing() -> None:
    ends: list[str] = []
    failures: list[str] = []
    with served("--jobs", "2") as address:
        (server,) = [pid for pid in children(os.getpid()) if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        until = time.monotonic() + SECONDS
        threads = [
            threading.Thread(target=visit, args=(address, number, until, ends, failures)) for number in range(VISITORS)
        ]
        for thread in threads:
            thread.start()
        most, of_server, of_job, began = 0, [resident(server)], 0, time.monotonic()
        while any(thread.is_alive() for thread in threads):
            working = children(server)
            most, of_job = max(most, len(working)), max([of_job, *map(resident, working)])
            of_server.append(resident(server))
            time.sleep(0.2)
        lasted = time.monotonic() - began
        for thread in threads:
            thread.join()
        deadline = time.monotonic() + PATIENCE
        while children(server) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert children(server) == [], "every search has ended"
        with visitor(address) as client:
            assert client.get("/api/queue").json() == {"waiting": 0, "running": 0}
        megabytes = [size >> 20 for size in (of_server[0], max(of_server), resident(server), of_job)]
        print(f"{len(ends)} jobs in {lasted:.0f} s, {ends.count('done')} done, {ends.count('stopped')} stopped")
        print("server at first {} MB, at most {} MB, at the end {} MB; a job at most {} MB".format(*megabytes))
        print(f"{most} processes at most")
    assert failures == []
    assert ends
    assert most <= 2 + 2, "two searches and two problems being read"
    assert max(of_server) < MOST_MEMORY
    assert of_job < MOST_MEMORY_OF_A_JOB


@pytest.mark.slow
def test_the_interface_keeps_to_its_description(tmp_path: Path) -> None:
    """schemathesis draws requests from the OpenAPI document and holds the answers against it."""
    pytest.importorskip("schemathesis")
    with served("--jobs", "1", "--longest", "1") as address:
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{address}openapi.json", "--max-examples", EXAMPLES_DRAWN,
            "--exclude-checks", "positive_data_acceptance",  # which bytes are a problem no schema says
            "--seed", "1", "--request-timeout", "60", "--generation-database", "none", "--no-color",
        ]  # fmt: skip
        tried = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert tried.returncode == 0, tried.stdout[-6000:] + tried.stderr[-2000:]
        with visitor(address) as client:
            assert client.get("/api/queue").status_code == 200
