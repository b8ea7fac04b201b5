"""How fast is a training step? Native operations, PyTorch and a plain transcription of the paper, side by side.

    python benchmarks/training_step.py [--rounds N] [--json FILE]

A step is the paper's: 40 search steps with gradients on a batch of fixed instances, REINFORCE, backward, clipping,
Adam. Every engine runs in a process of its own, one thread; steps of the three are interleaved, so that a busy machine
slows all of them, and measured in processor time. Memory is the process's peak above what it held with the problems
loaded. Building a batch of freshly drawn instances is timed apart, as a share of the native step.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from measured_process import MeasuredProcess, resident, settle_memory  # noqa: E402

ENGINES = ("native", "torch", "plain")
STEPS, HIDDEN, DISCOUNT, EPSILON = 40, 32, 0.75, 1e-5


@dataclass(frozen=True)
class Workload:
    title: str
    distribution: str
    aggregation: str
    instances: int
    bar: float | None
    """Plain over native, in processor time."""


WORKLOADS = {
    "maxcut": Workload("25 x MaxCut, n=100", "maxcut", "sum", 25, 2.5),
    "sat": Workload("16 x 3-SAT, n=100", "sat", "max", 16, None),
    "smoke": Workload("2 x MaxCut, n=100", "maxcut", "sum", 2, None),
}


def problems_of(workload: Workload, first: int = 0) -> list[Any]:
    from anycsp import distributions

    distribution = distributions.get(workload.distribution, n=100)
    return [distributions.draw(distribution, 0, first + i) for i in range(workload.instances)]


# ── the plain training step ──────────────────────────────────────────────────────────────────────


def plain_step(problems: Sequence[Any], policy: Any) -> Callable[[], None]:
    """Algorithm 1 on `plain_transcription.forward` under autograd, rewards and loss as Appendix A writes them."""
    import torch
    from plain_transcription import TupleGraph, forward, labels

    graph = TupleGraph.of(problems, 1)
    constraint_instance = torch.repeat_interleave(
        torch.arange(len(problems)), torch.tensor([p.num_constraints for p in problems])
    )
    variable_instance = torch.repeat_interleave(
        torch.arange(len(problems)), torch.tensor([p.num_variables for p in problems])
    )
    total = torch.bincount(constraint_instance, minlength=len(problems)).float()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-6)

    def quality(chosen: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Q(α) by instance: a constraint holds iff its chosen values are labelled 1."""
        holds = torch.zeros(graph.constraints).scatter_reduce(
            0, graph.edge_constraint, chosen[graph.edge_value] * label, "amax"
        )
        return torch.zeros(len(problems)).scatter_add_(0, constraint_instance, holds) / total

    def chosen_at(position: torch.Tensor) -> torch.Tensor:
        chosen = torch.zeros(graph.values)
        chosen[torch.arange(graph.variables) * graph.domain + position] = 1.0
        return chosen

    def step() -> None:
        h = policy.initial_state.expand(graph.values, -1)
        chosen = chosen_at(torch.randint(graph.domain, (graph.variables,)))
        label = labels(graph, chosen)
        best = quality(chosen, label)
        log_probability, rewards = [], []
        for _ in range(STEPS):
            logits, h = forward(policy, graph, h, chosen, label)
            probability = logits.view(-1, graph.domain).softmax(dim=1)
            position = torch.multinomial(probability.detach(), 1)
            log_phi = (probability.gather(1, position).squeeze(1) + EPSILON).log()
            log_probability.append(torch.zeros(len(problems)).scatter_add(0, variable_instance, log_phi))
            chosen = chosen_at(position.squeeze(1))
            label = labels(graph, chosen)
            now = quality(chosen, label)
            rewards.append((now - best).clamp(min=0))
            best = torch.maximum(best, now)
        returns, ahead = [], torch.zeros(len(problems))
        for reward in reversed(rewards):
            ahead = reward + DISCOUNT * ahead
            returns.insert(0, ahead)
        loss = -(torch.stack(returns) * torch.stack(log_probability)).sum(dim=0).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()

    return step


# ── the trainer's step ───────────────────────────────────────────────────────────────────────────


def trainer_step(problems: Sequence[Any], policy: Any, ops: Any) -> Callable[[], None]:
    """What `Trainer.update` does for the paper's configuration, on instances that stay."""
    import torch

    from anycsp.graph import compile_graph
    from anycsp.neural.tensors import TensorGraph
    from anycsp.randomness import initial_positions
    from anycsp.training.config import TrainingConfig
    from anycsp.training.reinforce import RunningScale, reinforce
    from anycsp.training.rollout import rollout
    from anycsp.training.walk import Batch, SearchState

    config = TrainingConfig(policy=policy.config, instances=len(problems), discount=DISCOUNT, epsilon=EPSILON)
    batch = Batch(TensorGraph(compile_graph(problems)))
    graph = batch.graph
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-6)
    updates = 0

    def step() -> None:
        nonlocal updates
        start = SearchState(
            torch.from_numpy(initial_positions(graph.topology.domains.sizes, updates, range(1))),
            torch.zeros(1, graph.num_values, HIDDEN),
            torch.ones(graph.instances, dtype=torch.bool),
            torch.zeros(1, graph.instances, dtype=torch.float64),
            torch.zeros(1, graph.instances, dtype=torch.float64),
            torch.zeros(1, graph.num_constraints),
        )

        def sample(logits: torch.Tensor, positions: torch.Tensor, step: int) -> torch.Tensor:
            positions: torch.Tensor = ops.draw(graph, logits, config.seed, range(1), updates * STEPS + step)
            return positions

        window, end = rollout(policy, batch, start, STEPS, sample, EPSILON, ops=ops)
        depth = torch.zeros(len(problems), dtype=torch.int64)
        loss = reinforce(config, batch, window, end.initial, depth, RunningScale())
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss.value)
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        updates += 1

    return step


