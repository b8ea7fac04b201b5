"""Plain words: against whom we win, tie and lose, and which runs did not count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from anycsp.bench.experiment import SHARES, SOLVING, Measure
from anycsp.bench.journal import Record
from anycsp.bench.report.names import is_neural, is_ours, title
from anycsp.bench.report.quoted import paper_table, quoted_on
from anycsp.bench.report.results import Results, Trial, shown


@dataclass(frozen=True)
class Comparison:
    """One of ours beside the others on a group of instances."""

    group: str
    ours: str
    """"the network alone" or "our best system"."""
    score: float
    rivals: str
    """The best of the others; none where nobody else ran."""
    rival_score: float | None
    lost: bool
    sentence: str
    quoted: bool = False
    """The rivals' numbers are printed elsewhere; they did not run here."""


NETWORK_ALONE, BEST_SYSTEM = "the network alone", "our best system"


def verdicts(trial: Trial) -> list[str]:
    """A sentence for every group and side: against the best of the others that ran, and against the quoted rows."""
    lines = [c.sentence for c in comparisons(trial)]
    lines += [f"{group}: none of our systems has a result." for group in trial.groups() if not _sides(trial, group)]
    if idle := not_run(trial):
        lines.append(f"Not run, so not compared with: {', '.join(idle)}.")
    return lines or ["nothing was run."]


def not_run(trial: Trial) -> list[str]:
    return [title(s) for s in trial.solvers() if not trial.of(s)]


def comparisons(trial: Trial) -> list[Comparison]:
    """Measured ones first, then those with quoted rows."""
    measured, quoted = [], []
    for group in trial.groups():
        others = _scores(trial, group, ours=False)
        for label, ours in _sides(trial, group).items():
            measured.append(_beside_measured(group, trial.experiment.measures[group], label, ours, others))
            if (beside := _beside_quoted(trial, group, label, ours)) is not None:
                quoted.append(beside)
    return measured + quoted


def _scores(trial: Trial, group: str, ours: bool) -> dict[str, float]:
    scored = {s: trial.score(s, group) for s in trial.solvers() if is_ours(s) == ours}
    return {s: score for s, score in scored.items() if score is not None}


def _sides(trial: Trial, group: str) -> dict[str, dict[str, float]]:
    """The scores of our networks alone, and those of all our systems where others than networks have run."""
    mine = _scores(trial, group, ours=True)
    neural = {s: score for s, score in mine.items() if is_neural(s)}
    sides = {NETWORK_ALONE: neural, BEST_SYSTEM: mine if len(mine) > len(neural) else {}}
    return {label: scores for label, scores in sides.items() if scores}


def _beside_measured(
    group: str, measure: Measure, label: str, ours: dict[str, float], others: dict[str, float]
) -> Comparison:
    more = measure in SOLVING
    pick = max if more else min
    mine = pick(ours.values())
    theirs = pick(others.values()) if others else None
    text = f"{group}: {label} reaches {shown(mine, measure)} ({_names(ours, mine)})"
    lost = False
    if theirs is None:
        text += "; nothing to compare with."
    elif more and mine == theirs == 0:
        text = f"{group}: neither {label} nor a system of others solves one."
    elif mine == theirs:
        text += f", a tie with the best of the others ({_names(others, theirs)})."
    elif (mine > theirs) == more:
        text += f", ahead of all others that ran; next {_names(others, theirs)} with {shown(theirs, measure)}."
    else:
        lost = True
        ahead = [s for s, score in others.items() if score != mine and (score > mine) == more]
        text = f"**We lose.** {text}; ahead of it: " + _scored({s: others[s] for s in ahead}, measure) + "."
    return Comparison(group, label, mine, "" if theirs is None else _names(others, theirs), theirs, lost, text)


def _beside_quoted(trial: Trial, group: str, label: str, ours: dict[str, float]) -> Comparison | None:
    """The best of ours beside every quoted row: on the same graphs where those are printed, else on its own set as a
    whole. Their budget is their own, whatever ours is."""
    experiment, measure = trial.experiment, trial.experiment.measures[group]
    quoted = paper_table(experiment.name)
    if quoted is None:
        return None
    pick = max if measure in SOLVING else min
    mine = pick(ours.values())
    records = trial.counted(next(s for s, score in ours.items() if score == mine), group)
    theirs, where = quoted_on(experiment.name, (r["instance"] for r in records)), "on the same graphs"
    if not theirs and group in quoted["columns"]:
        column = quoted["columns"].index(group)
        # A count of a larger set, brought to the size of ours.
        size = len(records) / quoted["of"][column] if measure == "solved" else 1.0
        theirs = {s: size * row[column] for s, row in quoted["rows"].items() if row[column] is not None}
        where = "on its own instances"
    if not theirs:
        return None
    best = pick(theirs.values())
    ahead = {s: score for s, score in theirs.items() if score != mine and pick(score, mine) == score}
    out_of = f" of {len(records)}" if measure == "solved" else ""
    text = f"{group}: {label} reaches {shown(mine, measure)}{out_of} ({_names(ours, mine)}), "
    text += f"the best quoted row {shown(best, measure)}{out_of} ({_names(theirs, best)}) {where}"
    if ahead:
        text = f"**We lose.** {text}; ahead of ours: {_scored(ahead, measure)}"
    text += f" (quoted from {quoted['source']}, with its budget)."
    return Comparison(group, label, mine, _names(theirs, best), best, bool(ahead), text, quoted=True)


def _scored(scores: dict[str, float], measure: Measure) -> str:
    return ", ".join(f"{title(s)} {shown(score, measure)}" for s, score in scores.items())


def _names(scores: dict[str, float], value: float) -> str:
    return ", ".join(title(s) for s, score in scores.items() if score == value)


def _has_solution(trial: Trial, r: Record) -> bool:
    """For certain: where shares are measured, not every instance has one."""
    return trial.experiment.measures[r["group"]] not in SHARES or r["instance"] in trial.solvable(r["group"])


def faults(results: Results) -> list[str]:
    """Wrong answers one by one; errors and ended runs counted, with an example."""
    lines = []
    counted: Counter[tuple[str, str, str]] = Counter()
    example: dict[tuple[str, str, str], str] = {}
    for trial in results.trials:
        for r in trial.records:
            where = f"{title(r['solver'])} on {r['instance']} ({trial.experiment.name}, {trial.budget})"
            if r["status"] == "wrong answer":
                lines.append(f"**Wrong answer**: {where}: {r['note']}.")
            elif r["status"] in ("error", "timeout", "late"):
                kind = (trial.experiment.name, title(r["solver"]), r["status"])
                counted[kind] += 1
                example.setdefault(kind, f"{r['instance']}: {r.get('note') or 'found after the limit'}")
            elif "claims there is no solution" in (r.get("note") or "") and _has_solution(trial, r):
                lines.append(f"**Wrong claim**: {where} says that there is no solution, but there is one.")
    for kind, count in counted.items():
        lines.append(f"{kind[1]}, {kind[0]}: {count} × {kind[2]}, e.g. {example[kind]}")
    return lines
