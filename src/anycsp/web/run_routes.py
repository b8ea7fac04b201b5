"""Requests about training runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException
from fastapi import Path as InPath

from anycsp.errors import AnyCSPError
from anycsp.training import references
from anycsp.web import schemas
from anycsp.web.problem_routes import LATER
from anycsp.web.runs import can_draw, columns, find_runs, has_model, lesson
from anycsp.web.server import Server, Shared, refusals
from anycsp.web.store import Kept

MOST_RUNS = 200
Number = Annotated[int, InPath(ge=0, lt=MOST_RUNS)]
router = APIRouter(responses=refusals(422))


@router.get("/api/runs")
async def runs(server: Shared) -> list[schemas.RunCard]:
    """The training runs in the folder that the server was given; none without one."""
    return [_card(number, name, folder) for number, (name, folder) in enumerate(_known(server))]


@router.get("/api/runs/{number}", responses=refusals(404))
async def run(server: Shared, number: Number) -> schemas.RunDetail:
    """The curves of a run as they are now."""
    name, folder = _numbered(server, number)
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


@router.post("/api/runs/{number}/problem", responses={**refusals(404, 503), **LATER})
async def draw(server: Shared, number: Number) -> schemas.Facts:
    """Draw a problem such as the run is validated on, another one every time."""
    _, folder = _numbered(server, number)
    if not can_draw(folder):
        raise HTTPException(404, "this run does not say what it trains on")
    server.drawn += 1
    identity, file = server.store.new_file()
    return await server.admit(Kept(identity, file, drawn=(folder, server.drawn)))


def _numbered(server: Server, number: int) -> tuple[str, Path]:
    known = _known(server)
    if number >= len(known):
        raise HTTPException(404, "no such run")
    return known[number]


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
        can_draw=can_draw(folder),
    )
