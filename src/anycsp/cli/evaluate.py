"""`anycsp evaluate`: what a model reaches on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anycsp.cli.options import Number, Whole, colors_option, guidance_option, temperature_option
from anycsp.errors import AnyCSPError

if TYPE_CHECKING:
    from anycsp.search.result import Result

OF_A_MODEL = ("neural", "hybrid")
"""The searches that a model leads."""


EPILOG = """
\b
Examples:
  anycsp evaluate instances --model runs/mine --steps 200
  anycsp evaluate instances --model runs/mine --search neural --search local --time-limit 1
"""


@click.command(epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--model",
    default="auto",
    show_default=True,
    help="auto, a shipped model, a .safetensors file, or a training run's folder.",
)
@click.option(
    "--search",
    "searches",
    multiple=True,
    metavar="SEARCH",
    help="A search of solve, neural by default. Give several to compare them on the same files.",
)
@click.option("--steps", type=Whole(min=1), help="Steps of every search.")
@click.option("--time-limit", type=Number(min=0, min_open=True), help="Seconds for every file.")
@click.option("--runs", type=Whole(min=1), help="Independent searches of every file, at once.")
@temperature_option
@guidance_option
@colors_option
@click.option("--seed", type=Whole(min=0), default=0, show_default=True)
@click.option("--threads", type=Whole(min=1), help="Threads; default all cores.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file.")
def evaluate(
    files: tuple[Path, ...],
    model: str,
    searches: tuple[str, ...],
    steps: int | None,
    time_limit: float | None,
    runs: int | None,
    temperature: str | None,
    guidance: str | None,
    colors: int | None,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Search every file, or every file of a folder, and print what stays unsatisfied."""
    from anycsp.distributions.folder import problem_files
    from anycsp.formats import read
    from anycsp.neural.guidance import as_guidance
    from anycsp.neural.models import load_model
    from anycsp.neural.temperature import as_temperature
    from anycsp.search import solve

    loaded = model if model == "auto" else load_model(model)
    paths = [path for given in files for path in (problem_files(str(given), "*") if given.is_dir() else [given])]
    if not paths:
        raise AnyCSPError(f"{files[0]}: a folder without readable files")
    compared = searches or ("neural",)
    results: dict[str, list[Result]] = {search: [] for search in compared}
    for path in paths:
        problem = read(path) if colors is None else read(path, colors=colors)
        for search, found in results.items():
            result = solve(
                problem,
                model=loaded if search in OF_A_MODEL else "auto",
                search=search,
                steps=steps,
                time_limit=time_limit,
                runs=runs,
                temperature=None if temperature is None else as_temperature(temperature),
                guidance=None if guidance is None else as_guidance(guidance),
                seed=seed,
                threads=threads,
            )
            found.append(result)
            if as_json:
                facts = {"file": str(path), **result.to_json()}
                del facts["assignment"]
                click.echo(json.dumps(facts))
            else:
                click.echo(f"{path.name}: {_line(result)}" + (f"  by {search}" if len(compared) > 1 else ""))
    if as_json:
        return
    for search, found in results.items():
        solved, left = sum(r.satisfied for r in found), sum(r.violated_weight for r in found) / len(found)
        said = f"{solved} of {len(found)} solved, {left:.3f} unsatisfied on average"
        seconds = sum(r.seconds for r in found) / len(found)
        click.echo(said if len(compared) == 1 else f"{search}: {said}, {seconds:.2g} s each")


def _line(result: Result) -> str:
    objective = f"  {result.objective['kind']} {result.objective['value']}" if result.objective else ""
    done = f"({result.steps} steps, {result.seconds:.1f} s)"
    return f"{result.violated} of {result.constraints} unsatisfied{objective}  {done}"
