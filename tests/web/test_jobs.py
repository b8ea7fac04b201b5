"""Jobs of the server: read and searched by processes with limits, one queue, an end to each."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient
from serving import PATIENCE, events
from test_guard import OWN

from anycsp.cli import run
from anycsp.web import jobs as watched
from anycsp.web.app import make_app
from anycsp.web.settings import MEGABYTE, Settings

HARD = "p wcnf 20 4000 4001\n" + "\n".join(
    f"1 {a * (1 + i % 20)} {b * (1 + (i // 20) % 20)} {c * (1 + (7 * i) % 20)} 0"
    for i in range(500)
    for a in (1, -1)
    for b in (1, -1)
    for c in (1, -1)
)
"""Never satisfied, and too many assignments to look at all: every sign of 500 triples of variables. None of the clauses
has to hold: such a formula would be refuted at once."""


@contextmanager
def serving(**settings: Any) -> Iterator[TestClient]:
    with TestClient(make_app(Settings(**settings)), base_url=OWN) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Iterator[TestClient]:
    with serving(largest_upload=2 * MEGABYTE, longest_search=60) as client:
        yield client


def brought(client: TestClient, data: bytes, query: str = "") -> dict[str, Any]:
    answer = client.post(f"/api/problems{query}", content=data)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def submitted(client: TestClient, problem: str, **options: Any) -> str:
    answer = client.post("/api/jobs", json={"problem": problem, **options})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(client: TestClient, job: str) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        state = dict(client.get(f"/api/jobs/{job}").json())
        if state["state"] in ("done", "stopped", "failed"):
            return state
        time.sleep(0.05)
    raise AssertionError("the job has not ended")


def test_from_an_upload_to_an_answer_that_the_checker_confirms(server: TestClient, tmp_path: Path) -> None:
    cube = (Path(__file__).parents[2] / "examples" / "cube.rud").read_bytes()
    facts = brought(server, gzip.compress(cube))
    assert (facts["format"], facts["variables"], facts["objective"]) == ("rudy", 8, "cut")
    assert facts["name"] == "", "what the server calls it is nobody's name for it"
    job = submitted(server, facts["id"], search="local", seconds=5)
    told = events(server, job)
    kinds = [event["event"] for event in told]
    assert [event["state"] for event in told if event["event"] == "state"] == ["waiting", "running", "done"]
    assert kinds.index("problem") < kinds.index("point") < kinds.index("end")
    cuts = [event["objective"] for event in told if event["event"] == "point"]
    assert cuts == sorted(cuts)
    assert cuts[-1] == 8
    (tmp_path / "cube.rud").write_bytes(cube)
    (tmp_path / "answer.json").write_bytes(server.get(f"/api/jobs/{job}/solution").content)
    assert run(["check", str(tmp_path / "cube.rud"), str(tmp_path / "answer.json")]) == 0
    trace = server.get(f"/api/jobs/{job}/trace")
    assert "trace.jsonl" in trace.headers["content-disposition"]
    assert json.loads(trace.text.splitlines()[-1])["objective"] == 8
    assert gzip.decompress(server.get(f"/api/problems/{facts['id']}/file").content) == cube


def test_an_example_is_there_as_a_file(server: TestClient) -> None:
    facts = server.post("/api/examples/sudoku").json()
    assert json.loads(server.get(f"/api/problems/{facts['id']}/file").content)["format"] == "anycsp"


def test_a_policy_is_watched_on_a_problem_such_as_it_trains_on(tmp_path: Path, model: Path) -> None:
    for name, text in {
        "plain": 'distribution = "queens"\nparameters = { n = 8 }\n',
        "hook": 'distribution = "python:os:getcwd"\n',
        "broken": "distribution = [",
        "unsaid": "",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text("update,minutes,return\n1,0.1,0.5\n")
        if text:
            (tmp_path / name / "config.toml").write_text(text)
    for suffix in (".safetensors", ".json"):
        shutil.copy(model.with_suffix(suffix), tmp_path / "plain" / f"best{suffix}")
    with serving(runs=tmp_path) as client:
        numbers = {run["name"]: run["number"] for run in client.get("/api/runs").json()}
        first, second = (client.post(f"/api/runs/{numbers['plain']}/problem").json() for _ in range(2))
        assert (first["variables"], first["format"]) == (8, "json")
        files = [client.get(f"/api/problems/{facts['id']}/file").content for facts in (first, second)]
        assert files[0] != files[1], "another one every time"
        job = submitted(client, first["id"], search="neural", model="run:plain", seconds=5)
        assert ended(client, job)["state"] == "done"
        for name, code in {"hook": 422, "broken": 422, "unsaid": 404}.items():
            refused = client.post(f"/api/runs/{numbers[name]}/problem")
            assert refused.status_code == code
            assert str(tmp_path) not in refused.json()["detail"]
        assert client.post("/api/runs/99/problem").status_code == 404


@pytest.mark.parametrize(
    ("data", "query", "words"),
    [
        (b"p cnf 2 1\n1 x 0\n", "", "file:2: "),
        (b"", "", "empty"),
        (b"\x00\x01\x02", "", "binary data"),
        (b"what is this?", "", "unknown format"),
        (gzip.compress(b"p cnf 1 1\n1 0\n")[:-6], "", "truncated"),
        (b"[" * 100_000, "?format=json", ""),
        (b"<!DOCTYPE a [<!ENTITY b 'bbbb'>]><instance>&b;</instance>", "?format=xcsp3", ""),
    ],
    ids=["letters", "empty", "binary", "unknown", "truncated", "deep", "entities"],
)
def test_what_cannot_be_read_is_refused_in_a_line(server: TestClient, data: bytes, query: str, words: str) -> None:
    answer = server.post(f"/api/problems{query}", content=data)
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert words in detail
    assert "\n" not in detail
    assert "/tmp" not in detail, "where files lie is nobody's business"


def test_an_upload_that_is_too_large_is_refused(server: TestClient) -> None:
    answer = server.post("/api/problems", content=b"c" * (2 * MEGABYTE + 1))
    assert (answer.status_code, answer.json()["detail"]) == (413, "larger than the 2 MB that may be uploaded")

    def parts() -> Iterator[bytes]:
        for _ in range(40):
            yield b"c" * (MEGABYTE // 10)

    assert server.post("/api/problems", content=parts()).status_code == 413, "without a length in its header"


@pytest.mark.parametrize(
    "wrong",
    [
        {"search": "../../bin/sh"},
        {"model": "/etc/passwd"},
        {"model": "../model"},
        {"runs": 0},
        {"runs": 10**6},
        {"seconds": 61},
        {"seconds": -1},
        {"seed": -1},
        {"colors": 0},
        {"file": "/etc/passwd"},
        {"problem": "../../../../etc/passwd"},
    ],
    ids=str,
)
def test_nothing_beyond_the_fixed_lists_reaches_a_search(server: TestClient, wrong: dict[str, Any]) -> None:
    answer = server.post("/api/jobs", json={"problem": "A" * 16, **wrong})
    assert answer.status_code == 422
    assert "\n" not in answer.json()["detail"]


def test_unknown_names_are_not_found(server: TestClient) -> None:
    unknown = "A" * 16
    assert server.post("/api/jobs", json={"problem": unknown}).status_code == 404
    for path in ("", "/events", "/solution", "/trace"):
        assert server.get(f"/api/jobs/{unknown}{path}").status_code == 404
    assert server.delete(f"/api/jobs/{unknown}").status_code == 404
    assert server.get(f"/api/problems/{unknown}/file").status_code == 404


def test_a_stopped_search_frees_its_core_and_has_an_answer(server: TestClient) -> None:
    facts = brought(server, HARD.encode())
    job = submitted(server, facts["id"], search="local", seconds=60)
    waiting = submitted(server, facts["id"], search="local", seconds=1)
    app: Any = server.app
    process = None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        own = app.state.server.queue.jobs[job]
        process = process or own.process
        if any(b'"event": "frame"' in line for line in list(own.events)):
            break
        time.sleep(0.05)
    assert process is not None
    assert server.get(f"/api/jobs/{job}/solution").status_code == 409
    server.delete(f"/api/jobs/{job}")
    assert ended(server, job)["state"] == "stopped"
    assert not os.path.exists(f"/proc/{process.pid}")
    answer = server.get(f"/api/jobs/{job}/solution").json()
    assert answer["status"] == "interrupted"
    assert len(answer["assignment"]) == 20
    assert ended(server, waiting)["state"] == "done", "the next one has its turn"


def test_a_job_that_waits_can_be_taken_out_and_the_queue_ends_somewhere() -> None:
    with serving(longest_queue=2) as client:
        facts = brought(client, HARD.encode())
        first = submitted(client, facts["id"], search="local", seconds=60)
        while client.get(f"/api/jobs/{first}").json()["state"] == "waiting":
            time.sleep(0.05)
        second, third = (submitted(client, facts["id"], search="local", seconds=60) for _ in range(2))
        refused = client.post("/api/jobs", json={"problem": facts["id"]})
        assert (refused.status_code, "queue is full" in refused.text) == (503, True)
        assert client.get("/api/queue").json() == {"waiting": 2, "running": 1}
        assert client.delete(f"/api/jobs/{second}").json()["state"] == "stopped"
        assert client.get("/api/queue").json() == {"waiting": 1, "running": 1}
        queue = client.app.state.server.queue  # type: ignore[attr-defined]
        process = queue.jobs[first].process
    assert queue.jobs[third].state == "stopped"
    until = time.monotonic() + PATIENCE
    while process.returncode is None and os.path.exists(f"/proc/{process.pid}/exe") and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{process.pid}/exe"), "the server takes its searches along"


EATS = """
import time
from anycsp.web import worker

