"""Requests about training runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException
from fastapi import Path as InPath

from anycsp.errors import AnyCSPError
from anycsp.training import references
from anycsp.web import schemas
from anycsp.web.runs import columns, find_runs, has_model, lesson
from anycsp.web.server import Server, Shared, refusals

MOST_RUNS = 200
router = APIRouter(responses=refusals(422))


@router.get("/api/runs")
async def runs(server: Shared) -> list[schemas.RunCard]:
    """The training runs in the folder that the server was given; none without one."""
    return [_card(number, name, folder) for number, (name, folder) in enumerate(_known(server))]


@router.get("/api/runs/{number}", responses=refusals(404))
async def run(server: Shared, number: Annotated[int, InPath(ge=0, lt=MOST_RUNS)]) -> schemas.RunDetail:
    """The curves of a run as they are now."""
    known = _known(server)
    if number >= len(known):
        raise HTTPException(404, "no such run")
    name, folder = known[number]
    try:
        held = [schemas.Reference(name=r.name, unsatisfied=r.unsatisfied) for r in references.load(folder)]
    except AnyCSPError:
        held = []
    return schemas.RunDetail(
        **_card(number, name, folder).model_dump(),
        validation=columns(folder / "validation.csv"),
        training=columns(folder / "train.csv"),
        references=held,
        lesson=[schemas.LessonRow(**row) for row in lesson(folder)],
    )


def _known(server: Server) -> list[tuple[str, Path]]:
    root = server.settings.runs
    return [] if root is None else list(find_runs(root).items())[:MOST_RUNS]


def _card(number: int, name: str, folder: Path) -> schemas.RunCard:
    table = columns(folder / "train.csv") or columns(folder / "validation.csv")
    return schemas.RunCard(
        number=number,
        name=name,
        updates=int((table.get("update") or [0])[-1]),
        minutes=(table.get("minutes") or [0.0])[-1],
        has_model=has_model(folder),
    )
