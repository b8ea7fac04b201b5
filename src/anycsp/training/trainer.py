"""The training loop: draw, search a window, REINFORCE or imitate a teacher, now and then judge and save."""

from __future__ import annotations

import math
import signal
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anycsp.errors import AnyCSPError, ModelError
from anycsp.formats.files import write_whole
from anycsp.interrupts import signals
from anycsp.memory import check_bytes
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.native_ops import fastest
from anycsp.neural.operations import Operations
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.temperature import Temperature, as_range
from anycsp.neural.weights import PolicyConfig, parameter_shapes, widened
from anycsp.schema import shown
from anycsp.training import checkpoint, references
from anycsp.training.checkpoint import Counters, Expected, check_tensors
from anycsp.training.config import RUN_CONFIG, ConfigError, TrainingConfig
from anycsp.training.distributed import ALONE, Ranks
from anycsp.training.logs import NoLog, RunLog
from anycsp.training.memory import keep_freed_memory
from anycsp.training.profile import ProfiledOperations, TrainingProfile
from anycsp.training.references import Reference
from anycsp.training.subject import Subject
from anycsp.training.validation import ValidationSet

LOG_EVERY = 10
"""Updates averaged into one line of train.csv."""
CHECKPOINT_SECONDS = 300
"""Training between two checkpoints: what a crash can cost."""
POINTS = 10
"""Validations of a run whose length is given in minutes, at least: fewer points are no curve."""
EXPLOSION = 1000
"""A gradient so many times its usual norm skips the update: clipping bounds its length, not where it points."""
FIXED = (
    "distribution", "parameters", "seed", "policy", "start_from", "teacher", "subjects", "instances",
    "replicas", "window",
)  # fmt: skip
"""Settings that the state of a run depends on: resuming cannot change them."""
COPIES = 5
"""Numbers in memory per weight: itself, its average, its gradient, two moments of Adam."""
_SUBJECT_STREAM = 1 << 42
"""Keeps the draw of subjects apart from that of instances."""


