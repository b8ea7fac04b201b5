"""The counter-based generator of the search: a draw depends on seed, run, step and variable, on nothing else.

The same arithmetic (splitmix64's finaliser, chained) runs here and in cpp/neural/randomness.h, so results do not
depend on threads, blocks, batches or back end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1
_GOLDEN, _MUL1, _MUL2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mix(x: int) -> int:
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * _MUL1) & _MASK
    x = ((x ^ (x >> 27)) * _MUL2) & _MASK
    return x ^ (x >> 31)


def _mix_array(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The same on an array, in which products wrap around by themselves."""
    x = x + np.uint64(_GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MUL1)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MUL2)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def uniforms(seed: int, runs: range, step: int, count: int, first: int = 0) -> npt.NDArray[np.float32]:
    """[runs, count] in [0, 1): the draws of variables first, first + 1, … in one step of the given runs."""
    base = _mix(seed & _MASK)
    keys: npt.NDArray[np.uint64] = np.array(
        [_mix((_mix((base + run) & _MASK) + step) & _MASK) for run in runs], dtype=np.uint64
    )
    counters = np.add(keys[:, None], np.arange(first, first + count, dtype=np.uint64), dtype=np.uint64)
    draws: npt.NDArray[np.float32] = (_mix_array(counters) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return draws


def initial_positions(
    sizes: npt.NDArray[np.integer[Any]], seed: int, runs: range, step: int = 0, first: int = 0
) -> npt.NDArray[np.int64]:
    """α^(0), [runs, variables]: every variable uniform over its domain of the given size. The draw of step 0; of minus
    `step` where a run begins anew. `first` is the number of the first variable."""
    u = uniforms(seed, runs, -step, len(sizes), first).astype(np.float64)
    positions: npt.NDArray[np.int64] = np.minimum((u * sizes).astype(np.int64), sizes - 1)
    return positions
