"""The command `anycsp`, also as `python -m anycsp`. Signals come first: importing the rest takes longer than many
searches."""

from __future__ import annotations

from typing import NoReturn

from anycsp.interrupts import end_at_once


def main() -> NoReturn:
    end_at_once()
    from anycsp.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
