"""The prior of the portfolio: run each member alone on many families, learn schedules from that, judge them.

    python benchmarks/learn_prior.py --out DIR                   # all of it: hours; resumable, finished runs are kept
    python benchmarks/learn_prior.py --out DIR --stages learn    # collect, learn or confirm alone

`collect` writes DIR/runs.jsonl, one line per instance. `learn` computes what many schedules would have cost on them and
writes src/anycsp/search/prior.json. `confirm` makes real searches, by the table and by the prior in turns, on instances
that nothing was learnt from. All is judged with the family left out that it is judged on. Times are processor time of
one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from prior_families import FAMILIES, group_of
from prior_simulation import cost, ladder, race

from anycsp import clock
from anycsp.errors import AnyCSPError
from anycsp.model.structure import is_decision, kind_of
from anycsp.search import engines, prior
from anycsp.search.choose import choose_schedule
from anycsp.search.enumeration import is_tiny
from anycsp.search.features import FAMILIES as KINDS
from anycsp.search.features import FEATURES, features
from anycsp.search.local import FOREVER, LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.portfolio import FIRST_BOUT, LocalMember
from anycsp.search.prepare import Plan, Prepared, plan_for, prepare, starts
from anycsp.search.prior import LearnedPrior, Schedule
from anycsp.tuning.measure import cost as cost_of_curve
from anycsp.tuning.measure import gain, search_curve, targets

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
    options = SearchOptions(search="local", time_limit=seconds, seed=seed, threads=1)  # presolve takes a part of it
    plan = plan_for(problem, options)
    prepared = prepare(problem, options, plan)
    start = starts(prepared, options, plan)
    took = clock.now() - began
    if is_tiny(prepared.graph.domains.sizes) or prepared.reduced.refuted_by is not None:
        return None
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
        if invariants is None:
            return None
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


def collect(out: Path, instances: int, seeds: int, seconds: float, only: Sequence[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    journal = out / "runs.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = {(r["family"], r["index"], r["seed"]) for r in map(json.loads, lines)}
    todo = [(f, i, s) for s in range(seeds) for i in range(instances) for f in only if (f, i, s) not in done]
    for k, (family, index, seed) in enumerate(todo, 1):
        with clock.cpu_time():
            began = clock.now()
            record: Run = {"family": family, "index": index, "seed": seed, "limit": seconds}
            case = make_case(family, index, seed, seconds)
            if case is not None:
                problem, graph = case.prepared.problem, case.prepared.graph
                with by_hand():
                    shares = choose_schedule(problem, graph, is_decision(case.prepared.whole)).shares
                raced = prior.STRUCTURED.keys() - {"tree"} <= shares.keys()
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


# ── learning ─────────────────────────────────────────────────────────────────────────────────────────

TABLE = Schedule(prior.STRUCTURED)
RACED = ("tree", "invariants", "ccls", "tabu", "annealing", "weighting", "walksat", "focused")
LEADERS = ("tree", "invariants", "ccls", "tabu", "weighting")
"""Members that lead on some family."""
LITTLE = 0.03
"""Share of a member that the table has none for, before others gain."""
LEAST = 0.004
"""Share below which a member is left out."""
FIRST_TURN = 0.005
"""Seconds, of whoever has the largest share; 0.01 gained less on families that were left out."""
GOES_BY = ("degree", "permutations", *KINDS)
"""The features that are compared. With all of them, sizes too, families that need different schedules are near, and
those that need the same are far: 1.03 times as fast on families left out, where these give 1.21."""
BANDWIDTHS, FLOORS, DOUBTS = (0.3, 0.5, 0.7, 1.0, 1.4), (0.001, 0.003, 0.01), (0.4, 0.7, 0.85, 1.0, 1.2)
TOLERATED = math.log(0.95)
"""What a family may lose."""


def only_table() -> LearnedPrior:
    """A prior that knows nothing else."""
    return LearnedPrior([TABLE], [], np.ones(0), ["any"], np.zeros((1, 0)), np.zeros((1, 1)), 1.0, 1.0, 0.0)


def by_hand() -> AbstractContextManager[Any]:
    """Within, searches go by the table alone."""
    return patch.multiple(prior, learned=only_table, LEADER_FIRST=None)


def candidates(seed: int = 2, drawn: int = 30) -> list[Schedule]:
    """The table, one or two members with more than it gives them, and random shares around it."""
    rng = np.random.default_rng(seed)
    base = {name: prior.STRUCTURED.get(name, LITTLE) for name in RACED}
    pool = [dict(prior.STRUCTURED)]
    pool += [{**base, name: base[name] + more} for name in RACED for more in (0.3, 1.0, 3.0)]
    for one, other in permutations(LEADERS, 2):
        shares = {name: 0.5 * share for name, share in base.items()}
        pool.append({**shares, one: shares[one] + 0.6, other: shares[other] + 0.3})
    pool += [{name: share * math.exp(rng.normal()) for name, share in base.items()} for _ in range(drawn)]
    return [TABLE, *(Schedule(_shares(shares), FIRST_TURN) for shares in pool)]


def _shares(raw: Mapping[str, float]) -> dict[str, float]:
    total = sum(raw.values())
    kept = {name: round(share / total, 3) for name, share in raw.items() if share / total >= LEAST}
    return dict(sorted(kept.items(), key=lambda item: -item[1]))


def is_learnt(run: Run) -> bool:
    """Whether the learned prior is asked for such a problem."""
    return bool(run["raced"] and "tree" in run["shares"])


def read_runs(out: Path) -> list[Run]:
    lines = map(json.loads, (out / "runs.jsonl").read_text().splitlines())
    return [run for run in lines if "members" in run]


def features_of(runs: Sequence[Run], out: Path) -> npt.NDArray[np.float64]:
    """[runs, features]; instances are drawn again, once."""
    path = out / "features.json"
    known: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}
    for run in runs:
        name = f"{run['family']} {run['index']}"
        if name not in known:
            case = make_case(run["family"], run["index"], 0, 1.0)
            assert case is not None
            known[name] = features(case.prepared.problem, case.prepared.graph).tolist()
            path.write_text(json.dumps(known))
    return np.array([known[f"{run['family']} {run['index']}"] for run in runs])


def gains_of(run: Run, schedules: Sequence[Schedule], table: Schedule) -> list[float]:
    """By simulation: logarithm of how many times faster than by the table."""
    points = race(run, table)
    reached = ladder(run, points)
    before = cost(run, points, reached)
    return [before - cost(run, race(run, schedule), reached) for schedule in schedules]


def learn(out: Path, to: Path) -> None:
    runs = read_runs(out)
    learnt = [run for run in runs if is_learnt(run)]
    groups = [group_of(run["family"]) for run in learnt]
    names = sorted(set(groups))
    schedules = candidates()
    gains = np.array([gains_of(run, schedules, TABLE) for run in learnt])
    seen = features_of(learnt, out)
    compared = seen[:, [FEATURES.index(name) for name in GOES_BY]]
    scale = np.maximum(compared.std(axis=0), 1e-3).round(3)
    of_group = [np.array([g == name for g in groups]) for name in names]
    model = LearnedPrior(schedules, GOES_BY, scale, groups, compared / scale, gains, 1.0, 0.01, 1.0)

    def left_out(model: LearnedPrior) -> npt.NDArray[np.float64]:
        """[families]: what the prior learnt from the others gains."""
        place = {id(s.shares): k for k, s in enumerate(model.schedules)}
        chosen = [place[id(model.schedule(x, group).shares)] for x, group in zip(seen, groups, strict=True)]
        gained = gains[np.arange(len(learnt)), chosen]
        return np.array([gained[rows].mean() for rows in of_group])

    settings = [replace(model, bandwidth=b, floor=f, doubt=d) for b, f, d in product(BANDWIDTHS, FLOORS, DOUBTS)]
    judged = np.array([left_out(one) for one in settings])
    best = _best(judged)
    model, gained = settings[best], dict(zip(names, judged[best].tolist(), strict=True))
    nested = [judged[_best(np.delete(judged, k, axis=1)), k] for k in range(len(names))]
    chosen = f"bandwidth {model.bandwidth}, floor {model.floor}, doubt {model.doubt}"
    print(f"{len(learnt)} instances of {len(names)} families; {chosen}")
    print(f"with these settings, too, chosen without the family judged: {math.exp(np.mean(nested)):.3f}, "
          f"least {math.exp(min(nested)):.2f}")  # fmt: skip
    others = [run for run in runs if not is_learnt(run)]
    for name in sorted({group_of(run["family"]) for run in others} - set(names)):
        own = [run for run in others if group_of(run["family"]) == name]
        gained[name] = float(np.mean([gains_of(r, [_leading(r["shares"])], Schedule(r["shares"]))[0] for r in own]))
    for name, value in gained.items():
        own = model.gains[[g == name for g in groups]]
        possible = f"  best schedule {math.exp(own.mean(axis=0).max()):.2f}" if len(own) else ""
        print(f"{name:18}{math.exp(value):6.2f}{possible}")
    every = np.array(list(gained.values()))
    print(f"geometric mean {math.exp(every.mean()):.3f}, of raced ones {math.exp(judged[best].mean()):.3f}; "
          f"least {math.exp(every.min()):.2f}")  # fmt: skip
    used = sorted({0, *(int(k) for x, group in zip(seen, groups, strict=True) for k in _choices(model, x, group))})
    model = replace(model, schedules=[schedules[k] for k in used], gains=model.gains[:, used])
    text = json.dumps(model.document(), indent=1)
    to.write_text(_compact(text) + "\n")


def _best(judged: npt.NDArray[np.float64]) -> int:
    """Of gains [settings, families]: the settings with the best mean, where no family loses more than is tolerated."""
    return int(np.argmax(judged.mean(axis=1) + 2 * np.minimum(0.0, judged.min(axis=1) - TOLERATED)))


def _choices(model: LearnedPrior, x: npt.NDArray[np.float64], group: str) -> list[int]:
    """The schedules that it takes with and without the problem's own family."""
    place = {id(s.shares): k for k, s in enumerate(model.schedules)}
    return [place[id(model.schedule(x, without).shares)] for without in ("", group)]


