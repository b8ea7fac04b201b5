"""What PySAT's solvers share: `with` deletes them at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

Context = TypeVar("Context", bound="Deleted")


class Deleted(ABC):
    """A context that is deleted when it is left."""

    def __enter__(self: Context) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()

    @abstractmethod
    def delete(self) -> None:
        """Forget everything."""
