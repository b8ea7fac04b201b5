"""Where the checkout lies, so that a test finds its examples, configurations and pages from any folder."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
