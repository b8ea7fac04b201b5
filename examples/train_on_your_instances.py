"""Train a network on a folder of instances, measure it on instances it has not seen, and solve with it.

    python examples/train_on_your_instances.py [--instances FOLDER] [--out FOLDER] [--minutes 0.5]

Without --instances a folder of small 3-SAT formulas is drawn first. Any readable format will do; a fifth of the files
is held out and used to choose the best model of the run. Half a minute shows how it goes, ten make a useful model.
"""

import argparse
from pathlib import Path

from anycsp import Problem, distributions, load_model, read, solve
from anycsp.formats import write
from anycsp.training.config import TrainingConfig
from anycsp.training.trainer import Trainer

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "sat.toml"
STEPS = 200


def draw_instances(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i, problem in enumerate(distributions.get("sat", n=40).sample(seed=1, count=count)):
        write(problem, folder / f"formula{i}.cnf")


def unsatisfied(model: str, problems: list[Problem]) -> float:
    """Constraints that neural search leaves unsatisfied on average."""
    policy = load_model(model)
    left = [solve(problem, model=policy, steps=STEPS, runs=1, seed=0).violated for problem in problems]
    return sum(left) / len(left)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/example"))
    parser.add_argument("--minutes", type=float, default=0.5)
    options = parser.parse_args()
    folder = options.instances or options.out / "instances"
    if options.instances is None:
        draw_instances(folder, 50)

    config = TrainingConfig.read(
        CONFIG,
        [
            f"distribution=files:{folder}",
            "validation_parameters={}",  # those of the config are for drawn formulas
            f"minutes={options.minutes}",
            f"validate_minutes={options.minutes / 2}",
            "validation_depths=[40, 200]",
            "temperatures=[1.0]",
            "instances=8",
            "seed=0",
        ],
    )
    run = options.out / "run"
    counters = Trainer(config, run).run(quiet=True)
    print(f"{counters.update} updates in {counters.seconds:.0f} s; the model is {run / 'best.safetensors'}")

    unseen = distributions.get("sat", n=40).sample(seed=2, count=10)
    print(f"unsatisfied after {STEPS} steps: {unsatisfied(str(run), unseen):.2f} on average of {len(unseen)} formulas")

    example = sorted(folder.iterdir())[0]
    result = solve(read(example), model=str(run), time_limit=2)
    print(f"{example.name}: {result.status}, {result.violated} of {result.constraints} violated")
