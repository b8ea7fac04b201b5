"""Where the time of a run went, as a table: what `--profile` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PHASES = ("gather", "gemm", "gru", "sample", "relabel", "other")
"""In the order of Phase in native/kernels.h."""


@dataclass(frozen=True)
class Profile:
    """Processor time of the profiled steps."""

    seconds: Mapping[str, float]
    """By phase, all threads; "gru" holds the cell's products and gates, "gemm" all other products."""
    steps: int
    gflops: float
    """Of the matrix products, while they ran."""
    peak_gflops: float
    """Of one thread in a loop that touches no memory."""

    @property
    def share_of_peak(self) -> float:
        return self.gflops / self.peak_gflops if self.peak_gflops else 0.0

    def lines(self) -> list[str]:
        """The table, a line a phase."""
        total = sum(self.seconds.values())
        per_step = 1e3 / max(self.steps, 1)
        table = [f"{'phase':<10}{'seconds':>10}{'ms a step':>12}{'share':>8}"]
        for phase, seconds in [*self.seconds.items(), ("all", total)]:
            share = seconds / total if total else 0.0
            table.append(f"{phase:<10}{seconds:>10.3f}{seconds * per_step:>12.3f}{share:>8.1%}")
        table.append(
            f"{self.steps} steps; products at {self.gflops:.1f} GFLOPS, "
            f"{self.share_of_peak:.0%} of the measured peak of {self.peak_gflops:.1f}"
        )
        return table
