"""What a policy is made of, without torch: its configuration and its parameters as numpy arrays.

The native engine reads them as they are; `PolicyNetwork.of` makes the PyTorch module of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ModelError
from anycsp.schema import FLAG, Schema, check, one_of, shown, whole

AGGREGATIONS = ("sum", "mean", "max")
FEATURES = {"none": 0, "gain": 3, "graded": 6}
"""What a policy may read of every value beside L_V, and how many numbers that is."""
KINDS = ("clause", "matching", "table", "sum", "all_different", "other")
"""The kinds of constraints that a policy may tell apart."""
KIND_FEATURES = 1 + len(KINDS)
POLICY: Schema = {
    "hidden": whole(1, 1 << 16),
    "aggregation": one_of(*AGGREGATIONS),
    "features": one_of(*FEATURES),
    "kinds": FLAG,
    "inertia": FLAG,
    "weighted": FLAG,
    "sampling": one_of("global", "local"),
}
"""What a policy's configuration may hold."""


@dataclass(frozen=True)
class PolicyConfig:
    """What determines the shapes and the mathematics of a policy."""

    hidden: int = 32
    """Latent dimension d."""
    aggregation: str = "max"
    """⊕ at constraints, values and variables: sum, mean or max."""
    features: str = "none"
    """"gain" adds, for every value, what moving there alone would gain; "graded" also how much nearer to satisfied it
    would bring constraints that it does not satisfy; "none" is the paper."""
    inertia: bool = False
    """Add a learned multiple of L_V to the logits, so that keeping a value is the default."""
    weighted: bool = False
    """Constraint weight and hardness enter the constraint's message."""
    kinds: bool = False
    """The constraint's arity and kind enter it too."""
    sampling: str = "global"
    """"global": every variable draws a new value; "local": one variable moves (Appendix C)."""

    def __post_init__(self) -> None:
        check(asdict(self), POLICY, "policy config", ModelError)

    @staticmethod
    def from_table(table: object) -> PolicyConfig:
        """From a document, where each setting that is left out has its default."""
        return PolicyConfig(**check(table, POLICY, "policy config", ModelError, optional=POLICY))

    @property
    def inputs(self) -> int:
        """Width of what the encoder reads: state, L_V and the features of values."""
        return self.hidden + 1 + FEATURES[self.features]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Weights:
    """A policy's parameters by the names they have in `PolicyNetwork`."""

    config: PolicyConfig
    arrays: Mapping[str, npt.NDArray[np.float32]]

    def check(self, origin: object) -> None:
        """Refuse arrays that are not those of the configuration, or not finite; `origin` is what the error names."""
        check_shapes({name: array.shape for name, array in self.arrays.items()}, self.config, origin)
        for name, array in self.arrays.items():
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise ModelError(f"{origin}: weights are not finite numbers of 32 bits (at {name!r})")


def widened(weights: Weights, config: PolicyConfig) -> Weights | None:
    """The same policy with the inputs of a configuration that has more of them, which it does not read yet; None where
    they differ in something else."""
    own = weights.config
    otherwise = replace(own, features=config.features, weighted=config.weighted, kinds=config.kinds)
    fewer = FEATURES[own.features] <= FEATURES[config.features]
    if otherwise != config or not fewer or own.weighted > config.weighted or own.kinds > config.kinds:
        return None
    arrays = {name: np.zeros(shape, dtype=np.float32) for name, shape in parameter_shapes(config).items()}
    for name, array in weights.arrays.items():
        arrays[name][tuple(slice(size) for size in array.shape)] = array
    return Weights(config, arrays)


def check_shapes(found: Mapping[str, tuple[int, ...]], config: PolicyConfig, origin: object) -> None:
    """Refuse what is not the shapes of a configuration."""
    expected = parameter_shapes(config)
    if expected != found:
        odd = min(set(expected.items()) ^ set(found.items()))[0]
        raise ModelError(f"{origin}: weights do not match their config (at {shown(odd)})")


def parameter_shapes(config: PolicyConfig) -> dict[str, tuple[int, ...]]:
    """The parameters of a policy, which `PolicyNetwork` uses as its equations say."""
    d = config.hidden
    shapes: dict[str, tuple[int, ...]] = {"initial_state": (d,)}

    def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> None:
        shapes[f"{name}.weight"] = (outputs, inputs)
        if bias:
            shapes[f"{name}.bias"] = (outputs,)

    def norm(name: str, width: int) -> None:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (width,)

    for network, inputs in (("encoder", config.inputs), ("value_update", d), ("variable_update", d)):
        linear(f"{network}.0", inputs, d)
        linear(f"{network}.2", d, d)
        norm(f"{network}.3", d)
    linear("value_message.0", d, 2 * d, bias=False)
    norm("value_message.1", 2 * d)
    linear("constraint_message.0", d, d)
    linear("constraint_message.2", d, 2 * d, bias=False)
    norm("constraint_message.3", 2 * d)
    for side in ("ih", "hh"):  # of the GRU: input and hidden, the gates reset, update, new stacked
        shapes[f"cell.weight_{side}"], shapes[f"cell.bias_{side}"] = (3 * d, d), (3 * d,)
    norm("output.0", d)
    linear("output.1", d, d)
    linear("output.3", d, 1)
    if config.inertia:
        shapes["inertia"] = ()
    if config.weighted:
        linear("weight_message", 2, d, bias=False)
    if config.kinds:
        linear("kind_message", KIND_FEATURES, d, bias=False)
    return shapes
