"""Plain words: against whom we win, tie and lose, and which runs did not count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from anycsp.bench.report.names import is_neural, is_ours, title
from anycsp.bench.report.quoted import NETWORK, paper_table, quoted_on
from anycsp.bench.report.results import Results, Trial, ran


@dataclass(frozen=True)
class Comparison:
    """One of ours beside the others on a group of instances."""

    group: str
    ours: str
    """"the network alone", "our best system", or "the paper's network" where the paper's numbers stand beside ours."""
    score: float
    rivals: str
    """The best of the others; none where nobody else ran."""
    rival_score: float | None
    lost: bool
    sentence: str


NETWORK_ALONE, BEST_SYSTEM, BESIDE_PAPER = "the network alone", "our best system", "the paper's network"


def verdicts(trial: Trial) -> list[str]:
    """A sentence for every group: our network against the best of the others, and against the paper's."""
    lines = [c.sentence for c in comparisons(trial)]
    lines += [f"{group}: none of our systems has run." for group in trial.groups() if not _scores(trial, group, True)]
    if idle := not_run(trial):
        lines.append(f"Not run, so not compared with: {', '.join(idle)}.")
    return lines or ["nothing was run."]


def not_run(trial: Trial) -> list[str]:
    return [title(s) for s in trial.solvers() if not trial.of(s)]


def comparisons(trial: Trial) -> list[Comparison]:
    """Measured ones first, then those with the paper's numbers."""
    found = []
    for group in trial.groups():
        better_is_more = trial.experiment.measures[group] == "solved"
        mine, others = _scores(trial, group, True), _scores(trial, group, False)
        neural = {s: score for s, score in mine.items() if is_neural(s)}
        if neural:
            found.append(_compared(group, NETWORK_ALONE, neural, others, better_is_more))
        if len(mine) > len(neural):
            found.append(_compared(group, BEST_SYSTEM, mine, others, better_is_more))
    return found + _beside_paper(trial)


def _scores(trial: Trial, group: str, ours: bool) -> dict[str, float]:
    scored = {s: trial.score(s, group) for s in trial.solvers() if is_ours(s) == ours}
    return {s: score for s, score in scored.items() if score is not None}


def _compared(group: str, label: str, ours: dict[str, float], others: dict[str, float], more: bool) -> Comparison:
    pick = max if more else min
    mine = pick(ours.values())
    theirs = pick(others.values()) if others else None
    text = f"{group}: {label} reaches {mine:g} ({_names(ours, mine)})"
    lost = False
    if theirs is None:
        text += "; nothing to compare with."
    elif more and mine == theirs == 0:
        text = f"{group}: neither {label} nor a system of others solves one."
    elif mine == theirs:
        text += f", a tie with the best of the others ({_names(others, theirs)})."
    elif (mine > theirs) == more:
        text += f", ahead of all others that ran; next {_names(others, theirs)} with {theirs:g}."
    else:
        lost = True
        ahead = [s for s, score in others.items() if score != mine and (score > mine) == more]
        text = f"**We lose.** {text}; ahead of it: " + ", ".join(f"{title(s)} {others[s]:g}" for s in ahead) + "."
    return Comparison(group, label, mine, "" if theirs is None else _names(others, theirs), theirs, lost, text)


def _beside_paper(trial: Trial) -> list[Comparison]:
    """Our network beside the paper's systems: on the same graphs where it prints them, else on its own set as a whole.
    Their budget is the paper's, whatever ours is."""
    quoted = paper_table(trial.experiment.name)
    if quoted is None or NETWORK not in quoted["rows"]:
        return []
    printed = {system: dict(zip(quoted["columns"], numbers, strict=True)) for system, numbers in quoted["rows"].items()}
    out_of = dict(zip(quoted["columns"], quoted.get("of", ()), strict=False))
    found = []
    for group in trial.groups():
        neural = [s for s in trial.solvers() if is_neural(s) and trial.score(s, group) is not None]
        if group not in printed[NETWORK] or not neural:
            continue
        more = trial.experiment.measures[group] == "solved"
        best = (max if more else min)(neural, key=lambda s: trial.score(s, group) or 0.0)
        records = ran(trial.of(best, group))
        ours = trial.score(best, group) or 0.0
        theirs = quoted_on(trial.experiment.name, (r["instance"] for r in records))
        where = "on the same graphs"
        if not theirs:
            # Counts of sets of different sizes are compared as shares.
            scale = len(records) / out_of[group] if more else 1.0
            theirs = {s: row[group] * scale for s, row in printed.items() if row.get(group) is not None}
            where = "on its own instances"
        ahead = {s: score for s, score in theirs.items() if (score > ours if more else score < ours)}
        size = f" of {len(records)}" if more else ""
        network = f"{theirs[NETWORK]:.4g}" + (size if where != "on the same graphs" else "")
        text = f"{group}: {ours:.4g}{size}, the paper's network {network} {where}"
        if ahead:
            text = f"**We lose.** {text}; ahead of ours: " + ", ".join(f"{s} {x:.4g}" for s, x in ahead.items())
        text += " (quoted, with the paper's budget)."
        found.append(Comparison(group, BESIDE_PAPER, ours, ", ".join(ahead), theirs[NETWORK], bool(ahead), text))
    return found


def _names(scores: dict[str, float], value: float) -> str:
    return ", ".join(title(s) for s, score in scores.items() if score == value)


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
            elif "claims there is no solution" in (r.get("note") or ""):
                lines.append(f"**Wrong claim**: {where} says that there is no solution; every instance here has one.")
    for kind, count in counted.items():
        lines.append(f"{kind[1]}, {kind[0]}: {count} × {kind[2]}, e.g. {example[kind]}")
    return lines
