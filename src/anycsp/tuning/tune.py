"""The loop of `anycsp tune`: Optuna proposes settings, a race disposes of them, held-out instances have the last word.

Optuna's tree-structured Parzen estimator needs a fifth of a second to start and no compiled forest; SMAC3 needs two
seconds and 33 packages (research/learning.md). It is asked and told; what it never sees is that one proposal cost a
hundred searches and another two.
"""

from __future__ import annotations

import json
import os
import shlex
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anycsp.cluster.workers import Here, Workers
from anycsp.errors import AnyCSPError, FormatError
from anycsp.graph import compile_graph
from anycsp.model.structure import is_decision
from anycsp.schema import TABLE, Schema, check, number, parse_json, whole
from anycsp.search.choose import choose_schedule
from anycsp.search.heuristic import Heuristic, heuristic_of, save_heuristic
from anycsp.search.parameters import PARAMETERS
from anycsp.tuning.instances import Family, Laboratory
from anycsp.tuning.measure import Gain, gain
from anycsp.tuning.race import Entry, Race, ordered_pairs
from anycsp.tuning.space import first_points, heuristic_from

if TYPE_CHECKING:
    import optuna

AT_LEAST = 16
"""Searches that decide between two settings, at first."""
SILENCE = 5.0
"""Seconds of wall-clock time without a word, at most, but for what one setting takes."""
JUDGING = 0.25
"""The share of the time that is kept for the held-out instances."""
LINE: Schema = {"point": TABLE, "value": number(-1e9, 1e9), "champion": whole(0, 1), "document": TABLE}


@dataclass(frozen=True)
class Tuned:
    """What tuning came to."""

    heuristic: Heuristic
    """The best settings found; those of the default where nothing was better."""
    gain: Gain
    """What the settings gained on held-out instances."""
    tried: int


Report = Callable[[str], None]


class Tuner:
    """Settings for a family; `journal` keeps what was tried, so that tuning can go on another day."""

    def __init__(
        self,
        family: Family,
        *,
        limit: float,
        seeds: int = 3,
        judges: int = 20,
        seed: int = 0,
        workers: Workers | None = None,
        journal: Path | None = None,
        report: Report = lambda line: None,
    ) -> None:
        self._family, self._limit, self._seeds, self._seed = family, limit, seeds, seed
        self._judges, self._workers, self._journal, self._report = judges, workers or Here(), journal, report
        self._study = _study(seed)
        self._plain = _default_strategies(family)
        self._tried = 0
        self._minutes = 0.0
        self._proposing = 0.0
        """Seconds that proposals took: after some hundred of them as long as searches of milliseconds."""

    def run(self, minutes: float, command: Sequence[str] = ()) -> Tuned:
        """Tune for so many minutes of every core's processor time, a part of them for judging."""
        found = self.search(minutes * (1 - JUDGING))
        tuned = self._judge(found)
        return replace(tuned, heuristic=replace(tuned.heuristic, provenance=self._provenance(tuned, command)))

    def search(self, minutes: float) -> Heuristic | None:
        """The best settings that were found; None where that is the default."""
        laboratory = Laboratory(self._family, self._limit, self._workers)
        self._report(f"the default search sets targets on {laboratory.size} instances")
        laboratory.make_ladders()
        pairs = ordered_pairs(laboratory.size, self._seeds, self._seed)
        race = Race(laboratory.measure, pairs, Entry(None), AT_LEAST)
        offset = self._resume(race)
        race.prepare()
        first = "default" if race.champion.heuristic is None else "best so far"
        self._report(f"{first}: {np.exp(race.champion.mean):.3g} s to a target, {laboratory.size} instances")
        offset = self._try(race, offset)
        reported = time.perf_counter()
        while (spent := laboratory.minutes + self._proposing / 60) < minutes:
            if time.perf_counter() - reported > SILENCE:
                reported = time.perf_counter()
                self._report(f"{self._tried} tried in {spent:.1f} of {minutes:.1f} minutes")
            offset = self._try(race, offset)
        self._minutes += spent
        return race.champion.heuristic

    def _try(self, race: Race, offset: float) -> float:
        """One proposal. `offset` is the champion's mean cost relative to the default's; returns the new one."""
        began = time.process_time()
        trial = self._study.ask()
        heuristic = heuristic_from(trial, self._plain)
        self._proposing += time.process_time() - began
        difference, won = race.challenge(heuristic)
        value = offset + difference
        self._study.tell(trial, value)
        self._tried += 1
        if won:
            self._report(f"{self._tried} tried: {np.exp(-value):.2f}× by {_described(heuristic)}")
        if self._journal is not None:
            line = {"point": trial.params, "value": value, "champion": int(won), "document": heuristic.document()}
            _append(self._journal, json.dumps(line) + "\n")
        return value if won else offset

    def _resume(self, race: Race) -> float:
        """Tell the study what an earlier run tried, and begin with its champion."""
        lines = _whole_lines(self._journal) if self._journal is not None and self._journal.exists() else []
        offset = 0.0
        for k, text in enumerate(lines, 1):
            where = f"{self._journal}:{k}"
            try:
                line = check(parse_json(text), LINE, where, AnyCSPError)
                heuristic = heuristic_of(line["document"], where, "")
            except ValueError as error:
                raise AnyCSPError(f"{where}: {error}; remove the file to begin anew") from None
            self._study.enqueue_trial(line["point"])
            trial = self._study.ask()
            heuristic_from(trial, self._plain)
            self._study.tell(trial, line["value"])
            self._tried += 1
            if line["champion"]:
                race.champion, offset = Entry(heuristic), line["value"]
        for point in first_points()[len(lines) :]:
            self._study.enqueue_trial(point)
        return offset

    def _judge(self, found: Heuristic | None) -> Tuned:
        """Both on instances that nothing was tuned on, in turns; what is not surely better there is not kept."""
        laboratory = Laboratory(self._family.to_judge(self._judges), self._limit, self._workers)
        self._report(f"{self._tried} tried; the best and the default search {laboratory.size} held-out instances")
        default, tuned = laboratory.judge([None, found], self._seeds)
        self._minutes += laboratory.minutes
        measured = gain(default.costs, tuned.costs)
        kept = found if found is not None and measured.low > 1 else Heuristic()
        return Tuned(kept, measured, self._tried)

    def _provenance(self, tuned: Tuned, command: Sequence[str]) -> dict[str, Any]:
        return {
            "command": shlex.join(command),
            "seed": self._seed,
            "instances": self._family.hash,
            "seconds": self._limit,
            "minutes": round(self._minutes, 2),
            "processes": self._workers.cores,
            "settings_tried": tuned.tried,
            "held_out_instances": tuned.gain.instances,
            "held_out_seeds": self._seeds,
            "speedup": round(tuned.gain.speedup, 3),
            "interval": [round(tuned.gain.low, 3), round(tuned.gain.high, 3)],
        }


