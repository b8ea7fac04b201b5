"""Requests about problems: the fixed lists, examples, uploads."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse

import anycsp
from anycsp.formats import FORMATS
from anycsp.web import schemas
from anycsp.web.gallery import EXAMPLES
from anycsp.web.server import Shared, refusals, searches
from anycsp.web.store import Kept, TooLong

router = APIRouter(responses=refusals(422))


@router.get("/api/options")
async def options(server: Shared) -> schemas.Options:
    """The fixed lists from which the page chooses."""
    own = server.settings
    examples = [
        schemas.ExampleCard(name=name, title=e.title, text=e.text, search=e.search, seconds=e.seconds)
        for name, e in EXAMPLES.items()
    ]
    formats = [schemas.FormatCard(name=f.name, title=f.title, extensions=list(f.extensions)) for f in FORMATS.values()]
    return schemas.Options(
        version=anycsp.__version__,
        searches=searches(),
        models=list(server.models()),
        examples=examples,
        formats=formats,
        most_runs=schemas.MOST_RUNS,
        most_colors=schemas.MOST_COLORS,
        longest_search=own.longest_search,
        largest_upload=own.largest_upload,
        jobs=own.jobs,
        threads=own.threads,
        shows_training=own.runs is not None,
    )


LATER: dict[int | str, dict[str, Any]] = {
    200: {
        "links": {
            "submit": {"operationId": "submit", "requestBody": {"problem": "$response.body#/id"}},
            "problem_file": {"operationId": "problem_file", "parameters": {"id": "$response.body#/id"}},
        }
    }
}
"""What can be asked with a problem that was read."""


@router.post("/api/examples/{name}", responses={**refusals(503), **LATER})
async def pick(server: Shared, name: schemas.ExampleName) -> schemas.Facts:
    """Pick an example."""
    identity, file = server.store.new_file()
    return await server.admit(Kept(identity, file, example=name))


BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "/api/problems",
    responses={**refusals(413, 503), **LATER},
    openapi_extra={"requestBody": {"content": BYTES}},
)
async def upload(
    request: Request,
    server: Shared,
    format: Annotated[schemas.FormatName | None, Query(description="Where it cannot be recognised.")] = None,
) -> schemas.Facts:
    """Bring a problem: the bytes of a file, compressed or not."""
    limit = server.settings.largest_upload
    too_long = HTTPException(413, f"larger than the {limit / 2**20:g} MB that may be uploaded")
    if int(request.headers.get("content-length", "0")) > limit:
        raise too_long
    identity, file = server.store.new_file()
    try:
        await server.store.receive(request.stream(), file)
    except TooLong:
        raise too_long from None
    return await server.admit(Kept(identity, file, format=format))


@router.get("/api/problems/{id}/file", response_class=FileResponse, responses=refusals(404))
async def problem_file(server: Shared, id: Annotated[str, Path(pattern=schemas.ID)]) -> FileResponse:
    """The file of a problem; that of an example is JSON."""
    kept = server.problem(id)
    suffix = FORMATS[kept.facts["format"]].extensions[0]
    return FileResponse(kept.file, filename=f"problem{suffix}", media_type="application/octet-stream")
