"""Pictures: every kind of problem has its own, and what it marks is what is violated."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from anycsp import Problem, clock, element, solve, total
from anycsp.distributions import draw, get
from anycsp.engine import Improvement
from anycsp.formats import read_text, to_text
from anycsp.model.builders import coloring_problem
from anycsp.model.problem import Problem as AnyProblem
from anycsp.pictures import Picture, picture_of
from anycsp.pictures.board import Queens, Square
from anycsp.pictures.film import Film
from anycsp.pictures.graph import Graph
from anycsp.pictures.heat import MOST_CELLS, Heat
from anycsp.pictures.layout import by_distances, placed
from anycsp.pictures.paint import color, ink_on
from anycsp.pictures.picture import LARGEST_NODES
from anycsp.pictures.route import Route
from anycsp.pictures.schedule import Schedule
from anycsp.search.driver import Progress
from anycsp.web.gallery import EXAMPLES


def drawn(name: str, **parameters: object) -> AnyProblem:
    return draw(get(name, **parameters), 0, 0)


def tour(cities: int) -> AnyProblem:
    problem = Problem("tour")
    after = problem.add_variables(cities, 0, cities - 1)
    problem.add_circuit(after, self_loops=False)
    distance = [[abs(a - b) * 10 for a in range(cities)] for b in range(cities)]
    problem.minimize(total([element(distance[city], after[city]) for city in range(cities)]))
    return problem


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (drawn("coloring"), Graph),
        (drawn("maxcut", n=20), Graph),
        (drawn("rb"), Graph),
        (drawn("queens", n=8), Queens),
        (drawn("queens", n=12, blocked=[0.0, 0.0]), Queens),
        (drawn("sudoku"), Square),
        (drawn("quasigroup", order=6), Square),
        (drawn("magic-square"), Square),
        (drawn("jobshop", minimize=True), Schedule),
        (tour(8), Route),
        (drawn("sat"), Heat),
        (drawn("timetable"), Heat),
        (drawn("all-interval", n=9), Heat),
    ],
    ids=lambda value: value.name if isinstance(value, AnyProblem) else value.__name__,
)
def test_every_kind_of_problem_has_its_picture_as_plain_data(problem: AnyProblem, kind: type[Picture]) -> None:
    picture = picture_of(problem)
    assert type(picture) is kind
    described = json.loads(json.dumps(picture.describe()))
    assert described["kind"] == picture.kind
    answer = solve(problem, steps=20_000)
    frame = json.loads(json.dumps(picture.frame(problem, answer.positions)))
    marked = sum(frame.get("heat", [])) + len(frame.get("bad", [])) + len(frame.get("links", []))
    assert bool(marked) == bool(answer.violated)
    assert frame["says"]


def test_pictures_are_recognised_in_files_too() -> None:
    for name, kind in (("queens", Queens), ("sudoku", Square), ("coloring", Graph)):
        assert type(picture_of(read_text(to_text(drawn(name), "json")))) is kind


def test_red_edges_are_the_violated_ones() -> None:
    problem = drawn("coloring")
    picture = picture_of(problem)
    assert isinstance(picture, Graph)
    positions = np.random.default_rng(0).integers(problem.domain_sizes)
    frame = picture.frame(problem, positions)
    assert frame["color"] == positions.tolist()
    red = {k for k, (a, b) in enumerate(picture.links) if positions[a] == positions[b]}
    assert set(frame["links"]) == red
    assert len(red) == problem.violation_of_positions(positions).violated


def test_queens_in_conflict_are_those_that_attack() -> None:
    problem = drawn("queens", n=8, blocked=[0.0, 0.0])
    rows = [0, 4, 7, 5, 2, 6, 1, 3]  # a solution
    picture = picture_of(problem)
    assert picture.frame(problem, problem.positions(rows))["bad"] == []
    rows[0], rows[1] = rows[1], rows[0]
    frame = picture.frame(problem, problem.positions(rows))
    attacks = [(a, b) for a, b in combinations(range(8), 2) if abs(rows[a] - rows[b]) in (0, b - a)]
    assert frame["bad"] == sorted({rows[c] * 8 + c for pair in attacks for c in pair})
    assert [cell for cell, text in enumerate(frame["text"]) if text] == sorted(rows[c] * 8 + c for c in range(8))


def test_a_board_marks_only_the_cells_that_repeat() -> None:
    problem = drawn("quasigroup", order=4, holes=[1.0, 1.0])
    picture = picture_of(problem)
    square = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    square[0][0] = 1
    frame = picture.frame(problem, problem.positions([v for row in square for v in row]))
    assert frame["bad"] == [0, 1, 4]


def test_the_bars_of_a_schedule_are_its_tasks() -> None:
    problem = Problem()
    a, b, c = problem.add_variables(3, 0, 9)
    problem.add_no_overlap([a, b], [3, 4])
    problem.add(a + 3 <= c)
    problem.add_no_overlap([c], [2])
    picture = picture_of(problem)
    assert isinstance(picture, Schedule)
    frame = picture.frame(problem, problem.positions([0, 2, 5]))
    assert [bar[:3] for bar in frame["bars"]] == [[0, 0, 3], [0, 2, 4], [1, 5, 2]]
    assert frame["bars"][0][3] == frame["bars"][2][3] != frame["bars"][1][3], "colours are those of jobs"
    assert frame["bad"] == [0, 1]
    assert frame["end"] == 7


def test_lanes_and_bars_are_called_what_tells_most() -> None:
    def shop(named: bool) -> tuple[AnyProblem, Schedule]:
        problem = Problem()
        start = [[problem.add_variable(0, 40, name=f"{job} {m}" if named else None) for m in "AB"] for job in "pq"]
        for first, second in start:
            problem.add(first + 3 <= second)
        for m in (0, 1):
            problem.add_no_overlap([row[m] for row in start], [3, 3], name=f"hall {m}" if named else None)
        picture = picture_of(problem)
        assert isinstance(picture, Schedule)
        return problem, picture

    def bars(problem: AnyProblem, picture: Schedule) -> list[str]:
        return [bar[4] for bar in picture.frame(problem, np.zeros(problem.num_variables, dtype=np.int64))["bars"]]

    problem, picture = shop(named=False)
    assert picture.describe()["lanes"] == ["machine 1", "machine 2"]
    assert bars(problem, picture) == ["J1", "J2", "J1", "J2"]
    problem, picture = shop(named=True)
    assert picture.describe()["lanes"] == ["hall 0", "hall 1"]
    assert bars(problem, picture) == ["p A", "q A", "p B", "q B"]


def test_tasks_that_share_a_resource_have_lanes_of_their_own() -> None:
    problem = Problem()
    tasks = problem.add_variables(3, 0, 9, prefix="task")
    problem.add_cumulative(tasks, [2, 3, 4], [1, 1, 1], "<=", 2)
    problem.add(tasks[0] + 2 <= tasks[1])
    picture = picture_of(problem)
    assert isinstance(picture, Schedule)
    assert picture.describe()["lanes"] == ["task0", "task1", "task2"]
    frame = picture.frame(problem, np.array([0, 2, 0]))
    assert [(bar[0], bar[4]) for bar in frame["bars"]] == [(0, "task0"), (1, "task1"), (2, "task2")]


def test_a_route_shows_rounds_that_are_cut_off() -> None:
    problem = tour(6)
    picture = picture_of(problem)
    whole = picture.frame(problem, problem.positions([1, 2, 3, 4, 5, 0]))
    assert (whole["bad"], len(whole["arrows"])) == ([], 6)
    parted = picture.frame(problem, problem.positions([1, 0, 3, 4, 5, 2]))
    assert parted["bad"] == [0, 1]


def test_distances_place_points_as_they_were() -> None:
    points = np.random.default_rng(0).random((12, 2))
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    found = by_distances(distance)
    again = np.sqrt(((found[:, None] - found[None]) ** 2).sum(axis=2))
    scale = again.sum() / distance.sum()
    assert np.allclose(again, scale * distance, atol=1e-9)


def test_a_grid_is_drawn_as_a_grid() -> None:
    """Nobody is nearer to a vertex than its neighbours are, by far."""
    side = 9
    cells = np.arange(side * side).reshape(side, side)
    links = np.concatenate(
        [
            np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], 1),
            np.stack([cells[:-1].ravel(), cells[1:].ravel()], 1),
        ]
    )
    places = placed(side * side, links)
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    along = apart[links[:, 0], links[:, 1]]
    apart[links[:, 0], links[:, 1]] = apart[links[:, 1], links[:, 0]] = np.inf
    np.fill_diagonal(apart, np.inf)
    assert along.max() < 1.6 * along.min()
    assert apart.min() > along.mean()
    assert placed(side * side, links).tobytes() == places.tobytes()
    across, down = np.abs(places[links[:, 1]] - places[links[:, 0]]).T
    assert (np.minimum(across, down) < 0.35 * np.maximum(across, down)).mean() > 0.9, "links run across and down"


def test_what_is_too_large_for_a_graph_is_a_heat_map() -> None:
    n = LARGEST_NODES + 1
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    problem = coloring_problem(n, ring, 2)
    picture = picture_of(problem)
    assert isinstance(picture, Heat)
    frame = picture.frame(problem, np.zeros(n, dtype=np.int64))
    assert len(frame["heat"]) <= MOST_CELLS
    assert sum(frame["heat"]) == n


def test_a_film_ends_with_the_answer_and_tells_every_run() -> None:
    problem = EXAMPLES["grid"].build()
    events: list[dict[str, object]] = []
    film = Film(picture_of(problem), events.append)
    film.begin(problem)
    result = solve(problem, search="neural", runs=3, steps=30, callback=film)
    film.end(result.seconds, result.steps, result.positions, None, result.found_by)
    points = [event for event in events if event["event"] == "point"]
    frames = [event for event in events if event["event"] == "frame"]
    assert {point["run"] for point in points} == {0, 1, 2}
    assert {point["found_by"] for point in points} == {"initial", "network"}
    assert frames[-1]["violated"] == result.violated
    assert frames[-1]["frame"]["color"] == result.positions.tolist()  # type: ignore[index]
    for event in frames[1:-1]:
        soft = event["frame"]["soft"]  # type: ignore[index]
        assert len(soft["sure"]) == problem.num_variables
        assert all(0 <= percent <= 100 for percent in soft["sure"])


def test_a_film_shows_what_a_network_that_advises_leans_to() -> None:
    problem = draw(get("sat", n=150, density=[[5.0, 5.0]]), 0, 0)  # too many clauses to be satisfied at once
    events: list[dict[str, object]] = []
    film = Film(picture_of(problem), events.append)
    film.begin(problem)
    solve(problem, search="hybrid", steps=200, seed=1, callback=film)
    leant = [event["frame"]["soft"] for event in events if "soft" in event.get("frame", {})]  # type: ignore
    assert leant
    assert all(len(soft["sure"]) == problem.num_variables for soft in leant)


def progress(seconds: float, violated: int | None) -> Progress:
    """A look at a search that has found something, or not."""
    found = [] if violated is None else [Improvement(1, seconds, 0, 0, violated, violated, 0, violated, "tabu")]
    best = lambda: np.zeros(2, dtype=np.int32)  # noqa: E731
    return Progress(
        1, seconds, violated or 0, 0.0, 0, bool(found), found_by="tabu", improvements=tuple(found), best=best
    )


def test_what_came_too_soon_after_another_is_told_a_little_later() -> None:
    problem = coloring_problem(2, np.array([[0, 1]]), 2)
    events: list[dict[str, object]] = []
    film = Film(picture_of(problem), events.append)
    film.begin(problem)

    def told() -> list[object]:
        return [event["violated"] for event in events if event["event"] == "point"]

    film(progress(1.0, 9))
    film(progress(1.001, 8))
    film(progress(1.002, 7))
    assert told() == [9]
    film(progress(1.05, None))
    assert told() == [9, 7]
    film(progress(1.1, None))
    assert told() == [9, 7]


def test_the_first_moments_of_a_search_have_more_frames() -> None:
    problem = EXAMPLES["grid"].build()
    events: list[dict[str, object]] = []
    film = Film(picture_of(problem), events.append)
    film.begin(problem)
    with clock.cpu_time():  # whoever else uses the machine
        solve(problem, search="neural", steps=40, callback=film, threads=1)
    early = [event for event in events if event["event"] == "frame" and event["seconds"] < 0.4]  # type: ignore
    assert len(early) > 8, "eight are all that fit with a twentieth of a second between them"


def test_a_film_of_a_long_search_stays_short() -> None:
    from anycsp.pictures.film import FRAME_GAP, FRAMES_PER_GAP, Gap

    gap = Gap(FRAME_GAP, FRAMES_PER_GAP)
    passed = sum(gap.over(0.05 * tick) for tick in range(20 * 600))
    assert 300 < passed < 1000


def test_every_example_of_the_page_is_built_and_has_a_picture() -> None:
    kinds = {picture_of(example.build()).kind for example in EXAMPLES.values()}
    assert kinds == {"graph", "board", "schedule", "route", "heat"}


def test_what_stands_on_a_colour_can_be_read() -> None:
    def luminance(shade: str) -> float:
        parts = [int(shade[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for fill in map(color, range(40)):
        light, dark = sorted((luminance(fill), luminance(ink_on(fill))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, fill
