"""A rule over a million combinations is labelled without ever making its table."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import torch

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.tensors import TensorGraph


def test_products_of_three_label_fast_and_small() -> None:
    problem = Problem()
    xs = problem.add_variables(300, range(100))
    rng = np.random.default_rng(0)
    tracemalloc.start()
    for _ in range(1000):
        a, b, c = rng.choice(300, 3, replace=False)
        problem.add(xs[a] * xs[b] == xs[c])
    assert [(block.kind, len(block)) for block in problem.blocks] == [("rule", 1000)]
    graph = TensorGraph(compile_graph(problem))
    positions = torch.from_numpy(rng.integers(0, 100, (1, 300)))
    graph.labels(positions)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 50e6, "one table of a million entries a constraint would be a gigabyte"
    began = time.process_time()
    for _ in range(5):
        graph.labels(positions)
    assert (time.process_time() - began) / 5 < 0.05
