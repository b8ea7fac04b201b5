"""Tuning: settings are files that a search obeys, costs order searches by speed, races find the better setting."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import ModelError, Problem, clock, distributions, native, solve
from anycsp.cli import run
from anycsp.formats import write
from anycsp.search.heuristic import Heuristic, heuristic_of, load_heuristic, save_heuristic, shipped_heuristics
from anycsp.search.local import STRATEGIES, LocalSearch
from anycsp.search.parameters import PARAMETERS
from anycsp.tuning import learn
from anycsp.tuning.instances import Family, Laboratory
from anycsp.tuning.measure import Curve, Gain, cost, gain, search_curve, targets
from anycsp.tuning.race import Entry, Race, ordered_pairs
from anycsp.tuning.space import first_points, heuristic_from

optuna = pytest.importorskip("optuna")
pytestmark = pytest.mark.skipif(not native.available(), reason="compiled search")

SMALL = {"n": 40, "density": [[4.0, 4.0]]}


def small_formula(seed: int = 0) -> Problem:
    return distributions.draw(distributions.get("sat", **SMALL), seed, 0)


# ── files of settings ────────────────────────────────────────────────────────────────────────────────

_heuristics = st.builds(
    Heuristic,
    name=st.just("settings"),
    shares=st.dictionaries(st.sampled_from(sorted(PARAMETERS)), st.floats(0.001, 1), max_size=3),
    parameters=st.fixed_dictionaries({"tabu": st.fixed_dictionaries({"tenure": st.floats(0, 50)})}),
    presolve=st.booleans(),
    graded=st.booleans(),
    bout=st.none() | st.integers(256, 1 << 20),
    growth=st.floats(1, 4),
    leader=st.floats(1, 30),
    provenance=st.fixed_dictionaries({"command": st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]))}),
)


@settings(max_examples=20)
@given(heuristic=_heuristics)
def test_a_file_of_settings_reads_back_as_it_was_written(
    heuristic: Heuristic, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    save_heuristic(heuristic, path, "a comment\nof two lines")
    assert load_heuristic(path) == heuristic


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format_version = 2", "format_version = 2"),
        ("format_version = 1\n[shares]\ntabo = 1", "'tabu'?"),
        ("format_version = 1\n[shares]\ntree = 1.0", "beside the tree"),
        ("format_version = 1\n[parameters.tabu]\ntenure = 1e9", "from 0 to 50"),
        ("format_version = 1\n[parameters.tabu]\nnoise = 0.5", "unknown key 'noise'"),
        ("format_version = 1\n[search]\nbout = 1.5", "a whole number"),
        ("format_version = ", "not a TOML file"),
    ],
)
def test_settings_that_are_none_are_refused_in_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, formula = tmp_path / "bad.toml", tmp_path / "f.cnf"
    path.write_text(text)
    formula.write_text("p cnf 1 1\n1 0\n")
    assert run(["solve", str(formula), "--model", str(path)]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert len(message) <= 301


def test_settings_and_a_search_that_has_none_do_not_go_together() -> None:
    with pytest.raises(Exception, match="settings of compiled search"):
        solve(small_formula(), model=Heuristic("mine"), search="neural", steps=1)
    with pytest.raises(ModelError, match="cannot read"):
        solve(small_formula(), model="nowhere.toml", steps=1)


def test_every_parameter_that_is_declared_is_one_of_its_strategy_and_its_default() -> None:
    graph = Laboratory(Family("sat", SMALL, 0, 1), 1.0).family.problems[0]
    from anycsp.graph import compile_graph

    compiled = compile_graph(graph)
    for strategy, declared in PARAMETERS.items():
        assert strategy in STRATEGIES
        plain = LocalSearch(compiled, strategy, seed=3)
        told = {name: p.default for name, p in declared.items() if p.default is not None}
        spelled = LocalSearch(compiled, strategy, seed=3, **told)
        for search in (plain, spelled):
            search.start(None, steps=3000)
            search.advance(3000)
        np.testing.assert_array_equal(plain.positions, spelled.positions)
        for name, p in declared.items():
            for bound in (p.low, p.high):
                LocalSearch(compiled, strategy, **{name: bound})


def test_settings_that_say_nothing_change_nothing() -> None:
    for name, parameters in (("sat", SMALL), ("quasigroup", {"order": 8})):
        problem = distributions.draw(distributions.get(name, **parameters), 1, 0)
        plain, told = (solve(problem, steps=20_000, seed=4, model=m) for m in ("auto", Heuristic("nothing")))
        assert (plain.positions == told.positions).all()
        assert plain.steps == told.steps
        assert told.model == "nothing"


def test_the_time_goes_to_the_strategies_that_have_a_share() -> None:
    problem = distributions.draw(distributions.get("maxsat", n=60), 1, 0)
    for shares in ({"tabu": 1.0}, {"ccls": 0.5, "walksat": 0.5}):
        for bout in (None, 300):
            result = solve(problem, model=Heuristic("mine", shares, bout=bout), steps=30_000)
            assert {point.found_by for point in result.trace} <= {"initial", *shares}
            assert result.violated < 60


def test_settings_serve_a_problem_with_an_objective_and_several_threads() -> None:
    problem = distributions.draw(distributions.get("knapsack", items=15, maximize=True), 2, 0)
    best = solve(problem, time_limit=5)
    tuned = solve(problem, model=Heuristic("mine", {"tree": 0.5, "tabu": 0.5}, bout=500), time_limit=5)
    assert tuned.objective == best.objective
    formula = small_formula()
    assert solve(formula, model=Heuristic("mine", {"probsat": 1.0}, bout=300), time_limit=5, threads=3).satisfied


@pytest.mark.parametrize("name", shipped_heuristics())
def test_shipped_settings_say_where_they_come_from(name: str) -> None:
    heuristic = load_heuristic(name)
    assert heuristic.provenance["command"].startswith("anycsp tune ")
    assert heuristic.provenance["speedup"] > 1


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────


def test_processor_time_does_not_pass_while_nothing_is_done() -> None:
    with clock.cpu_time():
        began = clock.now()
        time.sleep(0.2)
        assert clock.now() - began < 0.1
        result = solve(distributions.draw(distributions.get("maxcut"), 0, 0), time_limit=0.2, threads=1)
        assert 0.15 < result.seconds < 0.5
    began = clock.now()
    time.sleep(0.1)
    assert clock.now() - began >= 0.1


@given(seconds=st.lists(st.floats(0.01, 1), min_size=1, max_size=6, unique=True).map(sorted), faster=st.floats(1.1, 8))
def test_a_search_that_is_k_times_faster_costs_log_k_less(seconds: list[float], faster: float) -> None:
    qualities = [float(q) for q in range(len(seconds) - 1, -1, -1)]
    slow, fast = Curve(seconds, qualities), Curve([s / faster for s in seconds], qualities)
    ladder = [qualities[0], qualities[-1]]
    assert cost(slow, ladder, 1.0) - cost(fast, ladder, 1.0) == pytest.approx(math.log(faster))


def test_targets_are_what_the_default_reached_and_a_solution_where_one_is_asked_for() -> None:
    curve = Curve([0.0, 0.3, 0.9], [9.0, 4.0, 2.0])
    assert targets(distributions.draw(distributions.get("maxcut"), 0, 0), curve, 1.0) == [9.0, 9.0, 9.0, 4.0, 2.0]
    assert targets(small_formula(), curve, 1.0) == [9.0, 9.0, 9.0, 4.0, 0.0]
    assert cost(curve, [1.0], 1.0) == pytest.approx(math.log(2.0)), "what was not reached counts double"


def test_a_curve_falls_to_what_the_search_answers() -> None:
    for name in ("sat", "maxcut", "knapsack"):
        parameters = {"items": 15, "maximize": True} if name == "knapsack" else {"n": 40}
        problem = distributions.draw(distributions.get(name, **parameters), 0, 0)
        with clock.cpu_time():
            curve = search_curve(problem, None, 1, 0.1)
        best = np.minimum.accumulate(curve.qualities)
        assert list(curve.seconds) == sorted(curve.seconds)
        assert best[-1] == min(curve.qualities) < math.inf


def test_the_interval_of_a_gain_holds_its_mean_and_shrinks_with_instances() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for count in (10, 1000):
        before = rng.normal(0, 1, (count, 3))
        found = gain(before, before - math.log(2) + rng.normal(0, 0.5, (count, 3)))
        assert found.low < found.speedup < found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 3
    assert found.speedup == pytest.approx(2, rel=0.1)


# ── races ────────────────────────────────────────────────────────────────────────────────────────────


class Noisy:
    """Costs with a given mean and a noise that is the same for all on one pair."""

    def __init__(self, mean: dict[str, float]) -> None:
        self.mean, self.searches = mean, 0

    def __call__(
        self, heuristic: Heuristic | None, pairs: Sequence[tuple[int, int]], _: Sequence[float]
    ) -> list[float]:
        self.searches += len(pairs)
        name = "default" if heuristic is None else heuristic.name
        noise = [np.random.default_rng([i, s]).normal() for i, s in pairs]
        own = [np.random.default_rng([i, s, len(name)]).normal(0, 0.3) for i, s in pairs]
        return [self.mean[name] + n + o for n, o in zip(noise, own, strict=True)]


def test_a_race_crowns_the_better_setting_and_wastes_little_on_bad_ones() -> None:
    measure = Noisy({"default": 0.0, "good": -0.7, "terrible": 3.0, "equal": 0.0})
    race = Race(measure, ordered_pairs(20, 3, 0), Entry(None), 16)
    race.prepare()
    before = measure.searches
    assert race.challenge(Heuristic("terrible")) == (pytest.approx(3, abs=0.7), False)
    assert measure.searches - before <= 4
    assert race.challenge(Heuristic("good"))[1]
    assert not race.challenge(Heuristic("equal"))[1]
    assert race.champion.heuristic == Heuristic("good")


def test_pairs_go_through_all_instances_before_another_seed() -> None:
    pairs = ordered_pairs(7, 3, 0)
    assert len(set(pairs)) == 21
    assert {i for i, _ in pairs[:7]} == set(range(7))
    assert len({s for _, s in pairs[:7]}) == 1


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_every_point_of_the_space_is_settings_that_a_file_may_hold(seed: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
    heuristic = heuristic_from(study.ask(), ["probsat", "tabu"])
    assert heuristic_of(json.loads(json.dumps(heuristic.document())), "here", "") == heuristic
    assert sum(heuristic.shares.values()) == pytest.approx(1 if heuristic.shares else 0, abs=1e-3)


def test_the_first_points_are_in_the_space() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for point in first_points():
        study = optuna.create_study()
        study.enqueue_trial(point)
        trial = study.ask()
        heuristic_from(trial, ["tabu"])
        assert set(point) <= set(trial.params) | {"leader"}


# ── the commands ─────────────────────────────────────────────────────────────────────────────────────


def test_tuning_writes_settings_and_can_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.toml"
    small = ["--set", "n=30", "--seconds", "0.05", "--instances", "3", "--judges", "2", "--seeds", "1"]
    command = ["tune", "sat", *small, "--minutes", "0.02", "--processes", "1", "--out", str(out)]
    assert run(command) == 0
    tried = len((tmp_path / "mine.journal.jsonl").read_text().splitlines())
    assert tried >= 1
    assert "held-out instances" in capsys.readouterr().out
    assert run([*command, "--resume"]) == 0
    again = (tmp_path / "mine.journal.jsonl").read_text().splitlines()
    assert len(again) > tried
    provenance = load_heuristic(out).provenance
    assert provenance["settings_tried"] == len(again)
    assert provenance["held_out_instances"] == 2
    assert solve(small_formula(), model=out, time_limit=5).satisfied


def test_a_damaged_journal_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.journal.jsonl").write_text("{}\n")
    command = ["tune", "sat", "--set", "n=30", "--seconds", "0.02", "--instances", "2", "--processes", "1"]
    assert run([*command, "--resume", "--minutes", "0.01", "--out", str(tmp_path / "mine.toml")]) == 2
    assert "mine.journal.jsonl:1: point is missing" in capsys.readouterr().err


def test_a_line_that_a_kill_has_torn_is_cut_off(tmp_path: Path) -> None:
    out, journal = tmp_path / "mine.toml", tmp_path / "mine.journal.jsonl"
    small = ["--set", "n=30", "--seconds", "0.05", "--instances", "2", "--judges", "2", "--seeds", "1", "--quiet"]
    command = ["tune", "sat", *small, "--minutes", "0.001", "--processes", "1", "--out", str(out)]
    assert run(command) == 0
    whole = journal.read_text()
    journal.write_text(whole + whole[: len(whole) // 2].rstrip("\n"))
    assert run([*command, "--resume"]) == 0
    assert journal.read_text().startswith(whole)
    assert all(json.loads(line) for line in journal.read_text().splitlines())


@pytest.mark.parametrize("wrong", [["nonsense"], ["sat", "--set", "n=x"]])
def test_what_cannot_be_tuned_leaves_what_was_tried(tmp_path: Path, wrong: list[str]) -> None:
    journal = tmp_path / "mine.journal.jsonl"
    journal.write_text("hours of work\n")
    assert run(["tune", *wrong, "--processes", "1", "--out", str(tmp_path / "mine.toml")]) == 2
    assert journal.read_text() == "hours of work\n"


@pytest.mark.parametrize("out", ["", "missing/mine.toml"])
def test_settings_that_could_not_be_written_are_refused_before_the_search(
    out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["tune", "sat", "--processes", "1", "--out", out]) == 2
    error = capsys.readouterr().err
    assert "cannot be written" in error
    assert error.count("\n") == 1


def test_a_training_run_is_not_overwritten_by_what_is_learnt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["generate", "sat", "--count", "4", "--set", "n=20", "--out", str(tmp_path / "sat")])
    (tmp_path / "run").mkdir()
    for name in ("checkpoint.safetensors", "best.safetensors"):
        (tmp_path / "run" / name).write_bytes(b"hours of work")
    assert run(["learn", str(tmp_path / "sat"), "--out", str(tmp_path / "run"), "--processes", "1"]) == 2
    assert "holds a training run" in capsys.readouterr().err
    assert (tmp_path / "run" / "best.safetensors").read_bytes() == b"hours of work"


def test_learning_from_a_folder_ends_with_a_table_and_something_to_solve_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "PROMISING", 0.0)
    printed = _learn(tmp_path, capsys, minutes=0.03)
    assert [line.split()[0] for line in printed] == ["search", "default", "tuned", "network", "the", "kept:"]
    assert "too far behind" in printed[-2]


@pytest.mark.slow
def test_a_network_that_is_not_far_behind_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(learn, "PROMISING", math.inf)
    printed = _learn(tmp_path, capsys, minutes=0.03)
    assert [line.split()[0] for line in printed] == ["search", "default", "tuned", "network", "trained", "the", "kept:"]
    assert (tmp_path / "learnt" / "network" / "best.safetensors").is_file()


def test_only_what_is_surely_faster_than_the_default_is_kept() -> None:
    default = learn.Row("default", 1.0, 0.1, 0.0, None)
    lucky, sure = (learn.Row(name, 1.0, 0.1, 0.0, g) for name, g in (
        ("lucky", Gain(3.0, 0.9, 9.0, 5)), ("sure", Gain(1.2, 1.1, 1.3, 5))
    ))  # fmt: skip
    assert learn.best_of([default, lucky]) is default
    assert learn.best_of([default, lucky, sure]) is sure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("quasigroup", {"order": 16}), ("timetable", {"classes": [4, 6], "hours": [15, 20]})],
)
def test_a_gain_that_is_claimed_is_there_on_fresh_instances(
    name: str, parameters: dict[str, object], tmp_path: Path
) -> None:
    folder = tmp_path / "instances"
    folder.mkdir()
    for k, problem in enumerate(distributions.get(name, **parameters).sample(1, 60)):
        write(problem, folder / f"{k}.json")
    lesson = learn.Learner(str(folder), limit=0.3, report=lambda line: None).run(0.5, tmp_path / "learnt")
    laboratory = Laboratory(Family(name, parameters, 77_000_000, 30), 0.3)
    default, learnt = laboratory.judge([None, lesson.best.searcher], 3)
    fresh = gain(default.costs, learnt.costs)
    assert fresh.high > 1, "what is kept is not slower than the default"
    if lesson.best.gain is not None and lesson.best.gain.low > 1:
        assert fresh.speedup > 1, "a gain beyond doubt is one elsewhere too"


def _learn(tmp_path: Path, capsys: pytest.CaptureFixture[str], minutes: float) -> list[str]:
    """What `anycsp learn` prints; that its folder serves is checked here."""
    folder, out = tmp_path / "instances", tmp_path / "learnt"
    easy = ["--set", "n=30", "--set", "density=[[3, 3]]"]
    assert run(["generate", "sat", "--count", "6", *easy, "--out", str(folder)]) == 0
    capsys.readouterr()
    command = ["learn", str(folder), "--minutes", str(minutes), "--seconds", "0.05", "--seeds", "1", "--processes", "1"]
    assert run([*command, "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = json.loads((out / learn.LESSON).read_text())["rows"]
    told = [line.split()[0] for line in printed]
    assert [row["name"] for row in rows] == told[1 : told.index("network") + 1 + ("trained" in told)]
    assert [row["name"] for row in rows if row["best"]] == [printed[-1].split()[1].rstrip(";")]
    assert run(["solve", str(next(folder.iterdir())), "--model", str(out), "--time-limit", "1"]) in (0, 10)
    return printed
