"""Save and load policies. NAME.safetensors holds the weights; NAME.json the shapes, search defaults and history."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from anycsp.errors import ModelError
from anycsp.formats.files import write_whole
from anycsp.model.problem import Problem
from anycsp.model.structure import Kind, kind_of, may_be_satisfiable
from anycsp.neural import require_torch
from anycsp.neural.guidance import GUIDANCE, UNGUIDED, Guidance, as_guidance, guidance_json
from anycsp.neural.temperature import TEMPERATURE, Temperature, as_json, as_temperature, at_domains
from anycsp.neural.weights import PolicyConfig, Weights, check_shapes
from anycsp.schema import TABLE, Schema, check, number, parse_json, shown, table_of, whole

if TYPE_CHECKING:
    from anycsp.neural.policy import PolicyNetwork

FORMAT_VERSION = 1
SHIPPED = Path(__file__).parent
RUN_MODEL = "best.safetensors"
"""Where a training run keeps its model, which is called after the run."""
LONGEST_DESCRIPTION = 1 << 24
"""Bytes; ours take some thousand."""

DESCRIPTION: Schema = {
    "format_version": whole(FORMAT_VERSION, FORMAT_VERSION),
    "policy": TABLE,
    "search": TABLE,
    "training": TABLE,
}
SETTINGS: Schema = {
    "temperature": TEMPERATURE,
    "runs": whole(1, 1_000_000),
    "guidance": GUIDANCE,
    "domain": number(2, 1 << 31),
}
SEARCH: Schema = {**SETTINGS, "kinds": TABLE}
KINDS: Schema = {name: TABLE for name in ("sat", "maxsat", *(k.name.lower() for k in Kind if k is not Kind.FORMULA))}
"""What `kinds` may have settings for, by `kind_for`."""
HISTORY: Schema = {
    "config": TABLE,
    "update": whole(0, 10**12),
    "minutes": number(0, 10**9),
    "validation": table_of(number(0, math.inf)),
}
"""What training leaves and `anycsp models` shows; whoever saves a model may add to it."""


@dataclass
class Model:
    """A policy with the search settings tuned for it on validation data."""

    name: str
    weights: Weights
    temperature: Temperature = 1.0
    runs: int = 4
    guidance: Guidance = UNGUIDED
    domain: float | None = None
    """The size of domains that `temperature` was tuned at and is scaled from; None: it is the same for all."""
    training: dict[str, Any] = field(default_factory=dict)
    """How it was made: distribution, command, seed, minutes, validation results."""
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that replace those above on problems of a kind (`kind_for`): one policy that learned several kinds from
    teachers with settings of their own needs each of them there."""

    def suited_to(self, problem: Problem) -> Model:
        """With the settings of the problem's kind, where there are some."""
        return replace(self, **self.kinds.get(kind_for(problem), {}))

    def network(self, device: str = "cpu") -> PolicyNetwork:
        """The policy as a PyTorch module of its own."""
        require_torch("a policy in PyTorch")
        from anycsp.neural.policy import PolicyNetwork

        return PolicyNetwork.of(self.weights, device)

    def temperature_for(self, problem: Problem) -> Temperature:
        if self.domain is None:
            return self.temperature
        return at_domains(self.temperature, self.domain, problem.domains.sizes)


def kind_for(problem: Problem) -> str:
    """The kind of a problem as models have settings for it; formulas that cannot all hold are "maxsat"."""
    kind = kind_of(problem)
    if kind is Kind.FORMULA:
        return "sat" if may_be_satisfiable(problem) else "maxsat"
    return kind.name.lower()


def shipped_models() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.safetensors"))


