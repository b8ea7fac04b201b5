"""`anycsp version`."""

from __future__ import annotations

import click

import anycsp
from anycsp import native


@click.command()
def version() -> None:
    """Print the version, and whether the native module is in use."""
    click.echo(
        f"anycsp {anycsp.__version__} ({'native' if native.available() else 'no native module: ' + native.why_not()})"
    )
