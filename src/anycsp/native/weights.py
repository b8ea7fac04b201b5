"""The policy's weights in the form the native step multiplies with, computed once, in double precision.

A LayerNorm after a linear layer needs its input's mean and variance. Subtracting from every column of the layer's
matrix its mean over the outputs makes that mean zero for every input: `_centred`.

In the linear form (SUM and MEAN, docs/speed.md) M_C's layers move to the value side. With a(C) the hidden layer of
M_C, W̃ its centred second matrix and σ its standard deviation, the two messages are scale·(W̃ a/σ) + shift, and
σ² + ε needs only ‖W̃ a‖² = ‖R a‖² with the triangular factor R of W̃: half the work of W̃, once per constraint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.policy import PolicyNetwork

FloatArray = npt.NDArray[np.float64]


def _centred(weight: FloatArray, bias: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The layer with its outputs' mean subtracted."""
    shift = np.zeros(len(weight)) if bias is None else bias - bias.mean()
    return weight - weight.mean(axis=0), shift


def step_weights(policy: PolicyNetwork, linear: bool) -> dict[str, npt.NDArray[np.float32]]:
    """Every matrix [outputs, inputs] and vector of the native step by name; `.bias` beside a matrix that has one."""
    parameters = dict(policy.named_parameters())
    d = policy.config.hidden
    out: dict[str, npt.NDArray[np.float32]] = {}

    def plain(name: str) -> npt.NDArray[np.float32]:
        array: npt.NDArray[np.float32] = parameters[name].detach().cpu().numpy()
        return array

    def weight(name: str) -> FloatArray:
        return plain(name).astype(np.float64)

    def put(name: str, array: npt.NDArray[Any], bias: npt.NDArray[Any] | None = None) -> None:
        out[name] = np.ascontiguousarray(array, dtype=np.float32)
        if bias is not None:
            out[f"{name}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)

    put("initial_state", plain("initial_state"))
    first = plain("encoder.0.weight")
    put("encoder1", first[:, :d], plain("encoder.0.bias"))
    put("encoder_chosen", first[:, d])
    put("encoder_gain", first[:, d + 1 :].T.reshape(-1))
    put("variable1", plain("variable_update.0.weight"), plain("variable_update.0.bias"))
    put("value_message", *_centred(weight("value_message.0.weight")))
    for name, module in (("encoder2", "encoder.2"), ("value2", "value_update.2"), ("variable2", "variable_update.2")):
        put(name, *_centred(weight(f"{module}.weight"), weight(f"{module}.bias")))
    for name, module in (
        ("encoder_norm", "encoder.3"),
        ("value_message_norm", "value_message.1"),
        ("constraint_norm", "constraint_message.3"),
        ("value_norm", "value_update.3"),
        ("variable_norm", "variable_update.3"),
    ):
        put(f"{name}.scale", plain(f"{module}.weight"))
        put(f"{name}.shift", plain(f"{module}.bias"))

    by_weight = weight("weight_message.weight") if policy.weight_message is not None else np.zeros((d, 2))
    constraint2, _ = _centred(weight("constraint_message.2.weight"))
    if linear:
        constraint1, value1 = weight("constraint_message.0.weight"), weight("value_update.0.weight")
        shift = weight("constraint_message.3.bias")
        message = weight("constraint_message.3.weight")[:, None] * constraint2  # rows: label 0, then label 1
        label0, label1 = message[:d], message[d:]
        put("constraint1", constraint1)
        put("constraint1_bias", plain("constraint_message.0.bias"))
        put("spread", np.linalg.qr(constraint2).R)
        together = np.concatenate([value1, value1 @ (label0 - label1)], axis=1)
        put("value1", together, plain("value_update.0.bias"))
        put("total", value1 @ label1)
        put("label1", value1 @ shift[d:])
        put("exception", value1 @ (shift[:d] - shift[d:]))
        put("constraint_weight", (constraint1 @ by_weight).T.reshape(-1))
    else:
        put("constraint1", plain("constraint_message.0.weight"), plain("constraint_message.0.bias"))
        put("constraint2", constraint2)
        put("value1", plain("value_update.0.weight"), plain("value_update.0.bias"))
        put("constraint_weight", by_weight.T.reshape(-1))

    # nn.GRUCell stacks its gates as reset, update, new; the first two read [input, hidden] at once.
    inputs, hidden = plain("cell.weight_ih"), plain("cell.weight_hh")
    bias_inputs, bias_hidden = plain("cell.bias_ih"), plain("cell.bias_hh")
    both = slice(2 * d)
    put("gates", np.concatenate([inputs[both], hidden[both]], axis=1), bias_inputs[both] + bias_hidden[both])
    put("new_input", inputs[2 * d :], bias_inputs[2 * d :])
    put("new_hidden", hidden[2 * d :], bias_hidden[2 * d :])

    # O begins with a LayerNorm, whose scale and shift the next layer absorbs.
    output1 = weight("output.1.weight")
    put("output1", output1 * weight("output.0.weight"), weight("output.1.bias") + output1 @ weight("output.0.bias"))
    put("output2", plain("output.3.weight")[0])
    put("output2_bias", plain("output.3.bias"))
    return out