def batch_seconds(workload: Workload, repetitions: int = 5) -> float:
    """Processor seconds to draw and compile a batch, and to make what only training needs of it; the median."""
    from anycsp.graph import compile_graph
    from anycsp.neural.tensors import TensorGraph

    times = []
    for i in range(repetitions):
        began = time.process_time()
        graph = TensorGraph(compile_graph(problems_of(workload, first=1000 * (i + 1))))
        _ = graph.native_edges, graph.topology.native_problem  # made on first use
        times.append(time.process_time() - began)
    return statistics.median(times)


# ── the measured process ─────────────────────────────────────────────────────────────────────────


def serve(kind: str, name: str) -> None:
    """Answers on stdout: the memory of a step, then the processor seconds of one step for every line of stdin."""
    import torch

    from anycsp import native
    from anycsp.neural.native_ops import fastest
    from anycsp.neural.policy import TORCH, PolicyNetwork
    from anycsp.neural.weights import PolicyConfig
    from anycsp.training.memory import keep_freed_memory

    torch.set_num_threads(1)
    torch.manual_seed(0)
    workload = WORKLOADS[name]
    problems = problems_of(workload)
    policy = PolicyNetwork(PolicyConfig(hidden=HIDDEN, aggregation=workload.aggregation))
    torch.randn(64, 64, requires_grad=True).softmax(dim=1).sum().backward()  # torch's own first-use allocations
    settle_memory()
    before = resident("VmRSS")
    if kind == "plain":
        step = plain_step(problems, policy)
    else:
        if kind == "native" and not native.available():
            raise SystemExit(f"the native module is {native.why_not()}")
        step = trainer_step(problems, policy, fastest() if kind == "native" else TORCH)
    keep_freed_memory()  # for all three: without it they would mostly measure page faults
    step()
    print(json.dumps({"mb": resident("VmHWM") - before}), flush=True)
    for _ in sys.stdin:
        began = time.process_time()
        step()
        print(json.dumps({"seconds": time.process_time() - began}), flush=True)


class Worker(MeasuredProcess):
    """One engine on one workload; measures seconds of a step."""

    def __init__(self, kind: str, workload: str) -> None:
        super().__init__(__file__, [kind, workload], {"OMP_NUM_THREADS": "1"})

    def step(self) -> None:
        self.measured.append(self.ask("")["seconds"])


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def measure(name: str, rounds: int = 7) -> dict[str, Any]:
    """One row: seconds of a step and megabytes by engine, the ratio, and the share of building a batch."""
    workers = {kind: Worker(kind, name) for kind in ENGINES}
    for worker in workers.values():
        worker.ready()
    for _ in range(rounds):
        for worker in workers.values():
            worker.step()
    row: dict[str, Any] = {"workload": f"train-{name}", "d": HIDDEN, "threads": 1}
    row |= {kind: worker.close() for kind, worker in workers.items()}
    row |= {f"{kind}_mb": round(worker.mb, 1) for kind, worker in workers.items()}
    row["ratio"] = row["plain"] / row["native"]
    row["build_share"] = batch_seconds(WORKLOADS[name]) / row["native"]
    return row


def print_row(name: str, row: dict[str, Any]) -> None:
    workload = WORKLOADS[name]
    seconds = " ".join(f"{row[kind]:>8.3f}" for kind in ENGINES)
    megabytes = " ".join(f"{row[kind + '_mb']:>8.0f}" for kind in ENGINES)
    verdict = ""
    if workload.bar is not None:
        met = row["ratio"] >= workload.bar and row["build_share"] < 0.1
        verdict = f"bars {workload.bar:g}, 10%: {'met' if met else 'NOT MET'}"
    print(
        f"{workload.title:<20} {seconds} {row['ratio']:>8.2f} {row['torch'] / row['native']:>8.2f} {megabytes} "
        f"{row['plain_mb'] / row['native_mb']:>8.1f} {row['build_share']:>7.1%}  {verdict}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="steps of each engine")
    parser.add_argument("--json", metavar="FILE", help="write the table as a list of objects")
    parser.add_argument("--workloads", default="maxcut,sat", help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    print(f"{'':<20} {'seconds a step':^26} {'plain :':>8} {'torch :':>8} {'peak MB':^26} {'plain :':>8} {'batch':>7}")
    header = " ".join(f"{kind:>8}" for kind in ENGINES)
    print(f"{'T=40, d=32':<20} {header} {'native':>8} {'native':>8} {header} {'native':>8} {'built':>7}", flush=True)
    rows = []
    for name in options.workloads.split(","):
        rows.append(measure(name, options.rounds))
        print_row(name, rows[-1])
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
