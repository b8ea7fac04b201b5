"""Nurse roster: a shift per nurse and day, enough of each shift, rest after a night, and wishes for days off."""

from picture import board, show

from anycsp import Problem, solve

NURSES, DAYS = ["Ann", "Ben", "Cem", "Dot", "Eli"], ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
OFF, EARLY, LATE, NIGHT = range(4)
DAYS_OFF = {"Ann": ["Sa", "Su"], "Ben": ["We"], "Cem": ["Sa", "Su"], "Dot": ["Fr", "Sa"], "Eli": ["Su"]}


def main() -> str:
    problem = Problem("roster")
    shift = problem.add_variables((len(NURSES), len(DAYS)), OFF, NIGHT, prefix="shift")
    for day in range(len(DAYS)):
        for kind in (EARLY, LATE, NIGHT):
            problem.add_count(shift[:, day].tolist(), [kind], "==", 1, name=f"one nurse per shift on {DAYS[day]}")
    for nurse, name in enumerate(NURSES):
        problem.add((shift[nurse] != OFF).sum() <= 5, name=f"{name} works five days at most")
        for day in range(len(DAYS) - 1):
            rested = (shift[nurse, day] == NIGHT).implies(shift[nurse, day + 1].is_in([OFF, NIGHT]))
            problem.add(rested, name=f"{name} rests after a night")
        for wish in DAYS_OFF[name]:
            problem.add(shift[nurse, DAYS.index(wish)] == OFF, weight=1, name=f"{name} is off on {wish}")

    result = solve(problem, time_limit=3)
    print(f"{result.hard_violated} rules broken, {result.violated_weight:g} of 8 wishes not granted")
    values = result[shift]
    rows = [[name, *(" ELN"[values[nurse, day]] for day in range(7))] for nurse, name in enumerate(NURSES)]
    return board([["", *DAYS], *rows], lambda r, c: values[r - 1, c - 1] - 1 if r and c else -1, width=44)


if __name__ == "__main__":
    show(__file__, main)
