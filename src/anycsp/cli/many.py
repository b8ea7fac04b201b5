"""Many files of one `anycsp solve`: to workers and into a folder of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from anycsp.cluster.files import Answers, GivenFile, names_of
from anycsp.cluster.many import Given, Solved, solved_by
from anycsp.cluster.workers import open_workers
from anycsp.errors import AnyCSPError


def solve_files(
    paths: Sequence[str],
    out: Path,
    on: str,
    groups: int,
    processes: int | None,
    format_name: str | None,
    colors: int | None,
    options: Mapping[str, Any],
    say: Callable[[Mapping[str, Any]], None],
) -> int:
    """0, or 2 where a file has no answer. `say` gets the summary line of each file as it comes."""
    names = names_of(paths)
    settings = {**options, "groups": groups, "format": format_name, "colors": colors}
    options = {name: value for name, value in options.items() if value is not None}
    with Answers(out, settings) as answers, open_workers(on, processes) as workers:
        unreadable: list[Solved] = []

        def given() -> Iterator[tuple[str, Given]]:
            """What is not done yet; a file is read when there is room for its search."""
            for name, path in names.items():
                if name not in answers.lines:
                    try:
                        yield name, GivenFile.read(path, format_name, colors)
                    except AnyCSPError as error:
                        unreadable.append(Solved(name, None, str(error)))

        failed = 0
        for solved in solved_by(workers, given(), groups, options):
            failed += solved.result is None
            say(answers.add(solved))
        for solved in unreadable:
            failed += 1
            say(answers.add(solved))
    return 2 if failed else 0
