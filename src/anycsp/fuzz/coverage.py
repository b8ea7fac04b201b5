"""Coverage-guided fuzzing of the readers: `python -m anycsp.fuzz.coverage FORMAT [options of libFuzzer]`.

Inputs that reach new code are kept in runs/coverage/FORMAT, where the next campaign begins; the first ones are those of
`files/seeds.py`. Needs atheris (`pip install 'anycsp[fuzz]'`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

from anycsp.errors import AnyCSPError
from anycsp.fuzz.files.seeds import FILES
from anycsp.fuzz.outcome import expect

KEPT = Path("runs/coverage")
COUNTED = ("anycsp.formats.", "anycsp.model.")
"""Packages whose branches count."""
LONGEST_INPUT = 4096
"""Bytes: enough for any of the seeds several times over."""
SECONDS = 20
"""A file this short is read in milliseconds; with every branch counted, on a busy machine, in seconds."""


def functions() -> Iterator[FunctionType]:
    """All functions and methods of the readers and the model that are imported by now. atheris would rather see to the
    imports itself, but the finder of an editable installation comes before its own, and nothing is counted then."""
    for name, module in list(sys.modules.items()):
        if name.startswith(COUNTED):
            spaces = [vars(module), *(vars(c) for c in vars(module).values() if isinstance(c, type))]
            for value in [value for space in spaces for value in space.values()]:
                if isinstance(value, FunctionType) and value.__module__ == name:
                    yield value


def main() -> None:
    import atheris

    from anycsp.formats import FORMATS, read_text

    if len(sys.argv) < 2 or sys.argv[1] not in FORMATS:
        sys.exit(f"usage: python -m anycsp.fuzz.coverage {{{','.join(FORMATS)}}} [-max_total_time=60 …]")
    name = sys.argv.pop(1)

    def read_one(data: bytes) -> None:
        try:
            read_text(data, format=name)
        except AnyCSPError as error:
            expect("\n" not in str(error), "an error of several lines")  # the command line shortens long ones

    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    ending = FORMATS[name].extensions[0]
    for number, data in enumerate(FILES[f"x{ending}"]):
        (folder / f"seed-{number}").write_bytes(data)
        read_one(data)  # imports whatever the format needs
    for function in functions():
        atheris.instrument_func(function)
    options = [f"-max_len={LONGEST_INPUT}", f"-timeout={SECONDS}", f"-artifact_prefix={folder}-"]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:], str(folder)], read_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
