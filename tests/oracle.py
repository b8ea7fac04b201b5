"""A slow, literal transcription of Algorithm 1's forward pass: loops over vertices and edges, no batching.

It reads a policy's parameters and nothing else of the package's mathematics; labels come from the definition,
by asking the problem whether a changed assignment satisfies each constraint.
"""

from __future__ import annotations

import math

import numpy as np

from anycsp import Problem
from anycsp.neural.policy import PolicyNetwork

Vector = np.ndarray


def satisfied(problem: Problem, positions: np.ndarray) -> list[bool]:
    """By constraint, in the order they were added."""
    result = [False] * problem.num_constraints
    for block in problem.blocks:
        for index, holds in zip(block.terms.index, block.satisfied(problem.domains, positions), strict=True):
            result[int(index)] = bool(holds)
    return result


def scopes(problem: Problem) -> list[list[int]]:
    result: list[list[int]] = [[] for _ in range(problem.num_constraints)]
    for block in problem.blocks:
        for row, index in enumerate(block.terms.index):
            result[int(index)] = [int(x) for x in block.scope_of(row)]
    return result


def edge_labels(problem: Problem, positions: np.ndarray) -> dict[tuple[int, int, int], int]:
    """L_E by definition: (constraint, variable, position) → 1 iff moving only that variable there satisfies it."""
    labels = {}
    for x in range(problem.num_variables):
        for p in range(len(problem.domain(x))):
            moved = positions.copy()
            moved[x] = p
            holds = satisfied(problem, moved)
            for c, scope in enumerate(scopes(problem)):
                if x in scope:
                    labels[c, x, p] = int(holds[c])
    return labels


class Oracle:
    def __init__(self, policy: PolicyNetwork) -> None:
        self.config = policy.config
        self.weights = {name: t.detach().double().numpy() for name, t in policy.state_dict().items()}

    def linear(self, name: str, x: Vector) -> Vector:
        bias = self.weights.get(f"{name}.bias", 0.0)
        return self.weights[f"{name}.weight"] @ x + bias

    def layer_norm(self, name: str, x: Vector) -> Vector:
        normal = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
        return normal * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def mlp(self, name: str, x: Vector) -> Vector:
        hidden = np.maximum(self.linear(f"{name}.0", x), 0)
        return self.layer_norm(f"{name}.3", self.linear(f"{name}.2", hidden))

    def combine(self, messages: list[Vector]) -> Vector:
        if not messages:
            return np.zeros(self.config.hidden)
        stacked = np.stack(messages)
        return {"sum": stacked.sum, "mean": stacked.mean, "max": stacked.max}[self.config.aggregation](axis=0)

    def gru(self, h: Vector, z: Vector) -> Vector:
        def sigmoid(x: Vector) -> Vector:
            return 1 / (1 + np.exp(-x))

        d = self.config.hidden
        i = self.weights["cell.weight_ih"] @ z + self.weights["cell.bias_ih"]
        j = self.weights["cell.weight_hh"] @ h + self.weights["cell.bias_hh"]
        reset, update = sigmoid(i[:d] + j[:d]), sigmoid(i[d : 2 * d] + j[d : 2 * d])
        new = np.tanh(i[2 * d :] + reset * j[2 * d :])
        return (1 - update) * new + update * h

    def gains(self, problem: Problem, positions: np.ndarray, labels: dict, v: tuple[int, int]) -> list[float]:
        weight = np.zeros(problem.num_constraints)
        for block in problem.blocks:
            weight[block.terms.index] = block.terms.weight
        in_graph = np.array([bool(scope) for scope in scopes(problem)], dtype=bool)
        weight = weight / weight[in_graph].mean() if in_graph.any() else weight
        x, p = v
        around = [c for c, scope in enumerate(scopes(problem)) if x in scope]
        at = sum(weight[c] * labels[c, x, p] for c in around)
        now = sum(weight[c] * labels[c, x, int(positions[x])] for c in around)
        degree, gain = sum(weight[c] for c in around), at - now
        return [gain / math.sqrt(degree + 1), max(-2, min(2, gain)) / 2, math.log1p(max(degree - at, 0))]

    def step(
        self, problem: Problem, positions: np.ndarray, state: dict[tuple[int, int], Vector]
    ) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], Vector]]:
        """Lines 11–25 of Algorithm 1: logits and next recurrent states, by value (variable, position)."""
        d, labels = self.config.hidden, edge_labels(problem, positions)
        values = [(x, p) for x in range(problem.num_variables) for p in range(len(problem.domain(x)))]
        latent, out = {}, {}
        for v in values:
            inputs = [*state[v], float(positions[v[0]] == v[1])]
            if self.config.features == "gain":
                inputs += self.gains(problem, positions, labels, v)
            latent[v] = self.mlp("encoder", np.array(inputs))
            both = self.layer_norm("value_message.1", self.linear("value_message.0", latent[v]))
            out[v] = both[:d], both[d:]
        sent = {}
        for c, scope in enumerate(scopes(problem)):
            received = [out[x, p][labels[c, x, p]] for x in scope for p in range(len(problem.domain(x)))]
            hidden = np.maximum(self.linear("constraint_message.0", self.combine(received)), 0)
            both = self.layer_norm("constraint_message.3", self.linear("constraint_message.2", hidden))
            sent[c] = both[:d], both[d:]
        updated = {}
        for x, p in values:
            received = [sent[c][labels[c, x, p]] for c, scope in enumerate(scopes(problem)) if x in scope]
            y = self.combine(received)
            updated[x, p] = self.mlp("value_update", latent[x, p] + y) + latent[x, p]
        logits, states = {}, {}
        for x in range(problem.num_variables):
            own = [(x, p) for p in range(len(problem.domain(x)))]
            pooled = self.mlp("variable_update", self.combine([updated[v] for v in own]))
            for v in own:
                states[v] = self.gru(state[v], updated[v] + pooled)
                hidden = np.maximum(self.linear("output.1", self.layer_norm("output.0", states[v])), 0)
                logits[v] = float(self.linear("output.3", hidden)[0])
                if self.config.inertia:
                    logits[v] += float(self.weights["inertia"]) * float(positions[x] == v[1])
        return logits, states
