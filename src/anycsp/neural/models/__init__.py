"""Trained policies: saved as safetensors beside a JSON file, nothing that could run code."""

from __future__ import annotations

from anycsp.neural.models.store import Model, load_model, save_model, shipped_models

__all__ = ["Model", "load_model", "save_model", "shipped_models"]
