"""Knapsack: which things to take, worth as much as possible and not too heavy."""

from picture import lanes, show

from anycsp import Problem, solve

THINGS = {
    "map": (9, 150), "compass": (13, 35), "water": (153, 200), "sandwich": (50, 160), "glucose": (15, 60),
    "tin": (68, 45), "banana": (27, 60), "apple": (39, 40), "cheese": (23, 30), "beer": (52, 10),
    "suntan cream": (11, 70), "camera": (32, 30), "T-shirt": (24, 15), "trousers": (48, 10), "umbrella": (73, 40),
    "waterproofs": (43, 75), "note-case": (22, 80), "sunglasses": (7, 20), "towel": (18, 12), "socks": (4, 50),
}  # fmt: skip
"""Weight and worth."""
CAPACITY = 400


def main() -> str:
    problem = Problem("knapsack")
    take = {thing: problem.add_variable(0, 1, thing) for thing in THINGS}
    problem.add(sum(weight * take[thing] for thing, (weight, _) in THINGS.items()) <= CAPACITY)
    problem.maximize(sum(worth * take[thing] for thing, (_, worth) in THINGS.items()))

    result = solve(problem, time_limit=3)
    taken = [thing for thing in THINGS if result[take[thing]]]
    weight = sum(THINGS[thing][0] for thing in taken)
    assert result.objective is not None
    print(f"worth {result.objective['value']}, weight {weight} of {CAPACITY}: {', '.join(taken)}")
    row, at = [], 0
    for k, thing in enumerate(taken):
        row.append((at, THINGS[thing][0], thing if THINGS[thing][0] > 40 else "", k))
        at += THINGS[thing][0]
    return lanes([row], unit=2)


if __name__ == "__main__":
    show(__file__, main)
