"""`anycsp models`: the shipped policies."""

from __future__ import annotations

import json
import re

import click


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the shipped models, or show the card of NAME (a name, a .safetensors file, or a training run's folder)."""
    from anycsp.neural.models import load_model, shipped_models
    from anycsp.neural.models.store import SHIPPED

    if name is None:
        for shipped in shipped_models():
            model = load_model(shipped)
            config = model.weights.config
            shape = f"hidden {config.hidden}, {config.aggregation}, runs {model.runs}"
            click.echo(f"{shipped:<13} {shape:<25} {_trained_on((SHIPPED / f'{shipped}.md').read_text())}")
        return
    model = load_model(name)
    card = SHIPPED / f"{name}.md"
    if card.exists():
        click.echo(card.read_text().rstrip())
        return
    facts = model.training
    click.echo(f"{model.name}: {facts.get('update', 0)} updates in {facts.get('minutes', 0):g} minutes")
    for depth, cost in facts.get("validation", {}).items():
        click.echo(f"{cost:.4g} unsatisfied after {depth} steps in validation")
    for key, value in facts.get("config", {}).items():
        click.echo(f"{key} = {json.dumps(value)}")


def _trained_on(card: str) -> str:
    """The first words of a card's row."""
    row = next(line for line in card.splitlines() if line.startswith("| trained on |"))
    return re.split(r"[,:] ", row.removeprefix("| trained on | ").removesuffix(" |"))[0]
