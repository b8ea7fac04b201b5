"""The policy's weights in the form the native step multiplies with; in double precision where they are changed.

A LayerNorm after a linear layer needs its input's mean and variance. Subtracting from every column of the layer's
matrix its mean over the outputs makes that mean zero for every input: `_centred`.

In the linear form (SUM and MEAN, docs/architecture.md) M_C's layers move to the value side. With a(C) the hidden layer
of M_C, W̃ its centred second matrix and σ its standard deviation, the two messages are scale·(W̃ a/σ) + shift, and
σ² + ε needs only ‖W̃ a‖² = ‖R a‖² with the triangular factor R of W̃: half the work of W̃, once per constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.neural.weights import Weights

FloatArray = npt.NDArray[np.float64]
StepWeights = dict[str, Callable[[], npt.NDArray[np.float32]]]


def _centred(weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A layer's matrix, or its bias, with its outputs' mean subtracted."""
    mean: npt.NDArray[Any] = weight.mean(axis=0, dtype=np.float64).astype(weight.dtype)
    centred: npt.NDArray[Any] = weight - mean
    return centred


def step_weights(policy: Weights, linear: bool) -> StepWeights:  # noqa: C901, PLR0915 (a table, one row per weight)
    """Every matrix [outputs, inputs] and vector of the native step by name; `.bias` beside a matrix that has one.
    Each is computed when it is called for, so that only one exists at a time."""
    d = policy.config.hidden
    weights: StepWeights = {}

    def plain(name: str) -> npt.NDArray[np.float32]:
        return policy.arrays[name]

    def double(name: str) -> FloatArray:
        return plain(name).astype(np.float64)

    def put(name: str, array: Callable[[], npt.NDArray[Any]]) -> None:
        weights[name] = lambda: np.ascontiguousarray(array(), dtype=np.float32)

    def layer(name: str, module: str) -> None:
        put(name, partial(plain, f"{module}.weight"))
        put(f"{name}.bias", partial(plain, f"{module}.bias"))

    def centred_layer(name: str, module: str) -> None:
        put(name, lambda: _centred(plain(f"{module}.weight")))
        if f"{module}.bias" in policy.arrays:
            put(f"{name}.bias", lambda: _centred(plain(f"{module}.bias")))

    def norm(name: str, module: str) -> None:
        put(f"{name}.scale", partial(plain, f"{module}.weight"))
        put(f"{name}.shift", partial(plain, f"{module}.bias"))

    put("initial_state", partial(plain, "initial_state"))
    put("encoder1", lambda: plain("encoder.0.weight")[:, :d])
    put("encoder1.bias", partial(plain, "encoder.0.bias"))
    put("encoder_chosen", lambda: plain("encoder.0.weight")[:, d])
    put("encoder_gain", lambda: plain("encoder.0.weight")[:, d + 1 :].T.reshape(-1))
    centred_layer("encoder2", "encoder.2")
    norm("encoder_norm", "encoder.3")
    centred_layer("value_message", "value_message.0")
    norm("value_message_norm", "value_message.1")
    norm("constraint_norm", "constraint_message.3")
    centred_layer("value2", "value_update.2")
    norm("value_norm", "value_update.3")
    layer("variable1", "variable_update.0")
    centred_layer("variable2", "variable_update.2")
    norm("variable_norm", "variable_update.3")

    def of_constraint() -> FloatArray:
        used = [("weight_message", policy.config.weighted), ("kind_message", policy.config.kinds)]
        return np.concatenate(
            [np.zeros((d, 0)), *(double(f"{name}.weight") for name, is_used in used if is_used)], axis=1
        )

    if linear:

        def value1() -> FloatArray:
            return double("value_update.0.weight")

        def shift() -> FloatArray:
            return double("constraint_message.3.bias")

        def message() -> FloatArray:  # rows: label 0, then label 1
            centred: FloatArray = _centred(double("constraint_message.2.weight"))
            return double("constraint_message.3.weight")[:, None] * centred

        def reads_both() -> FloatArray:
            both = message()
            return np.concatenate([value1(), value1() @ (both[:d] - both[d:])], axis=1)

        put("constraint1", partial(plain, "constraint_message.0.weight"))
        put("constraint1_bias", partial(plain, "constraint_message.0.bias"))
        put("spread", lambda: np.linalg.qr(_centred(double("constraint_message.2.weight"))).R)
        put("value1", reads_both)
        put("value1.bias", partial(plain, "value_update.0.bias"))
        put("total", lambda: value1() @ message()[d:])
        put("label1", lambda: value1() @ shift()[d:])
        put("exception", lambda: value1() @ (shift()[:d] - shift()[d:]))
        put("constraint_weight", lambda: (double("constraint_message.0.weight") @ of_constraint()).T.reshape(-1))
    else:
        layer("constraint1", "constraint_message.0")
        centred_layer("constraint2", "constraint_message.2")
        layer("value1", "value_update.0")
        put("constraint_weight", lambda: of_constraint().T.reshape(-1))

    # nn.GRUCell stacks its gates as reset, update, new; the first two read [input, hidden] at once.
    both, new = slice(2 * d), slice(2 * d, None)
    put("gates", lambda: np.concatenate([plain("cell.weight_ih")[both], plain("cell.weight_hh")[both]], axis=1))
    put("gates.bias", lambda: plain("cell.bias_ih")[both] + plain("cell.bias_hh")[both])
    for name, side in (("new_input", "ih"), ("new_hidden", "hh")):
        put(name, partial(lambda side: plain(f"cell.weight_{side}")[new], side))
        put(f"{name}.bias", partial(lambda side: plain(f"cell.bias_{side}")[new], side))

    # O begins with a LayerNorm, whose scale and shift the next layer absorbs.
    put("output1", lambda: double("output.1.weight") * double("output.0.weight"))
    put("output1.bias", lambda: double("output.1.bias") + double("output.1.weight") @ double("output.0.bias"))
    put("output2", lambda: plain("output.3.weight")[0])
    put("output2_bias", partial(plain, "output.3.bias"))
    return weights
