"""Everything that determines a training run, as one frozen dataclass that is a TOML file and back."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from anycsp import distributions
from anycsp.distributions import Distribution
from anycsp.errors import AnyCSPError
from anycsp.neural.guidance import UNGUIDED, Guidance, as_guidance, guidance_json
from anycsp.neural.temperature import Temperature, as_json, as_temperature
from anycsp.neural.weights import PolicyConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]


_KINDS: dict[str, tuple[Any, str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
}
"""What may stand in a field, by its annotation."""

CHOICES = {
    "lifetime": ("fixed", "log-uniform"),
    "reward": ("improve", "quality"),
    "baseline": ("none", "leave-one-out"),
    "normalise": ("none", "rms", "depth"),
}


class ConfigError(AnyCSPError, ValueError):
    """A training configuration that cannot be: unknown key, wrong type, impossible value."""


@dataclass(frozen=True)
class TrainingConfig:
    """Defaults are the paper's; `configs/paper` states them, `configs` what trains fast on a laptop."""

    # ── what to train on ─────────────────────────────────────────────────────────────────────────
    distribution: str = "sat"
    """Name of the training distribution, `files:DIR` or `python:MODULE:FUNCTION`."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the distribution."""
    validation: str = ""
    """Distribution of the validation set; empty for the training distribution's own validation variant."""
    validation_parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the validation distribution."""
    seed: int = 0
    """Fixes initial weights, instances and every draw of the search."""

    # ── the policy ───────────────────────────────────────────────────────────────────────────────
    policy: PolicyConfig = field(default_factory=lambda: PolicyConfig(hidden=128))
    """Shapes and mathematics of the network."""
    start_from: str = ""
    """A shipped model or the path of one whose weights training begins with; empty for random ones."""
    teacher: str = ""
    """A shipped model or the path of one to imitate in place of a reward (`distill.py`); empty to learn by reward."""

    # ── one update ───────────────────────────────────────────────────────────────────────────────
    instances: int = 25
    """Instances in a batch."""
    replicas: int = 1
    """Trajectories of each instance."""
    window: int = 40
    """Search steps between updates, all with gradients."""
    depth: int = 40
    """Search steps after which an instance is replaced; beyond `window` the search state is carried, detached."""
    lifetime: str = "fixed"
    """"fixed": every instance is searched `depth` steps; "log-uniform": between one window and `depth`."""
    training_temperature: Sequence[float] = (1.0, 1.0)
    """Every window of a search draws the temperature of its softmax from this range, log-uniformly."""
    guidance: Guidance = UNGUIDED
    """[strength, memory] of the pull of constraints violated lately; also of validation, and stored with the model."""

    # ── the loss ─────────────────────────────────────────────────────────────────────────────────
    reward: str = "improve"
    """"improve" (Eq. 4) or "quality" (the ablation)."""
    discount: float = 0.75
    """λ of the returns G_t."""
    epsilon: float = 1e-5
    """Added to probabilities inside the logarithm."""
    baseline: str = "none"
    """"none" or "leave-one-out" (other replicas of the instance)."""
    normalise: str = "none"
    """"none", "rms" (divide by the running RMS of advantages) or "depth" (one RMS for every range of depths)."""
    local_expectation: bool = False
    """Take the immediate reward's gradient in expectation over each variable's own draw, not from the sample."""
    entropy_floor: float = 0.0
    """Entropy in nats per draw (a variable's value; a move, under local sampling) below which a bonus raises it."""
    entropy_weight: float = 0.0
    """Weight of that bonus."""

    # ── the optimizer ────────────────────────────────────────────────────────────────────────────
    updates: int = 500_000
    """Length of training; 0 leaves it to `minutes`."""
    minutes: float = 0.0
    """Length of training in minutes where `updates` is 0."""
    learning_rate: float = 5e-6
    """Adam's at the beginning; it decays linearly over the run …"""
    final_learning_rate: float = 5e-7
    """… to this."""
    beta2: float = 0.999
    """Decay of Adam's second moment."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    weight_average: float = 0.0
    """Decay of the running average of weights that is validated and kept; 0 uses the weights themselves."""

    # ── judging and keeping ──────────────────────────────────────────────────────────────────────
    validation_instances: int = 200
    """Size of the fixed validation set."""
    validation_depths: Sequence[int] = (40, 200, 1000)
    """Steps at which it is measured; the deepest chooses the best model."""
    temperatures: Sequence[Temperature] = (1.0,)
    """Softmax temperatures tried in validation, fixed or [hot, cold]; the best one is stored with the model."""
    validate_minutes: float = 30.0
    """Minutes of training between validations; 0 validates at the end only."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value, (kind, called) = getattr(self, f.name), _KINDS.get(str(f.type), (object, ""))
            if not isinstance(value, kind) or (isinstance(value, bool) and called.endswith("number")):
                raise ConfigError(f"training config: {f.name} = {value!r}: expected {called}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(f"training config: {name} = {getattr(self, name)!r}: one of {', '.join(choices)}")
        finite = math.isfinite
        checks = {
            "seed": self.seed >= 0,
            "instances": self.instances > 0,
            "replicas": self.replicas > (1 if self.baseline == "leave-one-out" else 0),
            "window": self.window > 0,
            "depth": self.depth >= self.window and self.depth % self.window == 0,
            "training_temperature": len(self.training_temperature) == 2 and min(self.training_temperature) > 0,
            "discount": 0 <= self.discount <= 1,
            "epsilon": self.epsilon >= 0 and finite(self.epsilon),
            "teacher": not (self.teacher and self.policy.sampling == "local"),
            "updates": self.updates >= 0,
            "minutes": self.minutes >= 0 and finite(self.minutes) and (self.updates > 0 or self.minutes > 0),
            "learning_rate": self.learning_rate > 0 and finite(self.learning_rate),
            "final_learning_rate": self.final_learning_rate >= 0 and finite(self.final_learning_rate),
            "beta2": 0 <= self.beta2 < 1,
            "clip": self.clip > 0,
            "weight_average": 0 <= self.weight_average < 1,
            "validation_instances": self.validation_instances > 0,
            "validation_depths": list(self.validation_depths) == sorted({0, *self.validation_depths})[1:] != [],
            "temperatures": len(self.temperatures) > 0,
        }
        for name, valid in checks.items():
            if not valid:
                raise ConfigError(f"training config: {name} = {getattr(self, name)!r} is not possible with the others")

    def training_distribution(self) -> Distribution:
        return distributions.get(self.distribution, **self.parameters)

    def validation_distribution(self) -> Distribution:
        if self.validation:
            return distributions.get(self.validation, **self.validation_parameters)
        return distributions.get(self.distribution, **{**self.parameters, **self.validation_parameters}).validation()

    # ── TOML ─────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def read(path: str | Path, overrides: Sequence[str] = ()) -> TrainingConfig:
        try:
            table = tomllib.loads(Path(path).read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from None
        return TrainingConfig.from_table(table).with_overrides(overrides)

    @staticmethod
    def from_table(table: dict[str, Any]) -> TrainingConfig:
        _refuse_unknown(table, TrainingConfig)
        values = dict(table)
        try:
            if "policy" in values:
                _refuse_unknown(values["policy"], PolicyConfig)
                values["policy"] = PolicyConfig(**values["policy"])
            for name, kind in (
                ("validation_depths", int),
                ("temperatures", as_temperature),
                ("training_temperature", float),
            ):
                if name in values:
                    values[name] = tuple(kind(value) for value in values[name])
            if "guidance" in values:
                values["guidance"] = as_guidance(values["guidance"])
            return TrainingConfig(**values)
        except ConfigError:
            raise
        except (TypeError, ValueError) as error:
            raise ConfigError(f"training config: {error}") from None

    def with_overrides(self, overrides: Sequence[str]) -> TrainingConfig:
        """`key=value` with the value in TOML (a bare word is a string); `policy.hidden=64` reaches into tables.
        `distribution` comes before the others, since the old one's parameters mean nothing to the new one."""
        table = self.to_table()
        for override in sorted(overrides, key=lambda override: override.partition("=")[0].strip() != "distribution"):
            key, separator, text = override.partition("=")
            if not separator:
                raise ConfigError(f"--set {override}: expected key=value")
            *path, last = key.strip().split(".")
            target = table
            for part in path:
                target = target.setdefault(part, {})
                if not isinstance(target, dict):
                    raise ConfigError(f"--set {override}: {part!r} is not a table")
            target[last] = _toml_value(text.strip())
            if key.strip() == "distribution":
                table.update(parameters={}, validation="", validation_parameters={})
        return TrainingConfig.from_table(table)

    def differences(self, other: TrainingConfig) -> list[str]:
        """Names of the settings in which two runs differ."""
        return [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]

    def to_table(self) -> dict[str, Any]:
        return asdict(
            replace(
                self,
                validation_depths=list(self.validation_depths),
                training_temperature=list(self.training_temperature),
                temperatures=[as_json(t) for t in self.temperatures],  # type: ignore[misc]
                guidance=guidance_json(self.guidance),  # type: ignore[arg-type]
            )
        )

    def to_toml(self) -> str:
        table = self.to_table()
        scalars = [f"{key} = {_toml(value)}" for key, value in table.items() if not isinstance(value, dict)]
        tables = [
            f"\n[{key}]\n" + "\n".join(f"{k} = {_toml(v)}" for k, v in value.items())
            for key, value in table.items()
            if isinstance(value, dict) and value
        ]
        return "\n".join(scalars + tables) + "\n"


def _refuse_unknown(table: dict[str, Any], kind: type) -> None:
    known = [f.name for f in fields(kind)]
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            raise ConfigError(f"training config: unknown key {key!r}" + (f"; {near[0]!r}?" if near else ""))


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value)
