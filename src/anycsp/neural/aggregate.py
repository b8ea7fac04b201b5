"""⊕: gather message rows and reduce them per receiving vertex, by SUM, MEAN or MAX (0 where nothing arrives)."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from anycsp.graph import Incidence

_REDUCE = {"sum": "sum", "mean": "mean", "max": "amax"}


def aggregate(messages: Tensor, column: Tensor, incidence: Incidence, sources: int, how: str) -> Tensor:
    """messages [runs·sources, d], column [runs, edges] → [runs·rows, d].

    Row r of run i reduces the messages `i·sources + column[i, start[r]:start[r+1]]`.
    """
    runs, edges = column.shape
    rows = len(incidence.start) - 1
    offset = torch.arange(runs, device=column.device).view(-1, 1)
    flat = (column + offset * sources).reshape(-1)
    start = (incidence.start[:-1] + offset * edges).reshape(-1)
    start = torch.cat([start, start.new_tensor([runs * edges])])
    ones = torch.ones(runs * edges, dtype=messages.dtype, device=messages.device)
    if messages.is_cuda or edges == 0:
        return _scatter(messages, flat, start, how)
    with warnings.catch_warnings():  # torch announces its CSR support as beta, once a process
        warnings.simplefilter("ignore", UserWarning)
        matrix = torch.sparse_csr_tensor(start, flat, ones, size=(runs * rows, len(messages)), check_invariants=False)
    reduced: Tensor = torch.sparse.mm(matrix, messages, _REDUCE[how])
    return reduced


def _scatter(messages: Tensor, flat: Tensor, start: Tensor, how: str) -> Tensor:
    rows = len(start) - 1
    row = torch.repeat_interleave(torch.arange(rows, device=flat.device), start.diff())
    out = messages.new_zeros(rows, messages.shape[1])
    index = row[:, None].expand(-1, messages.shape[1])
    return out.scatter_reduce(0, index, messages.index_select(0, flat), _REDUCE[how], include_self=False)
