"""The counter-based generator of the search: a draw depends on seed, run, step and variable, on nothing else.

The same arithmetic (splitmix64's finaliser, chained) runs here and in cpp/neural/randomness.h, so results do not
depend on threads, blocks, batches or back end.
"""

from __future__ import annotations

from functools import lru_cache

import torch

_MASK = (1 << 64) - 1
_GOLDEN, _MUL1, _MUL2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mix(x: int) -> int:
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * _MUL1) & _MASK
    x = ((x ^ (x >> 27)) * _MUL2) & _MASK
    return x ^ (x >> 31)


def _signed(x: int) -> int:
    return x - (1 << 64) if x >= 1 << 63 else x


def _shift_right(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift of the 64-bit pattern; torch's own shift keeps the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix_tensor(x: torch.Tensor) -> torch.Tensor:
    x = x + _signed(_GOLDEN)
    x = (x ^ _shift_right(x, 30)) * _signed(_MUL1)
    x = (x ^ _shift_right(x, 27)) * _signed(_MUL2)
    return x ^ _shift_right(x, 31)


@lru_cache(maxsize=64)
def _counters(count: int, device: torch.device) -> torch.Tensor:
    return torch.arange(count, dtype=torch.int64, device=device)


def uniforms(seed: int, runs: range, step: int, count: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """[runs, count] float32 in [0, 1): the draw of every variable in one step of the given runs."""
    base = _mix(seed & _MASK)
    keys = [_signed(_mix((_mix((base + run) & _MASK) + step) & _MASK)) for run in runs]
    mixed = _mix_tensor(torch.tensor(keys, device=device)[:, None] + _counters(count, torch.device(device)))
    return _shift_right(mixed, 40).to(torch.float32) * 2.0**-24
