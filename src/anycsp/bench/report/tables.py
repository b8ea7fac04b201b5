"""Two tables per experiment: one in the paper's shape, and one with every instance."""

from __future__ import annotations

from statistics import mean
from typing import Any

from anycsp.bench.experiment import SHARES, SOLVING, Measure
from anycsp.bench.journal import Record
from anycsp.bench.report.names import is_ours, title
from anycsp.bench.report.page import Table
from anycsp.bench.report.quoted import INSTANCE_COLUMNS, cell, paper_instances, paper_table
from anycsp.bench.report.results import COUNTS, Trial, deviation, ran, shown, solved

# ── the paper's table ────────────────────────────────────────────────────────────────────────────


def main_table(trial: Trial) -> Table:
    """A row a system, a column a group, then the rows of the paper or of another source, marked quoted."""
    groups, measures = trial.groups(), trial.experiment.measures
    rows = []
    for solver in trial.solvers():
        name = f"**{title(solver)}**" if is_ours(solver) else title(solver)
        versions = {r["version"] for r in ran(trial.of(solver))}
        if len(versions) > 1:
            name += f" ({len(versions)} versions: see below)"
        rows.append([name, "measured", *(_cell(trial, solver, group) for group in groups)])
    quoted = paper_table(trial.experiment.name)
    extra: list[str] = []
    if quoted is not None:
        columns = quoted["columns"]
        out_of = dict(zip(columns, quoted.get("of", ()), strict=False))
        extra = [column for column in columns if column not in groups]
        for system, numbers in quoted["rows"].items():
            by_column = dict(zip(columns, numbers, strict=True))
            cells = [_number(by_column.get(c), measures.get(c), out_of.get(c)) for c in [*groups, *extra]]
            rows.append([system, "quoted", *cells])
    header = ["system", "", *(f"{group} ({size(trial, group)})" for group in groups), *extra]
    rows = [row + [""] * (len(header) - len(row)) for row in rows]
    theirs = (
        f" Quoted rows are from {quoted['source']}, on its hardware and full sets: {quoted['unit']}." if quoted else ""
    )
    return Table(header, rows, conditions(trial) + theirs)


def newest_table(trial: Trial) -> Table | None:
    """MaxCut again, measured from the newest best known cuts, some of which are larger than those of 2013."""
    groups = [g for g in trial.groups() if trial.experiment.measures[g] == "deviation"]
    rows = []
    for solver in trial.solvers():
        cells = []
        for group in groups:
            gaps = [
                r["newest_best_known"] - r["objective"]
                for r in trial.of(solver, group)
                if r["status"] in COUNTS and r["newest_best_known"] is not None
            ]
            cells.append(f"{mean(gaps):.2f}" if gaps else "–")
        if any(cell != "–" for cell in cells):
            rows.append([f"**{title(solver)}**" if is_ours(solver) else title(solver), *cells])
    return Table(["from the newest best known", *groups], rows, conditions(trial)) if rows else None


def size(trial: Trial, group: str) -> str:
    """What is measured on a group, and on how many instances."""
    count, measure = len(trial.instances([group])), trial.experiment.measures[group]
    instances = f"{count} instance{'s' if count != 1 else ''}"
    if measure == "share of solvable":
        return f"solved, of the {len(trial.solvable(group))} of {instances} that any system here solves"
    what = {"solved": "solved", "share": "solved", "deviation": "mean deviation", "violated": "mean violated"}
    return f"{what[measure]}, {instances}"


def _cell(trial: Trial, solver: str, group: str) -> str:
    if not trial.of(solver):
        return "not run"
    records = trial.of(solver, group)
    if not records:
        return "–"
    reasons = {r["status"] for r in records if r["status"].startswith("not ")}
    if reasons:
        return str(min(reasons))
    tried = ran(records)
    if not tried:
        return "does not apply"
    wrong = sum(r["status"] == "wrong answer" for r in tried)
    flag = f" **{wrong} WRONG**" if wrong else ""
    score, counted, measure = trial.score(solver, group), trial.counted(solver, group), trial.experiment.measures[group]
    if measure in SOLVING:
        if score is None:  # what it ran on has no solution that anyone here knows
            return f"none solvable{flag}"
        count = f"{sum(solved(r) for r in counted)}/{len(counted)}"
        return (f"{shown(score, measure)} ({count})" if measure in SHARES else count) + flag
    if score is None:
        return ("error" if all(r["status"] == "error" for r in tried) else "no answer") + flag
    answered = sum(r["status"] in COUNTS for r in tried)
    return f"{score:.2f}" + (f" ({answered} of {len(tried)} answered)" if answered < len(tried) else "") + flag


