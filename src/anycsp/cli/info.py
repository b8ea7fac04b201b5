"""`anycsp info`: what a problem looks like, or what this machine offers."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections import Counter
from typing import Any

import click
import numpy as np

from anycsp import native
from anycsp.cli.options import colors_option, format_option, warn
from anycsp.footprint import count_edges, estimate_bytes
from anycsp.formats import detect, parse
from anycsp.formats.files import load
from anycsp.memory import available_bytes
from anycsp.model.problem import Problem
from anycsp.threads import available_threads

EPILOG = """
\b
Examples:
  anycsp info formula.cnf
  anycsp info graph.col --colors 5 --json
  anycsp info --system
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@format_option
@colors_option
@click.option("--system", is_flag=True, help="Describe this machine and installation instead of a file.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def info(file: str | None, format_name: str | None, colors: int | None, system: bool, as_json: bool) -> None:
    """Sizes, domains, arities, constraint kinds, edges and estimated memory of the problem in FILE."""
    if system:
        facts = describe_system()
    elif file is None:
        raise click.UsageError("a FILE, or --system", click.get_current_context())
    else:
        source = load(file)
        problem = parse(source, format=format_name, colors=colors)
        warn(problem.comments, file)
        facts = {"format": detect(source, format_name).name, **describe(problem)}
    if as_json:
        click.echo(json.dumps(facts))
        return
    for key, value in facts.items():
        click.echo(f"{key.removesuffix('_bytes').replace('_', ' '):<18}{_spelled(key, value)}")


def describe(problem: Problem) -> dict[str, Any]:
    """Plain facts about a problem; keys as in `--json`."""
    sizes = problem.domain_sizes
    blocks = [block for block in problem.blocks if len(block)]
    arities = Counter(int(a) for block in blocks for a in block.arity.tolist())
    weights = np.concatenate([block.terms.weight for block in blocks]) if blocks else np.ones(0)
    return {
        "name": problem.name,
        "variables": problem.num_variables,
        "values": int(sizes.sum()),
        "domain_sizes": _counts(Counter(sizes.tolist())),
        "constraints": problem.num_constraints,
        "kinds": {block.kind: len(block) for block in blocks},
        "arities": _counts(arities),
        "weights": [float(weights.min()), float(weights.max())] if len(weights) else [],
        "hard": int(sum(int(block.terms.hard.sum()) for block in blocks)),
        "objective": problem.objective.kind if problem.objective else None,
        "edges": count_edges(problem),
        "memory_bytes": estimate_bytes(problem),
        "memory_available_bytes": available_bytes(),
    }


def _counts(counter: Counter[int]) -> dict[str, int]:
    return {str(key): counter[key] for key in sorted(counter)}


def describe_system() -> dict[str, Any]:
    import anycsp

    facts: dict[str, Any] = {
        "anycsp": anycsp.__version__,
        "native": "in use" if native.available() else f"{native.why_not()}; PyTorch in use",
        **_native_facts(),
        "python": platform.python_version(),
        "torch": _version("torch"),
        "threads": available_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_available_bytes": available_bytes(),
    }
    return facts


def _native_facts() -> dict[str, Any]:
    """How the compiled module was built, and which of its instruction sets run here."""
    if not native.available():
        return {}
    module = native.module()
    return {
        "instruction_set": f"{module.level()} (available: {', '.join(module.levels())})",
        "compiler": module.compiler,
        "build": module.build,
    }


def _version(package: str) -> str:
    """The version of a package that may be installed, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _spelled(key: str, value: Any) -> str:
    if key.endswith("bytes"):
        return f"{value / 2**20:,.1f} MiB"
    if isinstance(value, dict):
        shown = list(value.items())[:8]
        more = f", … ({len(value)} in all)" if len(value) > len(shown) else ""
        joined = ", ".join(f"{name}: {count:,}" if key == "kinds" else f"{name} (×{count:,})" for name, count in shown)
        return (joined or "none") + more
    if isinstance(value, list):
        return " to ".join(f"{v:g}" for v in sorted(set(value))) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value) if value not in (None, "") else "none"