def save_model(model: Model, path: str | Path) -> None:
    """Write PATH.safetensors and PATH.json; each appears complete or not at all."""
    weights = Path(path).with_suffix(".safetensors")
    description = {
        "format_version": FORMAT_VERSION,
        "policy": model.weights.config.to_json(),
        "search": {
            **_as_written({"temperature": model.temperature, "runs": model.runs, "guidance": model.guidance}),
            **({} if model.domain is None else {"domain": model.domain}),
            **({"kinds": {kind: _as_written(own) for kind, own in model.kinds.items()}} if model.kinds else {}),
        },
        "training": model.training,
    }
    write_whole(weights, safetensors.numpy.save(dict(model.weights.arrays)))
    write_whole(weights.with_suffix(".json"), json.dumps(description, indent=2) + "\n")


def load_model(name_or_path: str | Path) -> Model:
    """A shipped model by name, or any model by the path of its .safetensors file or of the run that trained it."""
    path = Path(name_or_path)
    if path.suffix != ".safetensors":
        if str(name_or_path) in shipped_models():
            path = SHIPPED / f"{name_or_path}.safetensors"
        elif path.is_dir():
            path = path / RUN_MODEL
            if not path.exists():
                raise ModelError(f"{path.parent}: a folder without a model ({RUN_MODEL})")
        else:
            raise ModelError(
                f"unknown model {str(name_or_path)!r}: use one of {', '.join(shipped_models()) or 'none shipped'}, "
                "a .safetensors file, or the folder of a training run"
            )
    policy, search, training = _read_description(path.with_suffix(".json"))
    weights = Weights(policy, _read_arrays(path, policy))
    weights.check(path)
    name = path.resolve().parent.name if path.name == RUN_MODEL else path.stem
    kinds = {kind: _as_read(own) for kind, own in search.pop("kinds", {}).items()}
    return Model(name, weights, **_as_read(search), training=training, kinds=kinds)


_WRITTEN = {"temperature": as_json, "guidance": guidance_json}
_READ = {"temperature": as_temperature, "guidance": as_guidance}


def _as_written(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _WRITTEN[name](value) if name in _WRITTEN else value for name, value in settings.items()}


def _as_read(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _READ[name](value) if name in _READ else value for name, value in settings.items()}


def _read_description(path: Path) -> tuple[PolicyConfig, dict[str, Any], dict[str, Any]]:
    """A policy's configuration, its search defaults, its history: what is there fits, search defaults may be absent."""
    try:
        if path.stat().st_size > LONGEST_DESCRIPTION:
            raise ValueError(f"longer than {LONGEST_DESCRIPTION >> 20} MiB")
        description = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot read the model's description ({_reason(error)})") from None
    version = description.get("format_version") if isinstance(description, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(f"{path}: model format version {shown(version)}, this anycsp reads {FORMAT_VERSION}")
    check(description, DESCRIPTION, str(path), ModelError, optional=("search", "training"))
    search = check(description.get("search", {}), SEARCH, f"{path}: search", ModelError, optional=SEARCH)
    kinds = check(search.get("kinds", {}), KINDS, f"{path}: search: kinds", ModelError, optional=KINDS)
    for kind, own in kinds.items():
        check(own, SETTINGS, f"{path}: search: kinds: {kind}", ModelError, optional=SETTINGS)
    training = description.get("training", {})
    known = {name: training[name] for name in HISTORY if name in training}
    check(known, HISTORY, f"{path}: training", ModelError, optional=HISTORY)
    try:
        policy = PolicyConfig.from_table(description["policy"])
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    return policy, search, training


def _read_arrays(path: Path, policy: PolicyConfig) -> dict[str, npt.NDArray[np.float32]]:
    """Shapes are compared before anything is read: the file is mapped, and may claim to hold more than memory does."""
    try:
        with safetensors.safe_open(path, "np") as file:
            names = list(file.keys())
            check_shapes({name: tuple(file.get_slice(name).get_shape()) for name in names}, policy, path)
            return {name: file.get_tensor(name) for name in names}
    except ModelError:
        raise
    except (OSError, safetensors.SafetensorError, TypeError, ValueError, AttributeError) as error:  # or of odd dtypes
        raise ModelError(f"{path}: not a model of anycsp ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    """What a library said, shortened: it may quote the file."""
    text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return text if len(text) <= 120 else text[:120] + "…"
