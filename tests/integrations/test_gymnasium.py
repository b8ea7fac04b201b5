"""The environment passes Gymnasium's own checks, pays what Eq. 4 says, and repeats by its seed."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra anycsp[gym]")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from anycsp import AnyCSPError, Problem, native  # noqa: E402
from anycsp.constraints.external import ExternalBlock  # noqa: E402
from anycsp.distributions import get  # noqa: E402
from anycsp.draw import constraint_edges  # noqa: E402
from anycsp.integrations.gymnasium import SearchEnv, Size  # noqa: E402

pytestmark = pytest.mark.skipif(not native.available(), reason="the native module is not built")


def small() -> Problem:
    problem = Problem()
    x, y, z = problem.add_variables(3, range(1, 4))
    problem.add(x < y)
    problem.add(y != z, weight=2.5)
    problem.add(x + y + z == 6, weight=1)
    return problem


def opaque(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A function that only Python can evaluate."""
    return np.array([hash((int(p), int(q))) % 2 == 0 for p, q in zip(np.atleast_1d(a), np.atleast_1d(b), strict=True)])


@pytest.mark.parametrize("moves", ["assignment", "single"])
@pytest.mark.parametrize("source", ["problem", "distribution"])
def test_it_passes_gymnasiums_own_checks(moves: str, source: str) -> None:
    given = {"problem": small()} if source == "problem" else {"distribution": "sat", "parameters": {"n": 10}}
    environment = gymnasium.make("anycsp/Search-v0", moves=moves, steps=20, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(?:infinity|render_modes|wrapped).*")
        check_env(environment.unwrapped, skip_render_check=True)


def test_gymnasium_finds_it_by_its_module() -> None:
    program = "import gymnasium; gymnasium.make('anycsp.integrations.gymnasium:anycsp/Search-v0', distribution='sat')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("number", range(4))
def test_observations_are_the_labelled_graph(number: int) -> None:
    problem = small()
    problem.add_block(ExternalBlock.one(np.array([0, 2]), opaque, problem.new_terms(1.0, None)))
    environment = SearchEnv(problem)
    observation, _ = environment.reset(seed=3)
    for action in ([0, 0, 0], [0, 1, 2], [2, 1, 0]):
        observation, _, solved, _, info = environment.step(action)
        chosen = np.flatnonzero(observation["chosen"]) % 3
        assert chosen.tolist() == action
        expected = {
            (edge.variable, edge.position): edge.label
            for edge in constraint_edges(environment.problem, [p + 1 for p in action])
            if edge.constraint == number
        }
        ours = {
            (int(v) // 3, int(v) % 3): int(label)
            for v, label, c in zip(
                observation["edge_value"], observation["label"], observation["edge_constraint"], strict=True
            )
            if environment._instance.graph.terms.index[c] == number
        }
        assert ours == expected
        counted = environment.problem.violation_of_positions(np.array(action))
        assert info["violated"] == counted.violated
        assert info["quality"] == pytest.approx(1 - counted.weight / 5.5)
        assert solved == (counted.violated == 0)


def test_rewards_are_improvements_over_the_best() -> None:
    environment = SearchEnv(small(), moves="assignment", steps=30)
    environment.reset(seed=0)
    rng = np.random.default_rng(0)
    best, first = environment.quality, environment.quality
    total = 0.0
    for _ in range(30):
        _, reward, solved, truncated, _ = environment.step(rng.integers(0, 3, 3))
        assert reward == pytest.approx(max(0.0, environment.quality - best))
        best, total = max(best, environment.quality), total + reward
        if solved or truncated:
            break
    assert total == pytest.approx(best - first)


def test_episodes_repeat_by_their_seed_and_draw_new_problems() -> None:
    def episode(seed: int) -> list[bytes]:
        environment = SearchEnv(distribution=get("coloring", n=12), moves="single", steps=5)
        seen = [environment.reset(seed=seed)[0]]
        environment.action_space.seed(seed)
        seen += [environment.step(environment.action_space.sample())[0] for _ in range(5)]
        seen.append(environment.reset()[0])
        return [observation[name].tobytes() for observation in seen for name in sorted(observation)]

    assert episode(1) == episode(1)
    assert episode(1) != episode(2)
    assert episode(1)[:7] != episode(1)[-7:], "the next episode has another problem"


def test_a_greedy_policy_solves_what_it_sees() -> None:
    """The best single move by the labels of the observation alone."""
    environment = SearchEnv(distribution="coloring", parameters={"n": 12}, moves="single", steps=60)
    observation, info = environment.reset(seed=5)
    before = info["quality"]
    for _ in range(60):
        known = observation["edge_value"] >= 0
        gain = np.zeros(environment.size.values)
        constraint, value = observation["edge_constraint"][known], observation["edge_value"][known]
        np.add.at(gain, value, observation["label"][known] * observation["weight"][constraint])
        now = gain[observation["chosen"] == 1]
        gain -= now[np.clip(observation["value_variable"], 0, len(now) - 1)]
        gain[info["action_mask"] == 0] = -np.inf
        observation, _, solved, truncated, info = environment.step(int(gain.argmax()))
        if solved or truncated:
            break
    assert info["best_quality"] > before


def test_what_cannot_be_searched_is_refused_in_one_line() -> None:
    with pytest.raises(AnyCSPError, match="either a problem or a distribution"):
        SearchEnv()
    with pytest.raises(AnyCSPError, match="unknown moves"):
        SearchEnv(small(), moves="some")
    with pytest.raises(AnyCSPError, match="does not fit"):
        SearchEnv(small(), size=Size(1, 1, 1, 1)).reset()
