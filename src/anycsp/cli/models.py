"""`anycsp models`: the shipped policies."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the shipped models, or show the card of NAME (a name, or the path of a .safetensors file)."""
    from anycsp.models import load_model, shipped_models
    from anycsp.models.store import SHIPPED

    if name is None:
        for shipped in shipped_models():
            model = load_model(shipped)
            config = model.policy.config
            click.echo(f"{shipped:<12} hidden {config.hidden}, {config.aggregation}, runs {model.runs}")
        return
    model = load_model(name)
    card = SHIPPED / f"{name}.md"
    click.echo(card.read_text().rstrip() if card.exists() else json.dumps(model.training, indent=2))
