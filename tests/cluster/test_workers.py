"""Workers of this machine: every task has one outcome, whatever becomes of its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cluster_tasks
import numpy as np
import pytest

from anycsp.cluster.board import Board, Post
from anycsp.cluster.on_processes import Processes
from anycsp.cluster.workers import DIED, ERROR, OVERDUE, Here, Task, Workers, open_workers
from anycsp.errors import AnyCSPError


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as workers:
        yield workers  # type: ignore[misc]


@pytest.mark.parametrize("where", ["here", "processes"])
def test_every_task_has_its_outcome(where: str, processes: Processes) -> None:
    workers: Workers = Here() if where == "here" else processes
    done = list(workers.map_unordered(cluster_tasks.double, (Task(str(i), (i,)) for i in range(9))))
    assert {d.task.key: d.value for d in done} == {str(i): 2 * i for i in range(9)}
    assert workers.map(cluster_tasks.double, [(3,), (1,)]) == [6, 2]
    (refused,) = workers.map_unordered(cluster_tasks.refuse, [Task("a", (7,))])
    assert (refused.failure, refused.message) == (ERROR, "7 is not wanted")
    (failed,) = workers.map_unordered(cluster_tasks.fail, [Task("a", (7,))])
    assert failed.message.startswith("internal: ZeroDivisionError")
    with pytest.raises(AnyCSPError, match="7 is not wanted"):
        workers.map(cluster_tasks.refuse, [(7,)])


@pytest.mark.parametrize(("times", "alive"), [(2, True), (9, False)])
def test_a_task_whose_process_dies_is_begun_anew_and_given_up_after_some_times(
    processes: Processes, tmp_path: Path, times: int, alive: bool
) -> None:
    marker = tmp_path / "calls"
    tasks = [Task("dies", (str(marker), times)), *(Task(str(i), (str(tmp_path / str(i)), 0)) for i in range(3))]
    done = {d.task.key: d for d in processes.map_unordered(cluster_tasks.kill, tasks)}
    assert len(done) == 4
    assert (done["dies"].value, done["dies"].failure) == (("alive", "") if alive else (None, DIED))
    assert len(marker.read_text()) == 3


def test_what_takes_too_long_is_ended(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anycsp.cluster.on_processes.LOOK_SECONDS", 0.02)
    began = time.monotonic()
    (done,) = processes.map_unordered(cluster_tasks.sleep, [Task("long", (60.0,), seconds=0.1)])
    assert done.failure == OVERDUE
    assert time.monotonic() - began < 30


def test_cores_and_memory_are_not_exceeded(tmp_path: Path) -> None:
    needs = [{"cores": 2}, {"memory": 1 << 60}, {}]
    for i, (need, at_once) in enumerate(zip(needs, (1, 1, 2), strict=True)):
        folder = tmp_path / str(i)
        folder.mkdir()
        with Processes(2) as workers:
            tasks = [Task(str(k), (str(folder), str(k)), **need) for k in range(4)]  # type: ignore[arg-type]
            found = [done.value for done in workers.map_unordered(cluster_tasks.overlap, tasks)]
        assert max(found) <= at_once


def test_tasks_meet_at_a_board(processes: Processes) -> None:
    board = processes.board()
    assert processes.map(cluster_tasks.tell, [(board, 3.0)]) == [None]
    assert processes.map(cluster_tasks.tell, [(board, 5.0)]) == [3.0]
    assert processes.map(cluster_tasks.tell, [(board, 2.0)]) == [None]
    assert processes.map(cluster_tasks.tell, [(board, 3.0)]) == [2.0]


def test_a_board_keeps_the_best_and_remembers_that_it_is_settled() -> None:
    board, nothing = Board(), np.zeros(0, dtype=np.int32)
    assert board.exchange("p", Post((2,), nothing)) is None
    assert board.exchange("q", Post((3,), nothing)) is None
    news = board.exchange("p", Post((3,), nothing, settled=True))
    assert news is not None
    assert (news.rank, news.settled) == ((2,), True)
    better = board.exchange("p", Post((1,), nothing))
    assert better is not None
    assert better.settled


def test_workers_end_with_whoever_started_them(tmp_path: Path) -> None:
    """Also where that one was killed while they worked."""
    script = tmp_path / "unguarded.py"  # no `if __name__ == "__main__"`, which a spawned process would run again
    script.write_text(
        "import sys\n"
        "from anycsp.cluster.on_processes import Processes\n"
        "from anycsp.cluster.workers import Task\n"
        "import cluster_tasks\n"
        "workers = Processes(1)\n"
        "for done in workers.map_unordered(cluster_tasks.double, [Task('a', (1,))]):\n"
        "    print(workers._processes[0]._process.pid, flush=True)\n"
        "list(workers.map_unordered(cluster_tasks.sleep, [Task('b', (300.0,))]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(cluster_tasks.__file__).parent)}
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.2)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 30
    while Path(f"/proc/{worker}/stat").exists() and " Z " not in Path(f"/proc/{worker}/stat").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_unknown_workers_are_refused() -> None:
    with pytest.raises(AnyCSPError, match="processes, ray"):
        open_workers("mars")
