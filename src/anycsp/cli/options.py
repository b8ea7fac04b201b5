"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from anycsp.formats import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])

format_option = click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="Format of FILE, where it cannot be recognised."
)
colors_option = click.option(
    "--colors", type=click.IntRange(min=1), metavar="K", help="Number of colours, for graphs to colour."
)
temperature_option = click.option(
    "--temperature", metavar="T|HOT:COLD", help="Of the policy's softmax; default the model's."
)
guidance_option = click.option(
    "--guidance",
    metavar="STRENGTH:MEMORY",
    help="How hard constraints violated lately pull, and how long; 0 is not at all; default the model's.",
)

on_option = click.option(
    "--on",
    metavar="processes|ray[:ADDRESS]",
    help="Who searches: processes of this machine (default), or a Ray cluster, started here or at an address.",
)


def file_argument(command: Command) -> Command:
    """FILE is opened by the readers, which say what is wrong with it in one line."""
    return click.argument("file", type=click.Path(allow_dash=True))(command)


def files_argument(command: Command) -> Command:
    """One FILE, or many."""
    argument = click.argument("files", nargs=-1, required=True, metavar="FILE", type=click.Path(allow_dash=True))
    return argument(command)


def warn(comments: Iterable[str], path: str) -> None:
    """Pass a reader's warnings on, where standard output is for data."""
    for comment in comments:
        print(f"warning: {path}: {comment}", file=sys.stderr)
