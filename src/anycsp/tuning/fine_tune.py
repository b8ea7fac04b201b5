"""Fine-tune a shipped network on the instances that settings are tuned on: `anycsp train files:DIR`, as a library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anycsp.neural import require_torch
from anycsp.neural.models import Model, load_model
from anycsp.neural.models.store import RUN_MODEL
from anycsp.tuning.instances import Family

DEPTHS = (40, 200)
"""Steps at which training judges a network: it has minutes, and a thousand steps on 32 instances would take most."""


def fine_tuned(family: Family, start: Model, minutes: float, folder: Path) -> Model:
    """The best network that so many minutes of training on a folder come to; it begins as `start`, searches as that
    does, and never sees the files held out."""
    require_torch("training")
    from anycsp.training import config as training_config
    from anycsp.training.trainer import Trainer

    ready = Path(training_config.__file__).with_name("ready.toml")
    settings = training_config.TrainingConfig.read(ready, [f"distribution={family.name}"])
    settings = replace(
        settings,
        # It must not choose by the instances that judge it in the end.
        validation=family.name,
        validation_parameters={"split": "train"},
        seed=family.seed,
        start_from=start.name,
        policy=start.weights.config,
        guidance=start.guidance,
        runs=start.runs,
        domain=start.domain or 0.0,
        temperatures=(start.temperature,),
        minutes=minutes,
        validate_minutes=minutes / 3,
        validation_depths=DEPTHS,
    )
    Trainer(settings, folder).run()
    return load_model(folder / RUN_MODEL)
