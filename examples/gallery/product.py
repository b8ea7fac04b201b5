"""Product rules: a bicycle to order, its parts by name, the rules of the workshop, and the three best offers."""

from picture import board, show

from anycsp import Problem, solve

PARTS = {
    "frame": ["steel", "aluminium", "carbon"],
    "wheels": ["26 inch", "28 inch"],
    "gears": ["hub", "derailleur", "none"],
    "brakes": ["rim", "disc", "coaster"],
    "lights": ["dynamo", "battery"],
}
PRICE = {"steel": 300, "aluminium": 450, "carbon": 1200, "26 inch": 90, "28 inch": 110, "hub": 180, "derailleur": 140,
         "none": 0, "rim": 40, "disc": 120, "coaster": 60, "dynamo": 70, "battery": 30}  # fmt: skip


def main() -> str:
    problem = Problem("bicycle")
    part = {name: problem.add_variable(choices, name) for name, choices in PARTS.items()}
    problem.add(
        (part["brakes"] == "coaster").implies(part["gears"] != "derailleur"), name="coaster needs a straight chain"
    )
    problem.add((part["frame"] == "carbon").implies(part["brakes"] == "disc"), name="carbon frames have disc brakes")
    problem.add((part["gears"] == "none").implies(part["wheels"] == "28 inch"), name="single speed on large wheels")
    problem.add(part["brakes"] != "rim", name="rim brakes are sold out")
    cost = sum(PRICE[choice] * (part[name] == choice) for name, choices in PARTS.items() for choice in choices)
    problem.add(part["lights"] == "dynamo", name="the customer wants a dynamo")
    problem.add(part["gears"] != "none", name="and gears")
    problem.minimize(cost)

    result = solve(problem, time_limit=6, solutions=3)
    offers = [[*(offer[part[name]] for name in PARTS), offer[cost]] for offer in result.solutions]
    print(f"the cheapest costs {result[cost]}, the next ones {offers[1][-1]} and {offers[2][-1]}")
    return board([[*PARTS, "price"], *offers], lambda r, c: 0 if not r else -1, width=90)


if __name__ == "__main__":
    show(__file__, main)
