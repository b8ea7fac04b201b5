"""Settings of compiled search for one family of problems, as `anycsp tune` finds them: a small TOML file.

`solve(problem, model=PATH)` and `anycsp solve FILE --model PATH` search with them. What a file leaves out stays as
`auto` has it, so that a file of one line is one too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anycsp.errors import ModelError
from anycsp.formats.files import write_whole
from anycsp.schema import FLAG, TABLE, Schema, check, shown, whole
from anycsp.search.parameters import BOUT, GROWTH, LEADER, PARAMETERS, SHARE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT_VERSION = 1
FILE = "heuristic.toml"
"""Its name within a folder that `anycsp learn` made."""
SHIPPED = Path(__file__).parent / "heuristics"
LONGEST = 1 << 20
"""Bytes of a file; ours take one thousand."""

DOCUMENT: Schema = {
    "format_version": whole(FORMAT_VERSION, FORMAT_VERSION),
    "search": TABLE,
    "shares": TABLE,
    "parameters": TABLE,
    "provenance": TABLE,
}
SEARCH: Schema = {
    "presolve": FLAG,
    "graded": FLAG,
    "bout": BOUT.rule,
    "growth": GROWTH.rule,
    "leader": LEADER.rule,
}
BESIDE = ("tree", "invariants")
"""Members of the portfolio that are no local strategies."""
SHARES: Schema = {name: SHARE.rule for name in (*BESIDE, *PARAMETERS)}
STRATEGIES: Schema = dict.fromkeys(PARAMETERS, TABLE)


@dataclass(frozen=True)
class Heuristic:
    """Settings of compiled search; the defaults are what `auto` does."""

    name: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Part of the time of each strategy and of the tree; empty: as the kind of problem has it."""
    parameters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By strategy, where they are not its defaults."""
    presolve: bool = True
    graded: bool = True
    """Whether moves that bring a violated sum nearer count as better."""
    bout: int | None = None
    """Moves of a first bout; None: where several strategies race, `portfolio.FIRST_BOUT`, else runs have no bouts."""
    growth: float = 2.0
    leader: float = 3.0
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: command, seed, instances, what it gained."""

    def document(self) -> dict[str, Any]:
        """What a file holds."""
        search = {"presolve": self.presolve, "graded": self.graded, "growth": self.growth, "leader": self.leader}
        return {
            "format_version": FORMAT_VERSION,
            "search": search if self.bout is None else {**search, "bout": self.bout},
            "shares": dict(self.shares),
            "parameters": {strategy: dict(table) for strategy, table in self.parameters.items()},
            "provenance": dict(self.provenance),
        }


def heuristic_of(document: object, where: str, name: str) -> Heuristic:
    """The heuristic in a file's content; where it holds none, one line of error names the place."""
    tables = check(document, DOCUMENT, where, ModelError, optional=("search", "shares", "parameters", "provenance"))
    search = check(tables.get("search", {}), SEARCH, f"{where}: search", ModelError, optional=SEARCH)
    shares = check(tables.get("shares", {}), SHARES, f"{where}: shares", ModelError, optional=SHARES)
    if shares and set(shares) <= set(BESIDE):
        raise ModelError(f"{where}: shares: no strategy beside the tree; give one, such as tabu, a small share")
    parameters = check(
        tables.get("parameters", {}), STRATEGIES, f"{where}: parameters", ModelError, optional=STRATEGIES
    )
    for strategy, table in parameters.items():
        schema = {parameter: declared.rule for parameter, declared in PARAMETERS[strategy].items()}
        check(table, schema, f"{where}: parameters.{strategy}", ModelError, optional=schema)
    return Heuristic(name, shares, parameters, provenance=tables.get("provenance", {}), **search)


def names_heuristic(model: object) -> bool:
    """Whether what was given as a model is a file of settings, or a folder or a shipped name of one."""
    if not isinstance(model, (str, Path)):
        return False
    path = Path(model)
    return path.suffix == ".toml" or (path / FILE).is_file() or str(model) in shipped_heuristics()


def shipped_heuristics() -> list[str]:
    """The names of the settings that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def load_heuristic(name_or_path: str | Path) -> Heuristic:
    """Shipped settings by name, or any by the path of their file or of the folder that it is in."""
    path = Path(name_or_path)
    if str(name_or_path) in shipped_heuristics():
        path = SHIPPED / f"{name_or_path}.toml"
    elif path.is_dir():
        path /= FILE
    try:
        if path.stat().st_size > LONGEST:
            raise ModelError(f"{path}: longer than {LONGEST >> 20} MiB, so no file of search settings")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(
            f"{path}: cannot read the search settings ({(error.strerror or str(error)).lower()})"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path}: not a TOML file ({shown(str(error), 120)})") from None
    name = path.resolve().parent.name if path.name == FILE else path.stem
    return heuristic_of(document, str(path), name)


def save_heuristic(heuristic: Heuristic, path: str | Path, comment: str = "") -> None:
    """Write a file that `load_heuristic` reads; it appears complete or not at all."""
    lines = [f"# {line}" for line in comment.splitlines()]
    document = heuristic.document()
    lines.append(f"format_version = {document.pop('format_version')}")
    for name, table in document.items():
        if name == "parameters":
            for strategy, values in table.items():
                lines += _table(f"parameters.{strategy}", values)
        elif table:
            lines += _table(name, table)
    write_whole(Path(path), "\n".join(lines) + "\n")


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    return ["", f"[{name}]", *(f"{key} = {_value(value)}" for key, value in values.items())]


def _value(value: Any) -> str:
    """A number, flag, text or list of them in TOML, which writes all of these as JSON does."""
    return json.dumps(value, ensure_ascii=False)
