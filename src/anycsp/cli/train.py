"""`anycsp train`: train a policy from a configuration file."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anycsp.cli.options import Number, Whole

if TYPE_CHECKING:
    from anycsp.neural.models import Model
    from anycsp.training.config import TrainingConfig
    from anycsp.training.distributed import Ranks
    from anycsp.training.trainer import Trainer

AUTO, NOTHING = "auto", "none"
"""What `--from` may be beside a model: the one that `solve --model auto` would take, or random weights."""


EPILOG = """
\b
Examples:
  anycsp train files:DIR --out runs/mine --minutes 10
  anycsp train sat --out runs/sat --minutes 10
  anycsp train configs/sat.toml --out runs/sat --minutes 20
  anycsp train configs/sat.toml --from sat --set learning_rate=1e-4 --out runs/more
  torchrun --nproc-per-node 2 -m anycsp train configs/sat.toml --out runs/sat
  anycsp solve formula.cnf --model runs/mine
"""


@click.command(epilog=EPILOG)
@click.argument("config", required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the run.")
@click.option(
    "--from",
    "start_from",
    metavar="MODEL",
    help="Begin with a model's weights: a shipped name, a path, auto (for such problems) or none.",
)
@click.option("--resume", is_flag=True, help="Continue the run in --out from its last checkpoint.")
@click.option(
    "--allow-hook", is_flag=True, help="Let --resume call the Python function that the run's checkpoint names."
)
@click.option("--minutes", type=Number(min=0, min_open=True), help="Length of training; validation comes on top.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting of the configuration.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--threads", type=Whole(min=1), help="Threads of each process; default all cores, shared.")
@click.option("--quiet", is_flag=True, help="No progress display.")
@click.option("--profile", is_flag=True, help="Print where the time went, by phase.")
def train(
    config: str | None,
    out: Path,
    start_from: str | None,
    resume: bool,
    allow_hook: bool,
    minutes: float | None,
    overrides: tuple[str, ...],
    device: str,
    threads: int | None,
    quiet: bool,
    profile: bool,
) -> None:
    """Train a network as CONFIG says; the best model is OUT/best.safetensors.

    CONFIG is a TOML file, or just what to train on: the name of a distribution, or files:DIR for a folder of
    yours. Then training goes on from the shipped model for such problems, with settings that suit it. Stops
    cleanly at Ctrl-C or SIGTERM and can be resumed. It ends by saying what the default search leaves on the same
    instances.

    Under torchrun the processes share every batch and make the same steps, as if there were one; a run that is in OUT
    is continued, since torchrun starts the same command anew when a process has died.
    """
    # Threads that wait go to sleep: spinning, they made an update four times as long where a core was shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from anycsp.neural import require_torch

    require_torch("training")
    import torch

    from anycsp.neural.models.store import RUN_MODEL
    from anycsp.training import checkpoint
    from anycsp.training.config import ConfigError
    from anycsp.training.distributed import join, leave, under_torchrun
    from anycsp.training.references import verdict
    from anycsp.training.trainer import Trainer

    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch finds no such device here")
    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    ranks = join(device)
    if minutes is not None:
        overrides = (*overrides, "updates=0", f"minutes={minutes}")
    exists = ranks.of_first((out / checkpoint.FILE).exists())
    if resume or (exists and under_torchrun()):
        if resume and start_from is not None:
            raise ConfigError("--from begins a new run, --resume continues one: give one of the two")
        trainer = _resumed(config, out, overrides, allow_hook, restarted=not resume, ranks=ranks, device=device)
    elif exists:
        raise ConfigError(f"{out} holds a run: --resume continues it, another --out begins a new one")
    else:
        trainer = Trainer(_settings_to_begin_with(config, start_from, overrides), out, ranks=ranks, device=device)
    if profile:
        trainer.enable_profile()
    counters = trainer.run(quiet=quiet or not ranks.first)
    leave(ranks)
    if not ranks.first:
        return
    model = out / RUN_MODEL
    spent = f"{counters.update} updates in {counters.seconds / 60:.1f} minutes"
    if math.isfinite(counters.best):
        click.echo(f"{spent}, best validation {counters.best:.4g} at update {counters.best_update}: {model}")
        if compared := verdict(counters.best, trainer.references):
            click.echo(compared)
    else:
        click.echo(f"{spent}, not validated yet: {model}; anycsp train --out {out} --resume goes on")
    if profile:
        click.echo(trainer.profile_report())


def _resumed(
    config: str | None,
    out: Path,
    overrides: tuple[str, ...],
    allow_hook: bool,
    *,
    restarted: bool,
    ranks: Ranks,
    device: str,
) -> Trainer:
    """`restarted`: the same command has begun the run, so what its configuration names is known code."""
    from anycsp.training.trainer import Trainer

    given = None if config is None else _settings(config, overrides)
    known_hooks = given.hooks() if given is not None and restarted else ()
    trainer = Trainer.resume(out, overrides, allow_hook=allow_hook, known_hooks=known_hooks, ranks=ranks, device=device)
    if given is not None and ranks.first and not restarted and (differ := trainer.config.differences(given)):
        click.echo(f"settings are those of {out}; {config} differs in {', '.join(differ)}", err=True)
    return trainer


def _settings_to_begin_with(config: str | None, start_from: str | None, overrides: tuple[str, ...]) -> TrainingConfig:
    from anycsp.neural.models import load_model
    from anycsp.training.config import ConfigError

    if config is None:
        raise ConfigError("a new run needs a configuration file or a distribution, e.g. sat or files:DIR")
    settings = _settings(config, overrides)
    if start_from is None:
        start_from = settings.start_from or (NOTHING if Path(config).is_file() else AUTO)
    if start_from == AUTO:
        from anycsp import distributions
        from anycsp.search.choose import choose_model

        start_from = choose_model(distributions.draw(settings.training_distribution(), settings.seed, 0))
    if start_from != NOTHING:
        settings = _started(settings, load_model(start_from), start_from, overrides)
    return settings


def _settings(config: str, overrides: tuple[str, ...]) -> TrainingConfig:
    """Those of a file, or the ready ones with a distribution."""
    from anycsp import distributions
    from anycsp.training import config as training_config

    if Path(config).is_file():
        return training_config.TrainingConfig.read(config, overrides)
    if config not in distributions.NAMES and config.partition(":")[0] not in ("files", distributions.HOOK):
        known = ", ".join([*distributions.NAMES, "files:DIR"])
        raise training_config.ConfigError(f"{config}: neither a configuration file nor a distribution ({known})")
    ready = Path(training_config.__file__).with_name("ready.toml")
    return training_config.TrainingConfig.read(ready, (f"distribution={config}", *overrides))


def _started(settings: TrainingConfig, start: Model, name: str, overrides: tuple[str, ...]) -> TrainingConfig:
    """Beginning with a model, and judged with its search settings beside those of the configuration: it shall not lose
    what the model can."""
    from anycsp.neural.weights import widened

    settings = replace(settings, start_from=name)
    # Inputs that the configuration adds are kept: the policy begins by not reading them.
    if widened(start.weights, settings.policy) is None and not any(text.startswith("policy") for text in overrides):
        settings = replace(settings, policy=start.weights.config)
    return replace(
        settings,
        guidance=settings.guidance or start.guidance,
        runs=start.runs,
        domain=start.domain or 0.0,
        temperatures=tuple(dict.fromkeys([start.temperature, *settings.temperatures])),
    )
