"""`anycsp train`: train a policy from a configuration file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from anycsp.training.trainer import Trainer


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the run.")
@click.option("--from", "start_from", metavar="MODEL", help="Begin with a model's weights: a shipped name or a path.")
@click.option("--resume", is_flag=True, help="Continue the run in --out from its last checkpoint.")
@click.option(
    "--allow-hook", is_flag=True, help="Let --resume call the Python function that the run's checkpoint names."
)
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), help="Length of training; validation comes on top."
)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting of the configuration.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; default all cores.")
@click.option("--quiet", is_flag=True, help="No progress display.")
@click.option("--profile", is_flag=True, help="Print where the time went, by phase.")
def train(
    config: Path | None,
    out: Path,
    start_from: str | None,
    resume: bool,
    allow_hook: bool,
    minutes: float | None,
    overrides: tuple[str, ...],
    threads: int | None,
    quiet: bool,
    profile: bool,
) -> None:
    """Train a policy as CONFIG says; the best model is OUT/best.safetensors.

    Stops cleanly at Ctrl-C or SIGTERM and can be resumed.

    \b
    anycsp train configs/sat.toml --out runs/sat --minutes 20
    anycsp train configs/sat.toml --set distribution=files:DIR --out runs/mine --minutes 10
    anycsp train configs/sat.toml --from sat --set learning_rate=1e-4 --out runs/more
    anycsp solve formula.cnf --model runs/mine
    """
    # Threads that wait go to sleep: spinning, they made an update four times as long where a core was shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from anycsp.neural import require_torch

    require_torch("training")
    import torch

    from anycsp.neural.models.store import RUN_MODEL

    torch.set_num_threads(threads or os.cpu_count() or 1)
    if minutes is not None:
        overrides = (*overrides, "updates=0", f"minutes={minutes}")
    if resume:
        trainer = _resumed(config, out, start_from, overrides, allow_hook)
    else:
        trainer = _begun(config, out, start_from, overrides)
    if profile:
        trainer.enable_profile()
    counters = trainer.run(quiet=quiet)
    model = out / RUN_MODEL
    spent = f"{counters.update} updates in {counters.seconds / 60:.1f} minutes"
    if counters.best_update:
        click.echo(f"{spent}, best validation {counters.best:.4g} at update {counters.best_update}: {model}")
    else:
        click.echo(f"{spent}, not validated yet: {model}; anycsp train --out {out} --resume goes on")
    if profile:
        click.echo(trainer.profile_report())


def _resumed(
    config: Path | None, out: Path, start_from: str | None, overrides: tuple[str, ...], allow_hook: bool
) -> Trainer:
    from anycsp.training.config import ConfigError, TrainingConfig
    from anycsp.training.trainer import Trainer

    if start_from is not None:
        raise ConfigError("--from begins a new run, --resume continues one: give one of the two")
    trainer = Trainer.resume(out, overrides, allow_hook=allow_hook)
    if config is not None and (differ := trainer.config.differences(TrainingConfig.read(config, overrides))):
        click.echo(f"settings are those of {out}; {config} differs in {', '.join(differ)}", err=True)
    return trainer


def _begun(config: Path | None, out: Path, start_from: str | None, overrides: tuple[str, ...]) -> Trainer:
    from anycsp.neural.models import load_model
    from anycsp.neural.weights import widened
    from anycsp.training import checkpoint
    from anycsp.training.config import ConfigError, TrainingConfig
    from anycsp.training.trainer import Trainer

    if config is None:
        raise ConfigError("a new run needs a configuration file, e.g. configs/sat.toml")
    if (out / checkpoint.FILE).exists():
        raise ConfigError(f"{out} holds a run: --resume continues it, another --out begins a new one")
    settings = TrainingConfig.read(config, overrides)
    if start_from is not None:
        settings = replace(settings, start_from=start_from)
        if not any(override.startswith("policy") for override in overrides):
            model = load_model(start_from).weights
            # Inputs that the configuration adds are kept: the policy begins by not reading them.
            if widened(model, settings.policy) is None:
                settings = replace(settings, policy=model.config)
    return Trainer(settings, out)
