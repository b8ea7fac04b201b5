"""Save and load policies. NAME.safetensors holds the weights; NAME.json the shapes, search defaults and history."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors
import safetensors.numpy

from anycsp.errors import AnyCSPError, ModelError
from anycsp.formats.files import write_whole
from anycsp.model.problem import Problem
from anycsp.neural import require_torch
from anycsp.neural.guidance import UNGUIDED, Guidance, as_guidance, guidance_json
from anycsp.neural.temperature import Temperature, as_json, as_temperature, at_domains
from anycsp.neural.weights import PolicyConfig, Weights

if TYPE_CHECKING:
    from anycsp.neural.policy import PolicyNetwork

FORMAT_VERSION = 1
SHIPPED = Path(__file__).parent
RUN_MODEL = "best.safetensors"
"""Where a training run keeps its model, which is called after the run."""


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

    def network(self, device: str = "cpu") -> PolicyNetwork:
        """The policy as a PyTorch module of its own."""
        require_torch("a policy in PyTorch")
        from anycsp.neural.policy import PolicyNetwork

        return PolicyNetwork.of(self.weights, device)

    def temperature_for(self, problem: Problem) -> Temperature:
        if self.domain is None:
            return self.temperature
        return at_domains(self.temperature, self.domain, problem.domains.sizes)


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
            "temperature": as_json(model.temperature),
            "runs": model.runs,
            "guidance": guidance_json(model.guidance),
            **({} if model.domain is None else {"domain": model.domain}),
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
    description = _read_description(path.with_suffix(".json"))
    try:
        policy = Weights(PolicyConfig(**description["policy"]), safetensors.numpy.load_file(path))
        search = description.get("search", {})
        temperature, runs = as_temperature(search.get("temperature", 1.0)), int(search.get("runs", 4))
        guidance = as_guidance(search.get("guidance", UNGUIDED))
        domain = None if search.get("domain") is None else float(search["domain"])
        if domain is not None and not 1 < domain < math.inf:
            raise ModelError(f"{path}: temperature for domains of {domain:g} values")
        if runs < 1:
            raise ModelError(f"{path}: {runs} runs")
    except ModelError:
        raise
    except (
        AnyCSPError,
        OSError,
        safetensors.SafetensorError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        raise ModelError(f"{path}: not a model of anycsp ({error})") from None
    policy.check(path)
    name = path.resolve().parent.name if path.name == RUN_MODEL else path.stem
    return Model(name, policy, temperature, runs, guidance, domain, description.get("training", {}))


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot read the model's description ({error})") from None
    version = description.get("format_version") if isinstance(description, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(f"{path}: model format version {version!r}, this anycsp reads {FORMAT_VERSION}")
    result: dict[str, Any] = description
    return result
