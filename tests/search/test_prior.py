"""The prior of the portfolio: what is learnt is used where it applies, and the table stays elsewhere."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from anycsp import Problem, distributions, native, solve
from anycsp.graph import compile_graph
from anycsp.model.structure import is_decision
from anycsp.search import prior
from anycsp.search.choose import choose_schedule
from anycsp.search.features import FEATURES, features
from anycsp.search.heuristic import SHARES, Heuristic
from anycsp.search.local import LocalSearch
from anycsp.search.member import SHORTEST_TURN
from anycsp.search.portfolio import LocalMember, Portfolio
from anycsp.search.prior import LearnedPrior, Schedule

pytestmark = pytest.mark.skipif(not native.available(), reason="compiled search")


def drawn(name: str, **parameters: object) -> Problem:
    return distributions.draw(distributions.get(name, **parameters), 3, 0)


def schedule_of(problem: Problem, heuristic: Heuristic | None = None) -> Schedule:
    return choose_schedule(problem, compile_graph(problem), is_decision(problem), heuristic or Heuristic())


def seen(degree: float) -> np.ndarray:
    """All features; nothing but the degree tells problems apart."""
    return np.where([name == "degree" for name in FEATURES], degree, 3.0)


def two_families(doubt: float = 0.0, low: int = 1) -> LearnedPrior:
    """By degree alone. Near 0 the second schedule is twice as fast as the table, near 10 half as fast."""
    gains = np.log([[1.0, 2.0]] * low + [[1.0, 0.5]])
    schedules = [Schedule({"tree": 1.0}), Schedule({"tabu": 1.0}, 0.005)]
    points = np.array([[0.0]] * low + [[5.0]])
    families = ["low"] * low + ["high"]
    return LearnedPrior(schedules, ["degree"], np.array([2.0]), families, points, gains, 0.5, 0.0, doubt)


def test_a_problem_gets_what_was_best_on_families_like_it() -> None:
    model = two_families()
    near = model.schedule(seen(1.0))
    assert near.shares == {"tabu": 1.0}
    assert near.like["low"] > 0.99
    assert "like low" in str(near)
    assert model.schedule(seen(9.0)) == Schedule({"tree": 1.0})
    assert model.schedule(seen(1.0), without="low") == Schedule({"tree": 1.0}), "a family left out says nothing"


def test_where_families_disagree_the_table_stays() -> None:
    between = seen(4.9)
    assert two_families().schedule(between).shares == {"tabu": 1.0}
    assert two_families(doubt=1.0).schedule(between).shares == {"tree": 1.0}


def test_a_family_with_more_instances_weighs_no_more() -> None:
    beyond = seen(5.1)
    assert two_families(low=1).schedule(beyond).shares == {"tree": 1.0}
    assert two_families(low=5).schedule(beyond).shares == {"tree": 1.0}
    many = two_families(low=5).schedule(seen(4.9))
    assert many.like["low"] + many.like["high"] == pytest.approx(1)


def test_a_learned_prior_reads_back_as_it_was_written() -> None:
    model = two_families(0.5, 3)
    again = LearnedPrior.of(json.loads(json.dumps(model.document())))
    np.testing.assert_allclose(again.gains, model.gains, atol=1e-3)
    assert again.schedules == model.schedules
    assert again.families == model.families
    np.testing.assert_allclose(again.points, model.points, atol=1e-3)
    assert again.schedule(seen(1.0)) == model.schedule(seen(1.0))


def test_the_prior_of_the_package_fits_the_code() -> None:
    model = prior.learned()
    assert model.schedules[0] == Schedule(prior.STRUCTURED), "learnt beside another table: run learn_prior.py again"
    assert (model.gains[:, 0] == 0).all()
    assert model.points.shape == (len(model.families), len(model.goes_by))
    assert set(model.goes_by) <= set(FEATURES)
    assert model.gains.shape == (len(model.families), len(model.schedules))
    for schedule in model.schedules:
        assert schedule.shares.keys() <= SHARES.keys()
        assert "tree" in schedule.shares, "nobody else can refute"
        assert sum(schedule.shares.values()) == pytest.approx(1, abs=0.01)


def test_features_do_not_depend_on_the_order_of_variables_and_constraints() -> None:
    def problem(order: list[int]) -> Problem:
        made = Problem()
        x = [made.add_variable(range(4)) for _ in range(6)]
        for k in order:
            made.add_all_different([x[i] for i in sorted({(k + j) % 6 for j in (0, 1, 3)})])
        made.add(x[order[0]] + x[order[1]] <= 5)
        return made

    one, other = (features(p, compile_graph(p)) for p in (problem([0, 1, 2, 3]), problem([1, 0, 3, 2])))
    np.testing.assert_allclose(one, other)
    assert len(one) == len(FEATURES)


def test_a_knapsack_gives_annealing_more_of_the_time() -> None:
    """Learnt: sums over two-valued variables leave the tree little to propagate."""
    schedule = schedule_of(drawn("knapsack"))
    assert schedule.shares["annealing"] > 2 * prior.STRUCTURED["annealing"]
    assert schedule.first_turn is not None
    assert {"knapsack", "worth"} & set(sorted(schedule.like, key=lambda family: -schedule.like[family])[:3])


def test_what_the_user_asks_for_comes_before_what_was_learnt() -> None:
    asked = Heuristic("mine", {"tabu": 0.7, "tree": 0.3})
    assert schedule_of(drawn("knapsack"), asked).shares == asked.shares


def test_whoever_has_the_largest_share_begins_and_turns_follow_shares() -> None:
    graph = compile_graph(drawn("knapsack"))
    shares = {"tabu": 0.1, "ccls": 0.8, "walksat": 0.001}
    members = [LocalMember(LocalSearch(graph, n), s, np.random.default_rng(0)) for n, s in shares.items()]
    race = Portfolio(graph, None, 0.0, members, first_turn=0.02)
    assert [member.name for member in race._members] == ["ccls", "tabu", "walksat"]
    assert [member.turn_seconds() for member in race._members] == pytest.approx([0.02, 0.0025, SHORTEST_TURN])


def test_an_answer_by_steps_repeats_with_a_learned_schedule() -> None:
    problem = drawn("knapsack")
    one, two = (solve(problem, search="local", steps=30_000, seed=5, threads=t) for t in (1, 2))
    assert (one.positions == two.positions).all()


def test_verbose_says_what_was_chosen_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    solve(drawn("knapsack"), search="local", steps=100, verbose=True)
    assert re.search("portfolio: tree .*, annealing .*; like .*knapsack", capsys.readouterr().out)
    solve(drawn("quasigroup", order=12), search="local", steps=100, verbose=True, presolve=False)
    told = capsys.readouterr().out
    assert "portfolio: tree" in told
    assert "like" not in told