def _leading(shares: Mapping[str, float]) -> Schedule:
    """Where one strategy leads nothing is learnt, but its first turn."""
    return Schedule(shares, prior.LEADER_FIRST if len(shares) > 1 else None)


def _compact(text: str) -> str:
    """Lists and tables of numbers on one line."""
    return re.sub(r"([\[{])\s+([^][{}]*?)\s+([\]}])", lambda m: m[1] + re.sub(r"\s+", " ", m[2]) + m[3], text)


# ── confirming ───────────────────────────────────────────────────────────────────────────────────────

FRESH = 1000
"""First index of the instances that nothing was learnt from."""


def confirm(out: Path, learnt: Path, instances: int, seeds: int, seconds: float, only: Sequence[str]) -> None:
    """The table and the prior learnt without the family, in turns, on fresh instances."""
    journal = out / "confirmed.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    known = {(line["family"], line["index"]) for line in lines}
    model = LearnedPrior.of(json.loads(learnt.read_text()))
    for index, family in product(range(FRESH, FRESH + instances), only):
        if (family, index) not in known:
            line = {"family": family, "index": index, "seconds": seconds}
            line |= _compared(model, family, index, seeds, seconds)
            lines.append(line)
            with journal.open("a") as file:
                file.write(json.dumps(line) + "\n")
            faster = math.exp(np.mean(line["table"]) - np.mean(line["prior"]))
            print(f"{family} {index}: {faster:.2f}", flush=True)
    means, redrawn = [], []
    rng = np.random.default_rng(0)
    for name in sorted({group_of(line["family"]) for line in lines}):
        own = [line for line in lines if group_of(line["family"]) == name]
        before, after = (np.array([line[side] for line in own]) for side in ("table", "prior"))
        found, gained = gain(before, after), (before - after).mean(axis=1)
        means.append(math.log(found.speedup))
        redrawn.append(gained[rng.integers(len(own), size=(4000, len(own)))].mean(axis=1))
        same = sum(line["same"] for line in own)
        print(f"{name:18}{found} on {found.instances}" + (f", {same} of them by one schedule" if same else ""))
    drawn = np.array(means)
    print(f"geometric mean over {len(means)} families {math.exp(drawn.mean()):.3f}")
    spread = drawn[rng.integers(len(drawn), size=(4000, len(drawn)))].mean(axis=1)
    for what, means_of in (("other families", spread), ("other instances of these families", np.mean(redrawn, axis=0))):
        low, high = np.exp(np.percentile(means_of, [2.5, 97.5]))
        print(f"with {what}: {low:.2f}–{high:.2f}")


