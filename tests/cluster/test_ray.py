"""A real Ray cluster of two nodes on the loopback interface: a worker dies, then a node, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from anycsp import Problem, solve, solve_many
from anycsp.bench.experiments import experiment
from anycsp.bench.runner import run
from anycsp.cli.tune import tune
from anycsp.cluster.workers import ERROR, Task, open_workers
from anycsp.errors import AnyCSPError

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # before it is imported
ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
FILES, STEPS = 8, 600_000
"""Searches of about a second each: long enough to be killed in the middle."""


class Cluster:
    """Two nodes of one core each; the second can be killed."""

    def __init__(self) -> None:
        try:
            self._start()
        except Exception:  # Ray gives a node 30 s to start, which cannot be set: too few on a busy machine
            self.close()
            self._start()
        self.address: str = self._cluster.address

    def _start(self) -> None:
        from ray.cluster_utils import Cluster

        here = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}
        self._cluster = Cluster()
        self._cluster.add_node(**here, include_dashboard=False)
        self._second: Any = self._cluster.add_node(**here)

    def workers_of_second(self) -> list[int]:
        """Processes of the second node that are at a task."""
        raylet = self._second.all_processes["raylet"][0].process.pid
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
        return [int(pid) for pid in children if b"ray::_call" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def kill_second(self) -> None:
        self._cluster.remove_node(self._second, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    two = Cluster()
    yield two
    ray.shutdown()
    two.close()


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Formulas with too many clauses to be satisfied, so that a search ends with its steps."""
    folder, rng = tmp_path_factory.mktemp("formulas"), np.random.default_rng(0)
    for i in range(FILES):
        clauses = [rng.choice(200, 3, replace=False) + 1 for _ in range(1400)]
        signs = rng.choice([-1, 1], size=(1400, 3))
        lines = [" ".join(map(str, clause * sign)) + " 0" for clause, sign in zip(clauses, signs, strict=True)]
        (folder / f"f{i}.cnf").write_text("\n".join([f"p cnf 200 {len(lines)}", *lines]) + "\n")
    return [str(path) for path in sorted(folder.iterdir())]


def answers(folder: Path) -> dict[str, dict[str, Any]]:
    return {p.name: json.loads(p.read_text()) for p in folder.glob("f*.json")}


def wait_for(count: int, folder: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 300  # a busy machine may take long
    while len(answers(folder)) < count:
        assert time.monotonic() < until
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.02)


def test_nothing_is_lost_and_nothing_comes_twice(cluster: Cluster, formulas: list[str], tmp_path: Path) -> None:
    limits = ["--search", "local", "--steps", str(STEPS), "--no-presolve", "--seed", "3"]
    out = tmp_path / "ray"
    command = [sys.executable, "-m", "anycsp", "solve", *formulas, *limits, "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--on", f"ray:{cluster.address}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(1, out, process)
    until = time.monotonic() + 60
    while not (working := cluster.workers_of_second()):
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(working[0], signal.SIGKILL)
    wait_for(3, out, process)
    cluster.kill_second()
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    told = [line.partition(":")[0] for line in printed.splitlines() if line.startswith("f")]  # Ray says things too
    assert sorted(told) == [f"f{i}.cnf" for i in range(FILES)]
    summary = [json.loads(line)["file"] for line in (out / "summary.jsonl").read_text().splitlines()]
    assert sorted(summary) == [f"f{i}.cnf" for i in range(FILES)]

    # The same here, with the same answers; one that is there is not searched again.
    again = tmp_path / "processes"
    subprocess.run([*command[:-1], str(again)], check=True, capture_output=True)
    for name, answer in answers(again).items():
        found = answers(out)[name]
        for key in ("assignment", "violated", "status", "steps", "seed", "found_by"):
            assert found[key] == answer[key], (name, key)


def test_many_problems_and_their_groups(cluster: Cluster) -> None:
    problems = []
    for k in (3, 4):
        problem = Problem()
        x = problem.add_variables(8, 0, k)
        for i in range(8):
            problem.add(x[i] != x[(i + 1) % 8])
        problems.append(problem)
    on = f"ray:{cluster.address}"
    there = solve_many(problems, on=on, steps=500, seed=2)
    assert [r.assignment for r in there] == [solve(p, steps=500, seed=2, threads=1).assignment for p in problems]
    (hard,) = solve_many(problems[:1], on=on, groups=2, time_limit=20.0)
    assert hard.satisfied
    assert hard.seconds < 15


def test_errors_come_back(cluster: Cluster) -> None:
    with open_workers(f"ray:{cluster.address}") as workers:
        (done,) = workers.map_unordered(json.loads, [Task("a", ("no json",))])
        assert (done.failure, done.message.partition(":")[0]) == (ERROR, "internal")
        huge = Task("b", ("[1]",), cores=64, memory=1 << 50)  # more than there is: it runs alone
        assert [d.value for d in workers.map_unordered(json.loads, [huge])] == [[1]]


def test_tuning_and_benchmarks_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    on, out = f"ray:{cluster.address}", tmp_path / "settings.toml"
    small = ["--set", "n=30", "--seconds", "0.02", "--instances", "2", "--judges", "2", "--seeds", "1"]
    result = CliRunner().invoke(tune, ["sat", *small, "--minutes", "0.005", "--on", on, "--out", str(out), "--quiet"])
    assert result.exit_code == 0, result.output
    assert "use it by" in result.output
    folder = tmp_path / "col"
    folder.mkdir()
    (folder / "triangle.col").write_text("p edge 3 3\ne 1 2\ne 2 3\ne 1 3\n")
    (folder / "chromatic.csv").write_text("graph,vertices,edges,chi,split\ntriangle,3,3,3,<10\n")
    records = run([experiment("coloring")], tmp_path, tmp_path / "runs", "quick", solvers=["dsatur"], on=on)
    assert [record["status"] for record in records] == ["ok"]


def test_a_cluster_that_is_not_there_is_one_line() -> None:
    with pytest.raises(AnyCSPError, match="no Ray cluster"):
        open_workers("ray:127.0.0.1:1")