def conditions(trial: Trial) -> str:
    """Under what a table's numbers hold."""
    done = [r for r in ran(trial.records) if "seconds" in r] or trial.records
    limits = sorted({_limit(r["limit"]) for r in done})
    seeds = sorted({r["seed"] for r in done})
    models = sorted({f"{r['solver'].removeprefix('anycsp:')} {r['version']}" for r in done if r["version"]})
    facts = [
        f"Budget {trial.budget}: {'; '.join(limits)}",
        f"seeds {', '.join(map(str, seeds))}",
        f"hardware {'; '.join(sorted({r['hardware'] for r in done}))}",
        f"{'; '.join(sorted({r['software'] for r in done}))}",
        f"commit {', '.join(sorted({r['commit'] for r in done}))}",
        f"models {', '.join(models) if models else 'none'}",
    ]
    return ". ".join(facts) + "."


def _limit(limit: dict[str, Any]) -> str:
    parts = [f"{limit['seconds']:g} s"]
    parts += [f"{limit['steps']} steps"] if limit["steps"] else []
    parts += [f"{limit['runs']} runs"] if limit["runs"] else []
    return " × ".join(parts) + f", {limit['threads']} thread{'s' if limit['threads'] != 1 else ''}"


def _number(value: float | None, measure: Measure | None = None, out_of: int | None = None) -> str:
    return "–" if value is None else shown(value, measure) + (f"/{out_of}" if out_of else "")


# ── every instance ───────────────────────────────────────────────────────────────────────────────

_MEANING: dict[Measure, str] = {
    **dict.fromkeys(SOLVING, "Seconds to a solution; “– (n)”: none, the best answer violates n."),
    "deviation": "Deviations from the best known cut of 2013.",
    "violated": "Violated weight of the best answer.",
}


def instance_table(trial: Trial) -> Table:
    """A row an instance, a column a system; where the paper prints the instance, its values follow, marked †."""
    groups = trial.groups()
    solvers = [s for s in trial.solvers() if ran(trial.of(s))]
    name = trial.experiment.name
    quoted, columns = paper_instances(name), INSTANCE_COLUMNS.get(name, {})
    rows = []
    for group, instance in trial.instances(groups):
        mine = {s: [r for r in trial.of(s, group) if r["instance"] == instance] for s in solvers}
        row = [instance, *_known(trial, instance), *(_result(trial, group, mine[s]) for s in solvers)]
        rows.append(row + [cell(column, quoted.get(instance, {})) for column in columns])
    known = {"gset": ["best 2013", "newest"], "coloring": ["χ"]}.get(name, [])
    header = ["instance", *known, *(title(s) for s in solvers), *(f"{label}†" for label in columns.values())]
    key = "† quoted from the paper. " if quoted else ""
    measures = {trial.experiment.measures[group] for group in groups}
    meanings = list(dict.fromkeys(meaning for measure, meaning in _MEANING.items() if measure in measures))
    if name == "coloring":
        meanings.append("“n col”: the colours that a constructive or colour-reducing heuristic needed.")
    return Table(header, rows, key + " ".join([*meanings, conditions(trial)]))


def _known(trial: Trial, instance: str) -> list[str]:
    if trial.experiment.name not in ("gset", "coloring"):
        return []
    any_record = next(r for r in trial.records if r["instance"] == instance)
    if trial.experiment.name == "coloring":
        return [_number(any_record["best_known"])]
    return [_number(any_record["best_known"]), _number(any_record["newest_best_known"])]


def _result(trial: Trial, group: str, records: list[Record]) -> str:
    if not records:
        return ""
    cells: list[str] = []
    for r in records:
        if r["status"] not in COUNTS:
            cells.append({"no answer": "–", "unsupported": ""}.get(r["status"], str(r["status"])))
        elif trial.experiment.measures[group] == "deviation":
            cells.append(f"{deviation(r):g}")
        elif trial.experiment.measures[group] == "violated":
            cells.append(f"{r['violated_weight']:g}")
        elif r["note"].endswith(" colours"):
            cells.append(r["note"].replace(" colours", " col"))
        elif solved(r):
            cells.append(f"{r['best_seconds']:.2f} s")
        else:
            cells.append(f"– ({r['violated_weight']:g})")
    return ", ".join(cells)
