"""Training in several processes: the steps of one, and a run that survives the death of a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from anycsp import native
from anycsp.neural.guidance import as_guidance
from anycsp.neural.weights import PolicyConfig
from anycsp.training import checkpoint
from anycsp.training.config import ConfigError, TrainingConfig
from anycsp.training.distributed import Ranks
from anycsp.training.pool import Pool
from anycsp.training.roster import Roster
from anycsp.training.trainer import Trainer

COURSE = TrainingConfig(
    policy=PolicyConfig(hidden=8, features="graded", inertia=True, kinds=True),
    instances=5,
    replicas=2,
    window=4,
    depth=12,
    lifetime="log-uniform",
    baseline="leave-one-out",
    normalise="depth",
    local_expectation=True,
    entropy_floor=0.2,
    entropy_weight=0.05,
    training_temperature=(1.2, 0.8),
    guidance=as_guidance([0.5, 0.9]),
    updates=20,
    learning_rate=1e-2,
    final_learning_rate=1e-3,
    weight_average=0.9,
    validation_parameters={"validation_n": 10},
    validation_instances=2,
    validation_depths=(4,),
    validate_minutes=0,
    subjects=(
        {"distribution": "sat", "parameters": {"n": [8, 12]}},
        {"distribution": "sat", "parameters": {"n": [8, 12]}, "teacher": "sat", "teacher_temperature": 0.5},
        {"distribution": "parity", "parameters": {"side": 4}, "teacher": "search", "depth": 4, "share": 2.0},
        {"distribution": "queens", "parameters": {"n": [4, 6]}, "graded": True},
    ),
)
"""All losses, instances of different sizes, kinds of constraints that a batch sorts by, and shares of 2 and 3."""


def ranks_of(pid: int) -> dict[int, int]:
    """The processes that torchrun started, by rank."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        found |= {int(entry[5:]): int(child) for entry in environment if entry.startswith(b"RANK=")}
    return found


def torchrun(config: TrainingConfig, folder: Path, *options: str) -> subprocess.Popen[str]:
    """Two processes, on the loopback interface alone."""
    path = folder.with_suffix(".toml")
    path.write_text(config.to_toml())
    here = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
    command = [*torchrun, "--nproc-per-node", "2", *options, "-m", "anycsp", "train", str(path), "--out", str(folder)]
    return subprocess.Popen(
        command, env={**os.environ, **here}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


NOISE = 1e-14
"""Below this second moment a gradient is rounding and nothing else (a softmax does not feel a shift of all its logits),
and Adam makes steps of full length out of it, in any direction."""


def assert_same_run(one: Path, other: Path) -> None:
    """To float tolerance: weights, moments, averages, and where all searches stand."""
    (expected, facts), (found, other_facts) = checkpoint.read(one), checkpoint.read(other)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        kind, _, parameter = name.partition(".")
        felt = torch.ones_like(tensor, dtype=torch.bool)
        if kind in ("policy", "averaged") and f"adam.{parameter}.exp_avg_sq" in expected:
            felt = expected[f"adam.{parameter}.exp_avg_sq"] > NOISE
        atol = 5e-5 if kind == "pool" else 1e-5  # states are what many steps of nearly equal policies have come to
        torch.testing.assert_close(
            found[name][felt], tensor[felt], rtol=1e-3, atol=atol, msg=lambda text, name=name: f"{name}: {text}"
        )
    assert other_facts["counters"]["update"] == facts["counters"]["update"]
    for subject, alike in zip(facts["subjects"], other_facts["subjects"], strict=True):
        assert alike["slots"] == subject["slots"]
        assert alike["scale_square"] == pytest.approx(subject["scale_square"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
def test_two_processes_make_the_steps_of_one(tmp_path: Path) -> None:
    process = torchrun(COURSE, tmp_path / "two")
    Trainer(COURSE, tmp_path / "one").run()
    output, errors = process.communicate(timeout=400)
    assert process.returncode == 0, errors
    assert output.count("20 updates") == 1
    assert_same_run(tmp_path / "one", tmp_path / "two")
    # A checkpoint is the same however many processes wrote it: one goes on where two stopped.
    for name in ("one", "two"):
        Trainer.resume(tmp_path / name, ["updates=24"]).run()
    assert_same_run(tmp_path / "one", tmp_path / "two")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="which process is which rank is read from /proc")
def test_a_run_goes_on_from_its_checkpoint_when_a_process_is_killed(tmp_path: Path) -> None:
    config = replace(COURSE, subjects=(), parameters={"n": 12}, updates=100, validate_minutes=0.005)
    folder = tmp_path / "killed"
    process = torchrun(config, folder, "--max-restarts", "1")
    until = time.monotonic() + 300  # a busy machine may take long to start
    events = folder / "events.jsonl"
    while not (events.exists() and events.read_text().count('"event": "validation"') >= 2):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(ranks_of(process.pid)[1], signal.SIGKILL)
    _, errors = process.communicate(timeout=400)
    assert process.returncode == 0, errors
    kinds = [json.loads(line) for line in events.read_text().splitlines()]
    first, second = (entry for entry in kinds if entry["event"] == "start")
    assert first["update"] == 0 < second["update"] < 100
    assert [entry["update"] for entry in kinds if entry["event"] == "end"] == [100]
    tensors, facts = checkpoint.read(folder)
    assert facts["counters"]["update"] == tensors["adam.initial_state.step"] == 100


def test_shares_are_parts_of_the_whole_and_differ_by_one_at_most() -> None:
    for size, count in [(1, 4), (2, 5), (3, 8), (4, 4)]:
        shares = [list(range(count))[Ranks(rank, size).share(count)] for rank in range(size)]
        assert [i for share in shares for i in share] == list(range(count))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
    with pytest.raises(ConfigError, match="instances = 2"):
        Ranks(0, 3).share(2)


def test_a_roster_knows_which_instances_come_next() -> None:
    roster = Roster(COURSE)
    share = slice(2, 5)
    foreseen, came = list(islice(roster.ahead(share), 12)), list[int]()
    while len(came) < 12:
        roster.refresh()
        came += [slot.index for slot in roster.slots[share] if slot.index not in came]
        roster.advance()
    assert foreseen == came[:12]


def test_a_share_draws_what_the_whole_batch_would() -> None:
    class Second(Ranks):
        """The second of two, told what the first one has."""

        def before(self, count: int) -> int:
            return first

    config = replace(COURSE, subjects=(), parameters={"n": [8, 12]})
    whole = Pool(config, 8)
    whole.refresh()
    first = sum(problem.num_variables for problem in whole.problems[:2])
    share = Pool(config, 8, Second(1, 2))
    share.refresh()
    assert [slot.index for slot in share.own] == [2, 3, 4]
    assert torch.equal(share.state.positions, whole.state.positions[:, first:])
    whole.close()
    share.close()
