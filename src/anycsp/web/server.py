"""What all requests share while the server lives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request

from anycsp.neural.models import shipped_models
from anycsp.search.exact.model import installed
from anycsp.search.options import SEARCHES
from anycsp.web import schemas
from anycsp.web.jobs import Job, Queue, QueueFull
from anycsp.web.runs import find_runs, has_model
from anycsp.web.settings import Settings
from anycsp.web.store import Kept, Store


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Answers that a request may get in place of what it asked for, all of one form."""
    return {code: {"model": schemas.Refusal} for code in codes}


def searches() -> list[str]:
    """Those that can run here."""
    return [name for name in SEARCHES if name != "exact" or installed()]


class Server:
    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.store, self.queue = Store(folder, settings), Queue(settings)
        self.followers = 0
        self.drawn = 0
        """Problems that were drawn for training runs: each gets the next number."""

    def models(self) -> dict[str, str]:
        """What a visitor may name, and what that is for the search."""
        runs = {} if self.settings.runs is None else find_runs(self.settings.runs)
        trained = {f"run:{name}": str(folder) for name, folder in runs.items() if has_model(folder)}
        return {"auto": "auto", **{name: name for name in shipped_models()}, **trained}

    def problem(self, name: str) -> Kept:
        found = self.store.get(name)
        if found is None:
            raise HTTPException(404, "this problem is no longer kept: load it again")
        return found

    def job(self, name: str) -> Job:
        found = self.queue.jobs.get(name)
        if found is None:
            raise HTTPException(404, "this search is no longer kept")
        return found

    def request(self, kept: Kept, action: str, **own: Any) -> dict[str, Any]:
        """What a worker is told."""
        return {
            "action": action, "example": kept.example, "file": str(kept.file), "format": kept.format,
            "drawn": None if kept.drawn is None else [str(kept.drawn[0]), kept.drawn[1]],
            "memory": self.settings.memory, "threads": self.settings.threads, "seconds": 0, **own,
        }  # fmt: skip

    async def admit(self, kept: Kept) -> schemas.Facts:
        """Have a worker look at a problem; keep it if it can be read."""
        try:
            facts = await self.queue.inspect(self.request(kept, "inspect"))
        except QueueFull:
            kept.file.unlink(missing_ok=True)
            raise HTTPException(503, "too many problems are being read: try again in a moment") from None
        if facts["event"] == "error":
            kept.file.unlink(missing_ok=True)
            raise HTTPException(422, facts["message"])
        in_use = {Path(job.request["file"]) for job in self.queue.jobs.values() if not job.over}
        self.store.keep(replace(kept, facts=facts), in_use)
        return schemas.Facts(id=kept.id, **{key: facts[key] for key in facts if key != "event"})


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Shared = Annotated[Server, Depends(_server)]
"""What a route takes to get at it."""