def write(tuned: Tuned, path: Path) -> None:
    """The settings as a file that `solve --model` takes."""
    save_heuristic(tuned.heuristic, path, f"Settings of compiled search, made by `anycsp tune`: {tuned.gain} as fast.")


def _whole_lines(journal: Path) -> list[str]:
    """Those of an earlier run. One that a kill or a full disk has torn is cut off, or the next would continue it."""
    content = journal.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(journal, whole)
    return content[:whole].decode(errors="replace").splitlines()


def _append(journal: Path, line: str) -> None:
    try:
        with journal.open("a") as file:
            file.write(line)
    except OSError as error:
        raise FormatError(journal, f"cannot be written: {(error.strerror or str(error)).lower()}") from None


def _described(heuristic: Heuristic) -> str:
    shares = ", ".join(f"{name} {share:g}" for name, share in heuristic.shares.items()) or "the default shares"
    tuned = "; ".join(
        f"{strategy} " + " ".join(f"{name} {value:.3g}" for name, value in table.items())
        for strategy, table in heuristic.parameters.items()
        if strategy in heuristic.shares
    )
    return f"{shares}" + (f" ({tuned})" if tuned else "") + (f", bouts of {heuristic.bout}" if heuristic.bout else "")


def _study(seed: int) -> optuna.Study:
    try:
        import optuna
    except ImportError:
        raise AnyCSPError("tuning needs Optuna: pip install 'anycsp[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # multivariate is marked experimental
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=24, multivariate=True, group=True)
    return optuna.create_study(sampler=sampler)


def _default_strategies(family: Family) -> list[str]:
    """Those that have a share by default in some of the instances."""
    found: dict[str, None] = {}
    for problem in family.problems[:8]:
        optimised = problem.objective is not None and problem.objective.expression is not None
        schedule = choose_schedule(problem, compile_graph(problem), is_decision(problem), optimised=optimised)
        found.update(dict.fromkeys(schedule.shares))
    return [name for name in found if name in PARAMETERS]