class Trainer:
    """One run in one folder; `run` is the loop, `save` and `resume` make it survive interruption. In a distributed run
    each of the `ranks` has such a trainer; all take the same steps, and the first one writes."""

    def __init__(
        self,
        config: TrainingConfig,
        folder: Path,
        ops: Operations | None = None,
        *,
        resumed: bool = False,
        ranks: Ranks = ALONE,
        device: str = "cpu",
    ) -> None:
        self.config, self.folder, self.ranks = config, folder, ranks
        on = ranks.device(device)
        self.ops = ops or fastest(on)
        weights = sum(math.prod(shape) for shape in parameter_shapes(config.policy).values())
        check_bytes(4 * COPIES * weights, f"training config: policy.hidden = {config.policy.hidden}")
        torch.manual_seed(config.seed)
        self.policy = PolicyNetwork(config.policy).to(on)
        if config.start_from and not resumed:
            self.policy.load_state_dict(_first_weights(config))
        self.averaged = deepcopy(self.policy).requires_grad_(False)
        betas = (0.9, float(config.beta2))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=config.learning_rate, betas=betas)
        self.subjects = [Subject(taught, ranks, on) for taught in config.taught()]
        self.counters = Counters()
        self.timing: dict[str, float] = defaultdict(float)
        """Seconds by part: draw and compile, forward, backward, optimizer, validation."""
        self.profile: TrainingProfile | None = None
        self._validation: ValidationSet | None = None
        self.references: list[Reference] = references.load(folder) if resumed and ranks.first else []

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def run(self, stop: threading.Event | None = None, quiet: bool = True) -> Counters:
        """Train to the end of the schedule, or until `stop` is set; either way the run can be resumed."""
        try:
            if self.ranks.first:
                # Before anything is written or learnt: what cannot be drawn is known now and not after minutes.
                self._validation = ValidationSet(
                    self.config.validation_distribution(), self.config.validation_instances
                )
            keep_freed_memory()
            self._run(stop or threading.Event(), quiet)
        finally:
            self.close()
        return self.counters

    def _run(self, stop: threading.Event, quiet: bool) -> None:
        if self.ranks.first:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / RUN_CONFIG, self.config.to_toml())
        recent: list[dict[str, float]] = []
        saved_at = self.counters.seconds
        stopped = False  # at some rank: all leave the loop at the same update
        new_log = RunLog(self.folder, self._logged, quiet) if self.ranks.first else NoLog()
        with new_log as log, _stop_on_signal(stop):
            log.event("start", update=self.counters.update, config=self.config.to_table())
            if self.config.validate_minutes > 0:
                self._judge_start(log, stop)
            while self.progress < 1 and not (stopped := self.ranks.any(stop.is_set())):
                if self._validation_due():
                    self._validate(log)
                    saved_at = self.counters.seconds
                    continue
                began = time.perf_counter()
                recent.append(self.update())
                spent = time.perf_counter() - began
                self.counters.seconds = self.ranks.number_of_first(self.counters.seconds + spent)
                if len(recent) == LOG_EVERY:
                    self._log_updates(log, recent)
                    recent = []
                if self.counters.seconds - saved_at > CHECKPOINT_SECONDS:
                    self.save()
                    saved_at = self.counters.seconds
            if recent:
                self._log_updates(log, recent)
            stopped = stopped or self.ranks.any(stop.is_set())
            if not stopped and self.counters.validated_at < self.counters.seconds:
                self._validate(log)
            unjudged = math.isinf(self.counters.best) and self.counters.update > 0
            if unjudged and self.ranks.first:  # stopped early: better than no model
                self.export("best", {}, self.config.temperatures[0])
            self.save()
            log.event("end", **self._position(), timing=dict(self.timing), skipped=self.counters.skipped)

    def enable_profile(self) -> None:
        """Time the phases of every update from now on; `profile_report` says where it went."""
        self.profile, self._profiled_from = TrainingProfile(), self.counters.update
        self.ops = ProfiledOperations(self.ops, self.profile)
        self.timing.clear()

    def profile_report(self) -> str:
        if self.profile is None:
            raise ValueError("nothing was profiled")
        return self.profile.report(self.timing, self.counters.update - self._profiled_from)

    def update(self) -> dict[str, float]:
        """One window and one step of the optimizer; returns what is logged of it."""
        config, counters = self.config, self.counters
        subject = self.subject
        with self._timed("draw and compile"):
            subject.pool.refresh()
        with self._timed("forward"):
            attempt = subject.attempt(self.policy, self.ops, counters.update)
        with self._timed("backward"):
            self.optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(attempt.loss)
        with self._timed("optimizer"):
            self.ranks.average_gradients(self.policy, attempt.terms)
            if len(self.subjects) > 1:  # the losses have no common scale, but Adam one step size for all
                _multiply_gradients(self.policy, 1 / subject.usual_norm(_gradient_norm(self.policy)))
            norm = float(torch.nn.utils.clip_grad_norm_(self.policy.parameters(), config.clip))
            if self._explodes(norm):
                counters.skipped += 1
            else:
                for group in self.optimizer.param_groups:
                    group["lr"] = self.learning_rate
                self.optimizer.step()
                self._average_weights()
        subject.pool.advanced(attempt.end)
        counters.update += 1
        figures = self.ranks.average(attempt.figures, attempt.end.best.numel())
        return {**figures, "gradient": norm, "learning_rate": self.learning_rate}

    @property
    def subject(self) -> Subject:
        """What the next update is about: drawn by the shares, from the number of the update alone."""
        if len(self.subjects) == 1:
            return self.subjects[0]
        shares = np.array([subject.config.share for subject in self.subjects])
        rng = np.random.default_rng([self.config.seed, _SUBJECT_STREAM, self.counters.update])
        return self.subjects[int(rng.choice(len(shares), p=shares / shares.sum()))]

    def close(self) -> None:
        """End the threads that draw instances."""
        for subject in self.subjects:
            subject.pool.close()

    @property
    def progress(self) -> float:
        """Share of the schedule done, 0 to 1: by updates, or by minutes where `updates` is 0."""
        if self.config.updates:
            return min(1.0, self.counters.update / self.config.updates)
        return min(1.0, self.counters.seconds / max(60 * self.config.minutes, 1e-9))

    @property
    def learning_rate(self) -> float:
        config = self.config
        return config.learning_rate + (config.final_learning_rate - config.learning_rate) * self.progress

    def _explodes(self, norm: float) -> bool:
        """Not finite, or far beyond the median of recent norms, which it is then not counted among."""
        norms = self.counters.norms
        if not math.isfinite(norm) or (len(norms) >= 20 and norm > EXPLOSION * statistics.median(norms)):
            return True
        self.counters.norms = [*norms[-99:], norm]
        return False

    @torch.no_grad()
    def _average_weights(self) -> None:
        # The first updates would otherwise keep the initial weights alive for long.
        decay = min(self.config.weight_average, self.counters.update / (self.counters.update + 1))
        for average, weight in zip(self.averaged.parameters(), self.policy.parameters(), strict=True):
            average.lerp_(weight, 1 - decay)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.timing[part] += time.perf_counter() - began

    def _log_updates(self, log: RunLog, recent: list[dict[str, float]]) -> None:
        # A row has the same columns whatever its updates were about; nan where none of them has such a figure.
        names = dict.fromkeys(chain(*(subject.merit for subject in self.subjects), recent[0]))
        of_all = {name: [figures[name] for figures in recent if name in figures] for name in names}
        means = {name: statistics.fmean(values) if values else math.nan for name, values in of_all.items()}
        log.row("train", {**self._position(), **means, "skipped": self.counters.skipped})
        log.progress(self.progress, f"update {self.counters.update}  {_headline(means)}")

    @property
    def _logged(self) -> dict[str, int]:
        """Up to which update each table is of this run: a validation that the counters do not know of is made again."""
        counters = self.counters
        validated = math.isfinite(counters.best) and counters.validated_at == counters.seconds
        return {"train": counters.update, "validation": counters.update if validated else counters.update - 1}

    def _position(self) -> dict[str, float | int]:
        return {"update": self.counters.update, "minutes": self.counters.seconds / 60}

    # ── validation ───────────────────────────────────────────────────────────────────────────────

    def _validation_due(self) -> bool:
        since, minutes = self.counters.seconds - self.counters.validated_at, self.config.validate_minutes
        if not self.config.updates:
            minutes = min(minutes, self.config.minutes / POINTS)
        return 0 < 60 * minutes <= since

    def _judge_start(self, log: RunLog, stop: threading.Event) -> None:
        """Validation at minute 0, of what training begins with, and what else does on the same instances: now, or by
        the run that goes on where this one is stopped, or was killed, before it is known."""
        began, tried = time.perf_counter(), len(self.config.temperatures)
        if math.isinf(self.counters.best):
            self._validate(log)
        elif self._validation is not None and not self.references:  # how long a network takes is asked anew
            tried = 1
            self._validation.measure_model(self._candidate(self.config.temperatures[0]), self.config.validation_depths)
        if self._validation is None or self.references or stop.is_set():  # the first rank has it
            return
        tried *= len(self._validation.problems)
        self.references = references.measured(self.config, self._validation, (time.perf_counter() - began) / tried)
        references.save(self.folder, self.references)
        for reference in self.references:
            shown = "  ".join(f"{cost:.3f} after {depth}" for depth, cost in reference.unsatisfied.items())
            log.say(f"  beside it  {reference.name}: {shown}")
            log.event("reference", **asdict(reference))

    def _validate(self, log: RunLog) -> None:
        """Measure the averaged weights; keep them when they are the best at the greatest depth. Saves before, since it
        takes a while, and after: a checkpoint older than the best model would have it replaced by a worse one."""
        self.save()
        log.progress(self.progress, f"update {self.counters.update}  validating")
        judged = None if self._validation is None else self._judge(self._validation)
        self.counters = self.ranks.of_first(self.counters)
        if judged is not None:  # before the checkpoint that says so: after it a kill would lose the row
            temperature, costs = judged
            by_depth = {f"depth_{depth}": cost for depth, cost in costs.items()}
            hot, cold = as_range(temperature)
            log.row("validation", {**self._position(), **by_depth, "hot": hot, "cold": cold})
            shown = "  ".join(f"{cost:.3f} after {depth}" for depth, cost in costs.items())
            log.say(f"{self.counters.seconds / 60:6.1f} min  update {self.counters.update}  unsatisfied: {shown}")
        self.save()

    def _judge(self, validation: ValidationSet) -> tuple[Temperature, dict[int, float]]:
        """The best temperature, and what is left unsatisfied with it at each depth."""
        config, counters = self.config, self.counters
        with self._timed("validation"):
            measured = {
                temperature: validation.measure_model(self._candidate(temperature), config.validation_depths)
                for temperature in config.temperatures
            }
        deepest = config.validation_depths[-1]
        temperature, costs = min(measured.items(), key=lambda item: item[1][deepest])
        counters.validated_at = counters.seconds
        counters.since_best += 1
        if costs[deepest] < counters.best:
            counters.best, counters.best_update, counters.since_best = costs[deepest], counters.update, 0
            self.export("best", costs, temperature)
        return temperature, costs

    def export(self, name: str, validation: dict[int, float], temperature: Temperature) -> None:
        """Save the averaged weights as a model `anycsp solve` can use."""
        facts: dict[str, Any] = {
            "config": self.config.to_table(),
            "update": self.counters.update,
            "minutes": round(self.counters.seconds / 60, 2),
            "validation": {str(depth): cost for depth, cost in validation.items()},
        }
        save_model(replace(self._candidate(temperature), training=facts), self.folder / name)

    def _candidate(self, temperature: Temperature) -> Model:
        """The averaged weights, searching at a temperature."""
        config, name, weights = self.config, self.folder.name, self.averaged.weights()
        return Model(name, weights, temperature, config.runs, config.guidance, config.domain or None)

    # ── interruption ─────────────────────────────────────────────────────────────────────────────

    def save(self) -> None:
        """Write a checkpoint that `resume` continues from as if nothing had happened."""
        tensors: dict[str, Tensor] = {f"policy.{k}": v for k, v in self.policy.state_dict().items()}
        tensors |= {f"averaged.{k}": v for k, v in self.averaged.state_dict().items()}
        for name, parameter in self.policy.named_parameters():
            tensors |= {f"adam.{name}.{k}": v for k, v in self.optimizer.state.get(parameter, {}).items()}
        for i, subject in enumerate(self.subjects):
            state = subject.pool.whole_state() if subject.pool.slots else None
            if state is not None:
                tensors |= {f"pool.{i}.{k}": v for k, v in vars(state).items()}
        if not self.ranks.first:
            return
        facts: dict[str, Any] = {
            "config": self.config.to_table(),
            "counters": asdict(self.counters),
            "subjects": [subject.progress() for subject in self.subjects],
        }
        checkpoint.write(self.folder, tensors, facts)

    @staticmethod
    def resume(
        folder: Path,
        overrides: Sequence[str] = (),
        *,
        allow_hook: bool = False,
        known_hooks: Iterable[str] = (),
        ranks: Ranks = ALONE,
        device: str = "cpu",
    ) -> Trainer:
        """The run of a folder at its last checkpoint, its configuration changed by `overrides`: a longer
        schedule, another learning rate, anything but what its state depends on. A Python function that the checkpoint
        names is called only if it is among `known_hooks`, or `allow_hook` says so: a file that was sent by someone is
        not to run code."""
        tensors, facts = ranks.of_first(checkpoint.read(folder) if ranks.first else ({}, {}))
        path = folder / checkpoint.FILE
        try:
            saved = TrainingConfig.from_table(facts["config"])
        except AnyCSPError as error:
            raise ModelError(f"{path}: {error}") from None
        config = saved.with_overrides(overrides)
        for name in config.differences(saved):
            if name in FIXED:
                raise ConfigError(f"a resumed run keeps its {name}; --from {folder} begins a new one with its weights")
        if not allow_hook and (hooks := sorted((config.hooks() & saved.hooks()) - set(known_hooks))):
            raise ConfigError(f"{path}: would run {shown(hooks[0])}; --allow-hook if you know that code")
        counters = Counters.from_table(facts["counters"], str(path))
        weights = {name: tensor for name, tensor in tensors.items() if not name.startswith("pool.")}
        check_tensors(weights, _expected_weights(config.policy, weights), path)
        trainer = Trainer(config, folder, resumed=True, ranks=ranks, device=device)
        trainer.counters = counters
        trainer.policy.load_state_dict(_part(weights, "policy."))
        trainer.averaged.load_state_dict(_part(weights, "averaged."))
        for name, parameter in trainer.policy.named_parameters():
            moments = _part(weights, f"adam.{name}.")
            if moments:
                on = {k: v if k == "step" else v.to(parameter.device) for k, v in moments.items()}
                trainer.optimizer.state[parameter] = on
        try:
            if len(facts["subjects"]) != len(trainer.subjects):
                raise ModelError(f"{path}: not the subjects of its configuration")
            for i, (subject, progress) in enumerate(zip(trainer.subjects, facts["subjects"], strict=True)):
                subject.restore(progress, _part(tensors, f"pool.{i}."), path)
        except BaseException:
            trainer.close()
            raise
        return trainer


