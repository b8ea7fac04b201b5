"""Timetable: rules that must hold have no weight, wishes have one; the answer says which wishes it could not grant."""

from itertools import combinations

from picture import board, show

from anycsp import Problem, solve

SLOTS, ROOMS = ["9:00", "10:00", "11:00", "13:00"], ["red", "blue"]
TALKS = {"Ada": "proofs", "Bob": "graphs", "Cleo": "proofs", "Dan": "search", "Eve": "graphs", "Fay": "search"}
WISHES = {"Ada": ("9:00", 3), "Bob": ("9:00", 2), "Cleo": ("9:00", 4), "Dan": ("13:00", 1), "Eve": ("11:00", 2)}


def main() -> str:
    problem = Problem("timetable")
    slot = {who: problem.add_variable(SLOTS, f"{who}'s slot") for who in TALKS}
    room = {who: problem.add_variable(ROOMS, f"{who}'s room") for who in TALKS}
    for a, b in combinations(TALKS, 2):
        problem.add((slot[a] != slot[b]) | (room[a] != room[b]), name=f"{a} and {b} in one room")
        if TALKS[a] == TALKS[b]:
            problem.add(slot[a] != slot[b], name=f"two talks on {TALKS[a]} at once")
    problem.add(slot["Fay"] != "9:00", name="Fay arrives late")
    for who, (when, weight) in WISHES.items():
        problem.add(slot[who] == when, weight=weight, name=f"{who} would like {when}")

    result = solve(problem, time_limit=3)
    lost = [constraint.name for constraint in result.violated_constraints]
    print(f"all rules hold, wishes of weight {result.violated_weight:g} are not granted: {', '.join(lost)}")
    at = {(result[slot[who]], result[room[who]]): who for who in TALKS}
    rows = [[r, *(at.get((s, r), "") for s in SLOTS)] for r in ROOMS]
    return board([["", *SLOTS], *rows], lambda r, c: c if r and c and rows[r - 1][c] else -1, width=70)


if __name__ == "__main__":
    show(__file__, main)
