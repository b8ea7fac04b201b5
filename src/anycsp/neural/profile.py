"""Where the time of a run went, as a table: what `--profile` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PHASES = ("gather", "gemm", "gru", "sample", "relabel", "other")
"""In the order of Phase in cpp/neural/kernels.h."""


@dataclass(frozen=True)
class Profile:
    """Processor time of the profiled steps."""

    seconds: Mapping[str, float]
    """By phase, all threads; "gru" holds the cell's products and gates, "gemm" all other products."""
    steps: int
    gflops: float
    """The speed of the matrix products, while they ran."""
    peak_gflops: float
    """The speed of one thread in a loop that touches no memory."""

    @property
    def share_of_peak(self) -> float:
        return self.gflops / self.peak_gflops if self.peak_gflops else 0.0

    def lines(self) -> list[str]:
        return [
            *phase_table(self.seconds, self.steps, "a step"),
            f"{self.steps} steps; products at {self.gflops:.1f} GFLOPS, "
            f"{self.share_of_peak:.0%} of the measured peak of {self.peak_gflops:.1f}",
        ]


def phase_table(seconds: Mapping[str, float], times: int, each: str) -> list[str]:
    """A line a phase and one for all: seconds, milliseconds of each of so many times, and the share."""
    total = sum(seconds.values())
    names = max(map(len, seconds), default=0) + 3
    average = f"ms {each}"
    table = [f"{'phase':<{names}}{'seconds':>10}{average:>{len(average) + 3}}{'share':>8}"]
    for phase, spent in [*seconds.items(), ("all", total)]:
        share = spent / total if total else 0.0
        of_each = spent / max(times, 1) * 1e3
        table.append(f"{phase:<{names}}{spent:>10.3f}{of_each:>{len(average) + 3}.3f}{share:>8.1%}")
    return table
