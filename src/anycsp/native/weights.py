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
    w = {name: p.detach().cpu().double().numpy() for name, p in policy.named_parameters()}
    d = policy.config.hidden
    out: dict[str, Any] = {"initial_state": w["initial_state"]}

    first = w["encoder.0.weight"]
    out["encoder1"], out["encoder1.bias"] = first[:, :d], w["encoder.0.bias"]
    out["encoder_chosen"], out["encoder_gain"] = first[:, d], first[:, d + 1 :].T.reshape(-1)
    out["value_message"], _ = _centred(w["value_message.0.weight"])
    for name, module in (("encoder", "encoder"), ("value", "value_update"), ("variable", "variable_update")):
        out[f"{name}2"], out[f"{name}2.bias"] = _centred(w[f"{module}.2.weight"], w[f"{module}.2.bias"])
        out[f"{name}1.bias"] = w[f"{module}.0.bias"]
    out["variable1"] = w["variable_update.0.weight"]
    for name, module in (
        ("encoder_norm", "encoder.3"),
        ("value_message_norm", "value_message.1"),
        ("constraint_norm", "constraint_message.3"),
        ("value_norm", "value_update.3"),
        ("variable_norm", "variable_update.3"),
    ):
        out[f"{name}.scale"], out[f"{name}.shift"] = w[f"{module}.weight"], w[f"{module}.bias"]

    by_weight = w["weight_message.weight"] if policy.weight_message is not None else np.zeros((d, 2))
    value1 = w["value_update.0.weight"]
    out["constraint1"] = w["constraint_message.0.weight"]
    second, _ = _centred(w["constraint_message.2.weight"])
    if linear:
        scale, shift = w["constraint_message.3.weight"], w["constraint_message.3.bias"]
        message = scale[:, None] * second  # rows: label 0, then label 1
        label0, label1 = message[:d], message[d:]
        out["constraint1_bias"] = w["constraint_message.0.bias"]
        out["spread"] = np.linalg.qr(second, mode="r")
        out["value1"] = np.concatenate([value1, value1 @ (label0 - label1)], axis=1)
        out["total"] = value1 @ label1
        out["label1"], out["exception"] = value1 @ shift[d:], value1 @ (shift[:d] - shift[d:])
        out["constraint_weight"] = (out["constraint1"] @ by_weight).T.reshape(-1)
    else:
        out["constraint1.bias"] = w["constraint_message.0.bias"]
        out["constraint2"], out["value1"] = second, value1
        out["constraint_weight"] = by_weight.T.reshape(-1)

    # nn.GRUCell stacks its gates as reset, update, new; the first two read [input, hidden] at once.
    inputs, hidden = w["cell.weight_ih"], w["cell.weight_hh"]
    out["gates"] = np.concatenate([inputs[: 2 * d], hidden[: 2 * d]], axis=1)
    out["gates.bias"] = w["cell.bias_ih"][: 2 * d] + w["cell.bias_hh"][: 2 * d]
    out["new_input"], out["new_input.bias"] = inputs[2 * d :], w["cell.bias_ih"][2 * d :]
    out["new_hidden"], out["new_hidden.bias"] = hidden[2 * d :], w["cell.bias_hh"][2 * d :]

    # O begins with a LayerNorm, whose scale and shift the next layer absorbs.
    out["output1"] = w["output.1.weight"] * w["output.0.weight"]
    out["output1.bias"] = w["output.1.bias"] + w["output.1.weight"] @ w["output.0.bias"]
    out["output2"], out["output2_bias"] = w["output.3.weight"][0], w["output.3.bias"]
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in out.items()}
