"""The network: its policy, its search in C++ and in PyTorch, and the trained models.

Searching with the native module needs no torch; training, other devices and the reference engine do.
"""

from __future__ import annotations

from anycsp.errors import AnyCSPError


def require_torch(purpose: str) -> None:
    """Say in one line what to install, where torch is not."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise AnyCSPError(f"{purpose} needs torch: pip install 'anycsp[train]'") from None
