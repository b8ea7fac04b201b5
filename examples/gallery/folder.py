"""Learning from a folder: your own files, in any format, are what a network is trained on; a fifth is held out."""

from pathlib import Path
from tempfile import TemporaryDirectory

from picture import curve, show

from anycsp import Problem, read, solve
from anycsp.formats import write
from anycsp.training.config import TrainingConfig
from anycsp.training.trainer import Trainer

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "rb.toml"
SECONDS = 3.0


def rota(week: int) -> Problem:
    """One of your instances: who works on which day, differently every week."""
    problem = Problem(f"week {week}")
    person = problem.add_variables(14, 0, 4, prefix="shift")
    for day in range(13):
        problem.add(person[day] != person[day + 1])
        problem.add(person[day] + week % 3 != person[(day + 3 + week % 5) % 14])
    return problem


def main() -> str:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for week in range(20):
            write(rota(week), folder / f"week{week:02d}.json")
        settings = [
            f"distribution=files:{folder}", "parameters={}", "validation_parameters={}", "validation_depths=[20]",
            "temperatures=[1.0]", "instances=8", "seed=0", f"minutes={SECONDS / 60}",
            f"validate_minutes={SECONDS / 60}",
        ]  # fmt: skip
        counters = Trainer(TrainingConfig.read(CONFIG, settings), folder / "run").run(quiet=True)
        result = solve(read(folder / "week07.json"), model=str(folder / "run"), steps=300)
    print(f"learnt from 20 files in {counters.update} updates; week 7 is {result.status} by {result.search} search")
    return curve([(point.step, point.violated) for point in result.trace], "violated constraints by step, week 7")


if __name__ == "__main__":
    show(__file__, main)