def solve(request, tell):
    tell({"event": "read"})
    taken = bytearray(b"x") * (1 << 30)
    time.sleep(100)

worker._solve = solve
"""
"""A search that takes a GiB without having asked whether there is so much."""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits of memory are kept on Linux only")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        (None, "about 23.6 GiB of memory for 64 runs"),
        (EATS + "worker.main()", "needs more memory than the 200 MB of a job"),
        (EATS + "worker._limit = lambda *_: None; worker.main()", "ended: more than the 200 MB of memory"),
    ],
    ids=["refused by the estimate", "refused by the system", "seen by the server"],
)
def test_a_job_that_eats_memory_is_ended_with_a_message_and_the_server_lives(
    program: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = "\n".join(f"e {i} {i % 1500 + 1}" for i in range(1, 1500))
    with serving(memory=200 * MEGABYTE, read_seconds=PATIENCE) as client:
        facts = brought(client, f"p edge 1500 1499\n{edges}\n".encode())
        with monkeypatch.context() as eating:
            if program is not None:
                eating.setattr("anycsp.web.jobs.WORKER", ("-c", program))
            state = ended(client, submitted(client, facts["id"], search="neural", runs=64, colors=400, seconds=100))
        assert state["state"] == "failed"
        assert words in state["message"]
        small = brought(client, b"p cnf 1 1\n1 0\n")
        assert ended(client, submitted(client, small["id"], search="local"))["state"] == "done"


@pytest.mark.parametrize(
    "program",
    [
        """print('{"event": "poi', end='')""",  # killed in the middle of a line
        "print('no JSON')",
        "print('x' * (5 << 20))",
        "import os; os.abort()",
        "raise SystemExit(3)",
    ],
    ids=["torn", "garbage", "endless", "abort", "exit"],
)
def test_a_worker_that_breaks_fails_its_own_job_only(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as client:
        facts = brought(client, b"p cnf 1 1\n1 0\n")
        with monkeypatch.context() as broken:
            broken.setattr("anycsp.web.jobs.WORKER", ("-c", program))
            state = ended(client, submitted(client, facts["id"]))
        assert state["state"] == "failed"
        assert state["message"]
        assert ended(client, submitted(client, facts["id"], search="local"))["state"] == "done"


def test_a_file_that_takes_too_long_to_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "WATCH_SECONDS", 0.0)  # a look before the worker has even started
    with serving(read_seconds=0.0) as client:
        answer = client.post("/api/problems", content=HARD.encode())
        assert answer.status_code == 422
        assert "not read in 0 seconds" in answer.json()["detail"]


def test_old_jobs_and_problems_are_forgotten() -> None:
    with serving(kept_jobs=1, kept_problems=2) as client:
        facts = [brought(client, b"p cnf 1 1\n1 0\n") for _ in range(3)]
        assert client.get(f"/api/problems/{facts[0]['id']}/file").status_code == 404
        jobs = []
        for _ in range(2):
            jobs.append(submitted(client, facts[2]["id"], search="local", seconds=1))
            ended(client, jobs[-1])
        time.sleep(0.2)
        assert client.get(f"/api/jobs/{jobs[0]}").status_code == 404
        assert client.get(f"/api/jobs/{jobs[1]}/solution").status_code == 200


def test_colours_are_the_fewest_unless_they_are_said(server: TestClient) -> None:
    petersen = (Path(__file__).parents[2] / "examples" / "petersen.col").read_bytes()
    facts = brought(server, petersen)
    assert facts["takes_colors"]
    told = events(server, submitted(server, facts["id"], search="local", seconds=10))
    result = next(event["result"] for event in told if event["event"] == "end")
    assert (result["status"], result["objective"]["value"]) == ("satisfied", 3)
    assert any(event["event"] == "remark" for event in told)
