"""Everything that determines a training run, as one frozen dataclass that is a TOML file and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from anycsp import distributions
from anycsp.distributions import Distribution
from anycsp.errors import AnyCSPError
from anycsp.neural.guidance import GUIDANCE, UNGUIDED, Guidance, as_guidance, guidance_json
from anycsp.neural.temperature import ONE_TEMPERATURE, TEMPERATURE, Temperature, as_json, as_temperature
from anycsp.neural.weights import PolicyConfig
from anycsp.schema import FLAG, TABLE, TEXT, Rule, Schema, check, either, number, one_of, row, several, shown, whole

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]


RUN_CONFIG = "config.toml"
"""What the folder of a run keeps its settings in."""
SETTINGS: Schema = {
    "distribution": TEXT,
    "parameters": TABLE,
    "validation": TEXT,
    "validation_parameters": TABLE,
    "seed": whole(0, (1 << 60) - 1),
    "policy": Rule("a policy's configuration", lambda value: isinstance(value, PolicyConfig)),
    "start_from": TEXT,
    "teacher": TEXT,
    "teacher_temperature": ONE_TEMPERATURE,
    "share": number(0, 1e6, above=True),
    "subjects": several(TABLE, 0, 1000),
    "instances": whole(1, 10**6),
    "replicas": whole(1, 10**6),
    "window": whole(1, 10**6),
    "depth": whole(1, 10**9),
    "lifetime": one_of("fixed", "log-uniform"),
    "training_temperature": row(ONE_TEMPERATURE, ONE_TEMPERATURE),
    "guidance": GUIDANCE,
    "reward": one_of("improve", "quality"),
    "graded": FLAG,
    "discount": number(0, 1),
    "epsilon": number(0, 1),
    "baseline": one_of("none", "leave-one-out"),
    "normalise": one_of("none", "rms", "depth"),
    "local_expectation": FLAG,
    "entropy_floor": number(0, 1e3),
    "entropy_weight": number(0, 1e6),
    "updates": whole(0, 10**12),
    "minutes": number(0, 10**9),
    "learning_rate": number(0, 1e3, above=True),
    "final_learning_rate": number(0, 1e3),
    "beta2": number(0, 1 - 1e-12),
    "clip": number(0, 1e9, above=True),
    "weight_average": number(0, 1 - 1e-12),
    "validation_instances": whole(1, 10**6),
    "validation_depths": several(whole(1, 10**6), 1, 100),
    "temperatures": several(TEMPERATURE, 1, 100),
    "runs": whole(1, 1_000_000),
    "domain": either(number(0, 0), number(2, 1 << 31)),
    "validate_minutes": number(0, 10**9),
}
"""What each setting may be, whatever the others are. Bounds lie far beyond use and keep arithmetic in its range."""

SUBJECT = {
    "distribution", "parameters", "teacher", "teacher_temperature", "share", "instances", "replicas", "window", "depth",
    "lifetime", "training_temperature", "guidance", "reward", "graded", "discount", "baseline", "normalise",
    "local_expectation", "entropy_floor", "entropy_weight",
}  # fmt: skip
"""The settings that a subject may have of its own."""
SEARCH = "search"
"""The teacher that is no model."""


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
    """A shipped model or the path of one to imitate in place of a reward (`distill.py`); "search" for the solutions
    that compiled search finds nearby (`imitate.py`); empty to learn by reward."""
    teacher_temperature: float = 1.0
    """Divides the teacher's logits: the temperature that its searches have is then 1 for the student."""
    subjects: Sequence[dict[str, Any]] = ()
    """Tables of settings that differ from these, one a subject: what one policy learns in turns. Empty: one subject."""
    share: float = 1.0
    """How often a subject is taken, relative to the others."""

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
    graded: bool = False
    """The reward counts how far constraints are from satisfied, not only whether: a sum that comes nearer pays."""
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
    runs: int = 4
    """Independent searches that the kept model makes where nobody says otherwise."""
    domain: float = 0.0
    """The size of domains that the temperatures are meant at and scaled from; 0: they are the same for all."""
    validate_minutes: float = 30.0
    """Minutes of training between validations; 0 validates at the end only."""

    def __post_init__(self) -> None:
        check(vars(self), SETTINGS, "training config", ConfigError)
        together = {
            "replicas": self.replicas > 1 or self.baseline != "leave-one-out",
            "depth": self.depth >= self.window and self.depth % self.window == 0,
            "teacher": not (self.teacher and self.policy.sampling == "local"),
            "subjects": all(set(subject) <= SUBJECT for subject in self.subjects),
            "minutes": self.updates > 0 or self.minutes > 0,
            "validation_depths": list(self.validation_depths) == sorted(set(self.validation_depths)),
        }
        for name, valid in together.items():
            if not valid:
                value = shown(getattr(self, name))
                raise ConfigError(f"training config: {name} = {value} is not possible with the others")

    def hooks(self) -> set[str]:
        """The Python functions that its distributions name, at any depth of a mixture: who uses them runs them."""
        return set(
            _hooks([self.distribution, self.parameters, self.validation, self.validation_parameters, self.subjects])
        )

    def taught(self) -> list[TrainingConfig]:
        """The settings of each subject; just these where there are none."""
        table = {**self.to_table(), "subjects": []}
        return [TrainingConfig.from_table({**table, "parameters": {}, **own}) for own in self.subjects] or [self]

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
        except RecursionError:
            raise ConfigError(f"{path}: lists and tables within each other too deep") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from None
        return TrainingConfig.from_table(table).with_overrides(overrides)

    @staticmethod
    def from_table(table: object) -> TrainingConfig:
        """From a document, where each setting that is left out has its default."""
        values = check(table, _DOCUMENT, "training config", ConfigError, optional=_DOCUMENT)
        return TrainingConfig(**{name: _FROM_DOCUMENT.get(name, _as_it_is)(value) for name, value in values.items()})

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
                subjects=list(self.subjects),
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


_FROM_DOCUMENT: dict[str, Callable[[Any], Any]] = {
    "policy": PolicyConfig.from_table,
    "guidance": as_guidance,
    "training_temperature": tuple,
    "subjects": tuple,
    "validation_depths": tuple,
    "temperatures": lambda temperatures: tuple(as_temperature(temperature) for temperature in temperatures),
}
"""What a setting is made by of what a document says."""
_DOCUMENT: Schema = {
    **SETTINGS,
    "policy": TABLE,
    "guidance": Rule("what guidance is written as", lambda value: True),
    "temperatures": several(Rule("what a temperature is written as", lambda value: True), 1, 100),
}
"""As SETTINGS, but where a document may write a setting in several ways, which `_FROM_DOCUMENT` then judges."""


def _as_it_is(value: Any) -> Any:
    return value


def _hooks(node: object) -> Iterator[str]:
    if isinstance(node, str) and node.startswith(f"{distributions.HOOK}:"):
        yield node
    elif isinstance(node, (dict, list, tuple)):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _hooks(child)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    # As JSON, but characters beyond 16 bits are themselves: TOML has no pairs of surrogates. Nor has it a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