def _gradient_norm(policy: PolicyNetwork) -> float:
    return float(torch.nn.utils.get_total_norm([p.grad for p in policy.parameters() if p.grad is not None]))


def _multiply_gradients(policy: PolicyNetwork, factor: float) -> None:
    for parameter in policy.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(factor)


def _expected_weights(policy: PolicyConfig, found: Mapping[str, Tensor]) -> dict[str, Expected]:
    """The weights of a checkpoint, their average and what Adam knows of each that a gradient has ever reached."""
    expected: dict[str, Expected] = {}
    for name, shape in parameter_shapes(policy).items():
        expected |= {f"policy.{name}": Expected(shape), f"averaged.{name}": Expected(shape)}
        moments = {"step": Expected((), low=0), "exp_avg": Expected(shape), "exp_avg_sq": Expected(shape, low=0)}
        if any(f"adam.{name}.{key}" in found for key in moments):
            expected |= {f"adam.{name}.{key}": moment for key, moment in moments.items()}
    return expected


def _first_weights(config: TrainingConfig) -> dict[str, Tensor]:
    weights = widened(load_model(config.start_from).weights, config.policy)
    if weights is None:
        raise ConfigError(f"training config: policy differs from that of start_from = {config.start_from!r}")
    return PolicyNetwork.of(weights).state_dict()


def _headline(means: dict[str, float]) -> str:
    """The figures of merit of recent updates: of REINFORCE, of distillation, of imitation."""
    known = [name for name in ("return", "divergence", "surprise") if not math.isnan(means.get(name, math.nan))]
    return "  ".join(f"{name} {means[name]:.4f}" for name in known)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


@contextmanager
def _stop_on_signal(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal end the loop after the current update, with a checkpoint; a second signal
    ends it at once, with the last checkpoint. Only the main thread can listen."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    heard = signals()
    before = [signal.signal(s, end) for s in heard]
    try:
        yield
    finally:
        for s, handler in zip(heard, before, strict=True):
            signal.signal(s, handler)
