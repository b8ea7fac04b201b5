"""Plain words: against whom we win, tie and lose, and which runs did not count."""

from __future__ import annotations

from collections import Counter

from anycsp.bench.report.names import is_neural, is_ours, title
from anycsp.bench.report.quoted import NETWORK, paper_table, quoted_on
from anycsp.bench.report.results import Results, Trial, ran


def verdicts(trial: Trial) -> list[str]:
    """A sentence for every group: our network against the best of the others, and against the paper's."""
    lines = []
    for group in trial.groups():
        better_is_more = trial.experiment.measures[group] == "solved"
        scores = {s: score for s in trial.solvers() if (score := trial.score(s, group)) is not None}
        mine = {s: score for s, score in scores.items() if is_ours(s)}
        others = {s: score for s, score in scores.items() if not is_ours(s)}
        pick = max if better_is_more else min
        if not mine:
            best = f"; best of the others: {_list(others, pick(others.values()))}" if others else ""
            lines.append(f"{group}: none of our systems has run{best}.")
            continue
        neural = {s: score for s, score in mine.items() if is_neural(s)}
        lines += [
            _sentence(group, label, ours, others, better_is_more)
            for label, ours in (("the network alone", neural), ("our best system", mine))
            if ours and (label != "our best system" or len(mine) > len(neural))
        ]
    lines += _beside_paper(trial)
    idle = [title(s) for s in trial.solvers() if not trial.of(s)]
    if idle:
        lines.append(f"Not run, so not compared with: {', '.join(idle)}.")
    return lines or ["nothing was run."]


def _sentence(group: str, label: str, ours: dict[str, float], others: dict[str, float], more: bool) -> str:
    pick = max if more else min
    my_best = pick(ours.values())
    text = f"{group}: {label} reaches {my_best:g} ({_names(ours, my_best)})"
    if not others:
        return text + "; nothing to compare with."
    their_best = pick(others.values())
    if more and my_best == their_best == 0:
        return f"{group}: neither {label} nor a system of others solves one."
    if my_best == their_best:
        return text + f", a tie with the best of the others ({_names(others, their_best)})."
    if (my_best > their_best) == more:
        return text + f", ahead of all others that ran; next {_list(others, their_best)}."
    ahead = [s for s, score in others.items() if score != my_best and (score > my_best) == more]
    return f"**We lose.** {text}; ahead of it: " + ", ".join(f"{title(s)} {others[s]:g}" for s in ahead) + "."


def _beside_paper(trial: Trial) -> list[str]:
    """Our network beside the paper's systems: on the same graphs where it prints them, else on its own set as a whole.
    Their budget is the paper's, whatever ours is."""
    quoted = paper_table(trial.experiment.name)
    if quoted is None or NETWORK not in quoted["rows"]:
        return []
    printed = {system: dict(zip(quoted["columns"], numbers, strict=True)) for system, numbers in quoted["rows"].items()}
    out_of = dict(zip(quoted["columns"], quoted.get("of", ()), strict=False))
    lines = []
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
        lines.append(text + " (quoted, with the paper's budget).")
    return lines


def _names(scores: dict[str, float], value: float) -> str:
    return ", ".join(title(s) for s, score in scores.items() if score == value)


def _list(scores: dict[str, float], value: float) -> str:
    return f"{_names(scores, value)} with {value:g}"


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