def _compared(model: LearnedPrior, family: str, index: int, seeds: int, seconds: float) -> dict[str, Any]:
    """Costs by the table and by the prior; targets are those of a search by the table with another seed."""
    problem, group, chosen = FAMILIES[family](index), group_of(family), list[Schedule]()

    class WithoutGroup:
        def schedule(self, seen: npt.NDArray[np.float64]) -> Schedule:
            chosen.append(model.schedule(seen, group))
            return chosen[-1]

    def searched(seed: int, table: bool) -> Any:
        with clock.cpu_time(), by_hand() if table else patch.object(prior, "learned", WithoutGroup):
            return search_curve(problem, None, seed, seconds)

    reached = targets(problem, searched(7, True), seconds)
    costs: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(11, 11 + seeds):
        for table in (True, False) if (index + seed) % 2 else (False, True):
            costs[table].append(cost_of_curve(searched(seed, table), reached, seconds))
    same = any(schedule.shares == TABLE.shares and schedule.first_turn is None for schedule in chosen)
    return {"table": costs[True], "prior": costs[False], "same": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of runs")
    parser.add_argument("--stages", nargs="+", choices=("collect", "learn", "confirm"), default=[])
    parser.add_argument("--instances", type=int, default=8, help="of each family, learnt from")
    parser.add_argument(
        "--seeds", type=int, default=1, help="searches of each member, or of each side, on each instance"
    )
    parser.add_argument("--confirmed", type=int, default=4, help="fresh instances of each family")
    parser.add_argument("--seconds", type=float, default=0.3, help="limit of a search")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--to", type=Path, default=prior.FILE, help="file of the prior")
    given = parser.parse_args()
    for stage in given.stages or ("collect", "learn", "confirm"):
        if stage == "collect":
            collect(given.out, given.instances, given.seeds, given.seconds, given.only)
        elif stage == "learn":
            learn(given.out, given.to)
        else:
            confirm(given.out, given.to, given.confirmed, given.seeds, given.seconds, given.only)


if __name__ == "__main__":
    main()
