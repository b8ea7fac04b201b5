"""The prior of the portfolio: run each member alone on many families, learn shares from that, judge them.

python benchmarks/learn_prior.py collect --out DIR --instances 8 --seconds 0.5   # resumable: one line per run
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from prior_families import FAMILIES

from anycsp import clock
from anycsp.errors import AnyCSPError
from anycsp.model.structure import is_decision, kind_of
from anycsp.search import engines, prior
from anycsp.search.choose import choose_shares
from anycsp.search.enumeration import is_tiny
from anycsp.search.local import FOREVER, LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.portfolio import FIRST_BOUT, LocalMember
from anycsp.search.prepare import Plan, Prepared, plan_for, prepare, starts

MEMBERS = ("tree", "invariants", "ccls", "tabu", "annealing", "weighting", "walksat", "focused", "probsat")
FIRST_SLICE, SLICE_GROWTH = 0.001, 1.25
"""Seconds after which a member is first looked at, and what the next slice is longer by."""
LONGEST_SLICE = 0.05

Run = dict[str, Any]


@dataclass
class Case:
    """An instance, prepared as `solve` does."""

    prepared: Prepared
    plan: Plan
    options: SearchOptions
    start: npt.NDArray[np.int64]
    seconds: float
    """That preparing took."""


def make_case(family: str, index: int, seed: int, seconds: float) -> Case | None:
    """None where nothing is left to search."""
    problem = FAMILIES[family](index)
    began = clock.now()
    options = SearchOptions(search="local", time_limit=60.0, seed=seed, threads=1)
    plan = plan_for(problem, options)
    prepared = prepare(problem, options, plan)
    start = starts(prepared, options, plan)
    took = clock.now() - began
    if is_tiny(prepared.graph.domains.sizes) or prepared.reduced.refuted_by is not None:
        return None
    options = SearchOptions(search="local", time_limit=seconds, seed=seed, threads=1)
    return Case(prepared, plan, options, start, took)


def score_of(case: Case, positions: npt.NDArray[np.integer[Any]]) -> int:
    search = LocalSearch(case.prepared.graph, "tabu")
    search.start(positions[None, :])
    return min(found.score for found in search.improvements())


class Recorder:
    """The best score of one member over its own processor time."""

    def __init__(self, seconds: float, done: int) -> None:
        self.began, self.seconds, self.done = clock.now(), seconds, done
        self.points: list[tuple[float, int]] = []
        self._slice = FIRST_SLICE

    def note(self, score: int) -> None:
        if not self.points or score < self.points[-1][1]:
            self.points.append((round(clock.now() - self.began, 6), score))

    def slices(self) -> Iterator[float]:
        while not (self.points and self.points[-1][1] <= self.done):
            left = self.seconds - (clock.now() - self.began)
            if left <= 0:
                return
            yield min(self._slice, left)
            self._slice = min(LONGEST_SLICE, self._slice * SLICE_GROWTH)


def run_member(case: Case, name: str, seconds: float, bouts: bool) -> Run | None:
    """None where the member cannot take part."""
    graph, options = case.prepared.graph, case.options
    recorder = Recorder(seconds, int(graph.constant[0][3]))
    refuted = False
    if name == "tree":
        tree = engines._tree(case.prepared, options, -1)
        if tree is None:
            return None
        for length in recorder.slices():
            tree.advance(FOREVER, length)
            positions = tree.take_solution()
            if positions is not None:
                recorder.note(recorder.done if tree.satisfies_all else score_of(case, positions))
            if tree.over:
                refuted = tree.exhausted and positions is None and not tree.keeps_required
                break
    elif name == "invariants":
        invariants = engines._invariants(case.prepared, options, -1)
        invariants.start(case.start)
        for length in recorder.slices():
            invariants.advance(FOREVER, length)
            for found in invariants.improvements():
                recorder.note(found.score)
            if not invariants.model.decisions:
                break
    else:
        try:
            search = engines._strategy(name, case.prepared, case.plan, options, options.seed, 1, 1)
        except AnyCSPError:
            return None
        rng = np.random.default_rng([options.seed, MEMBERS.index(name)])
        member = LocalMember(search, 1.0, rng, bout=FIRST_BOUT if bouts else None)
        member.begin(case.start[:1])
        for length in recorder.slices():
            member.run(FOREVER, length)
            for improvement in search.improvements():
                recorder.note(improvement.score)
            if member.bout_over:
                member.next_bout(search.best_positions()[0])
    return {"curve": recorder.points, "done": recorder.done, "refuted": refuted}


def collect(out: Path, instances: int, seeds: int, seconds: float, only: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    journal = out / "runs.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = {(r["family"], r["index"], r["seed"]) for r in map(json.loads, lines)}
    todo = [
        (f, i, s) for s in range(seeds) for i in range(instances) for f in only or FAMILIES if (f, i, s) not in done
    ]
    for k, (family, index, seed) in enumerate(todo, 1):
        with clock.cpu_time():
            began = clock.now()
            record: Run = {"family": family, "index": index, "seed": seed, "limit": seconds}
            case = make_case(family, index, seed, seconds)
            if case is not None:
                problem, graph = case.prepared.problem, case.prepared.graph
                shares = choose_shares(problem, graph, is_decision(case.prepared.whole))
                raced = kind_of(problem) in prior.RACED
                members = [m for m in MEMBERS if m in shares or m not in ("tree", "invariants")]
                if kind_of(problem).name != "FORMULA":
                    members.remove("probsat")
                runs = {}
                for m in members:
                    runs[m] = run_member(case, m, seconds, raced)
                record |= {
                    "kind": kind_of(problem).name, "shares": dict(shares), "raced": raced, "prepare": case.seconds,
                    "decision": is_decision(case.prepared.whole), "members": runs,
                }  # fmt: skip
            spent = clock.now() - began
        with journal.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{k} of {len(todo)}: {family} {index}, seed {seed}, {spent:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("--out", type=Path, required=True)
    collecting.add_argument("--instances", type=int, default=8)
    collecting.add_argument("--seeds", type=int, default=1)
    collecting.add_argument("--seconds", type=float, default=0.5)
    collecting.add_argument("--only", nargs="*", default=[])
    arguments = vars(parser.parse_args())
    {"collect": collect}[arguments.pop("command")](**arguments)


if __name__ == "__main__":
    main()
