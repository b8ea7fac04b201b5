"""Coverage-guided fuzzing of the readers: `python -m anycsp.fuzz.coverage FORMAT [options of libFuzzer]`.

Inputs that reach new code are kept in runs/coverage/FORMAT, where the next campaign begins; the first ones are those of
`files/seeds.py`. Needs atheris (`pip install 'anycsp[fuzz]'`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from anycsp.errors import AnyCSPError
from anycsp.fuzz.files.seeds import FILES
from anycsp.fuzz.outcome import expect

KEPT = Path("runs/coverage")
LONGEST_INPUT = 4096
"""Bytes: enough for any of the seeds several times over."""
SECONDS = 20
"""A file this short is read in milliseconds; with every branch counted, on a busy machine, in seconds."""


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["anycsp"]):
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
    for number, text in enumerate(FILES[f"x{ending}"]):
        (folder / f"seed-{number}").write_text(text, encoding="utf-8")
    options = [f"-max_len={LONGEST_INPUT}", f"-timeout={SECONDS}", f"-artifact_prefix={folder}-"]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:], str(folder)], read_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
