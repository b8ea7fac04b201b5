"""Shared set-up: one torch thread, where the benchmark files lie, hypothesis profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from anycsp.neural.operations import Operations

# The machine may be shared, and spinning threads then cost minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(1)
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("default")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public benchmark instances, which lies beside the checkout."""
    folder = Path(os.environ.get("ANYCSP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the benchmark instances are not here (set ANYCSP_DATA)")
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained policy on disk: enough wherever the search matters and its quality does not."""
    from anycsp.neural.models import Model, save_model
    from anycsp.neural.policy import PolicyNetwork
    from anycsp.neural.weights import PolicyConfig

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("model") / "untrained.safetensors"
    save_model(Model("untrained", PolicyNetwork(PolicyConfig(hidden=8)).weights()), path)
    return path


@pytest.fixture(params=["native", "torch"])
def ops(request: pytest.FixtureRequest) -> Operations:
    """The operations of a search step with gradients, compiled and in PyTorch."""
    from anycsp import native
    from anycsp.neural.native_ops import fastest
    from anycsp.neural.policy import TORCH

    if request.param == "torch":
        return TORCH
    if not native.available():
        pytest.skip("the native module is not built")
    return fastest()


@pytest.fixture
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of examples and documentation end after a fifth of a second."""
    from anycsp import solve as real

    def short(problem, **options):  # type: ignore[no-untyped-def]
        return real(problem, **{**options, "time_limit": 0.2})

    monkeypatch.setattr("anycsp.search.solve", short)
