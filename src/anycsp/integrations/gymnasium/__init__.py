"""Gymnasium: the search for an assignment as an environment, for policies trained by other libraries.

    import gymnasium
    import anycsp.integrations.gymnasium
    environment = gymnasium.make("anycsp/Search-v0", distribution="sat")

Importing this module registers the environment; what it is made of is imported when one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from anycsp.integrations.gymnasium.environment import SearchEnv, Size

__all__ = ["NAME", "SearchEnv", "Size"]

NAME = "anycsp/Search-v0"

if NAME not in gymnasium.registry:
    gymnasium.register(NAME, entry_point="anycsp.integrations.gymnasium.environment:SearchEnv")


def __getattr__(name: str) -> Any:
    if name not in ("SearchEnv", "Size"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from anycsp.integrations.gymnasium import environment

    return getattr(environment, name)
