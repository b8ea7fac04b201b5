"""Options that several commands share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from anycsp.formats import FORMATS


class Whole(click.IntRange):
    """Whole numbers within bounds. click calls them "integer range", in the help and in errors."""

    name = "whole number"

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return "N"


class Number(click.FloatRange):
    """Numbers within bounds, which click calls "float range", and of which it takes NaN for one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return "X"


Command = TypeVar("Command", bound=Callable[..., Any])

format_option = click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="Format of FILE, where it cannot be recognised."
)
colors_option = click.option(
    "--colors", type=Whole(min=1), metavar="K", help="Number of colours, for graphs to colour."
)
temperature_option = click.option(
    "--temperature", metavar="T|HOT:COLD", help="Temperature of the network's softmax. Default: the model's."
)
guidance_option = click.option(
    "--guidance",
    metavar="STRENGTH:MEMORY",
    help="How strongly constraints that were violated lately pull at their variables (0: not at all), and how long "
    "that is remembered. Default: the model's.",
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
