"""Training: a network learns in seconds to satisfy small formulas, measured beside one that has learnt nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory

from picture import curve, show

from anycsp import distributions, load_model, solve
from anycsp.training.config import TrainingConfig
from anycsp.training.trainer import Trainer

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "sat.toml"
SECONDS, STEPS = 3.0, 40


def trained(folder: Path, seconds: float) -> float:
    """Train for so long; the clauses that the network leaves unsatisfied on average, on formulas it has not seen."""
    settings = [
        "parameters={n = 20}", "validation_parameters={n = 20}", "validation_instances=4", "validation_depths=[20]",
        "temperatures=[1.0]", "instances=8", f"minutes={seconds / 60}", f"validate_minutes={seconds / 60}", "seed=0",
    ]  # fmt: skip
    Trainer(TrainingConfig.read(CONFIG, settings), folder).run(quiet=True)
    policy = load_model(str(folder))
    unseen = distributions.get("sat", n=20).sample(seed=2, count=20)
    return sum(solve(problem, model=policy, steps=STEPS, runs=1).violated for problem in unseen) / len(unseen)


def main() -> str:
    with TemporaryDirectory() as folder:
        before = trained(Path(folder) / "before", 0.01)
        after = trained(Path(folder) / "after", SECONDS)
        print(f"unsatisfied after {STEPS} steps: {before:.2f} clauses untrained, {after:.2f} trained for {SECONDS:g} s")
        result = solve(
            distributions.get("sat", n=60).sample(seed=3, count=1)[0], model=str(Path(folder) / "after"), steps=200
        )
    return curve(
        [(point.step, point.violated) for point in result.trace], "unsatisfied clauses by steps of the trained network"
    )


if __name__ == "__main__":
    show(__file__, main)
