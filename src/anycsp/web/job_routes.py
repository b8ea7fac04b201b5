"""Requests about searches: submit, follow, stop, download."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Path
from fastapi.responses import FileResponse, StreamingResponse

from anycsp.web import schemas
from anycsp.web.jobs import Job, QueueFull
from anycsp.web.server import Server, Shared, refusals, searches

MOST_FOLLOWERS = 200
"""Streams of events at a time."""
DEFAULT_SECONDS = 10
LATER: dict[int | str, dict[str, Any]] = {
    201: {
        "links": {
            name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
            for name in ("state", "events", "stop", "solution", "trace")
        }
    }
}
"""What can be asked of a search that was submitted."""
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "pattern": "^[0-9]+$"},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                    "required": ["id", "data"],
                }
            }
        }
    }
}
"""Each event of a stream: in OpenAPI 3.1 the schema of a stream describes one event."""

Id = Annotated[str, Path(pattern=schemas.ID)]
router = APIRouter(responses=refusals(422))


@router.get("/api/queue")
async def queue(server: Shared) -> schemas.QueueState:
    """How many searches run and wait."""
    return schemas.QueueState(waiting=server.queue.waiting, running=server.queue.running)


@router.post("/api/jobs", status_code=201, responses={**refusals(400, 404, 503), **LATER})
async def submit(server: Shared, asked: schemas.JobRequest) -> schemas.JobState:
    """Search a problem: queued, and run when its turn comes."""
    models = server.models()
    if asked.model not in models:
        raise HTTPException(422, "model: not one of the models in the list")
    if asked.search not in searches():
        raise HTTPException(422, "search: exact search is not installed here")
    longest = server.settings.longest_search
    seconds = min(DEFAULT_SECONDS, longest) if asked.seconds is None else asked.seconds
    if seconds > longest:
        raise HTTPException(422, f"seconds: at most {longest}")
    kept = server.problem(asked.problem)
    folder = server.store.new_folder()
    told = server.request(
        kept, "solve", search=asked.search, model=models[asked.model], runs=asked.runs,
        seconds=seconds, seed=asked.seed, colors=asked.colors, folder=str(folder),
    )  # fmt: skip
    try:
        return _state(await server.queue.submit(told, folder))
    except QueueFull:
        folder.rmdir()
        raise HTTPException(503, "the queue is full: try again when some searches are done") from None


@router.get("/api/jobs/{id}", responses=refusals(404))
async def state(server: Shared, id: Id) -> schemas.JobState:
    """Where a search is."""
    return _state(server.job(id))


@router.delete("/api/jobs/{id}", responses=refusals(404))
async def stop(server: Shared, id: Id) -> schemas.JobState:
    """End a search with the best it has; take it from the queue where it waits."""
    job = server.job(id)
    server.queue.stop(job)
    return _state(job)


@router.get("/api/jobs/{id}/events", response_class=StreamingResponse, responses={**refusals(404, 503), **STREAM})
async def events(
    server: Shared, id: Id, last_event_id: Annotated[str, Header(pattern=r"^[0-9]{0,9}$")] = ""
) -> StreamingResponse:
    """All that a search told and will tell, as server-sent events; from where a broken connection ended."""
    job = server.job(id)
    if server.followers >= MOST_FOLLOWERS:
        raise HTTPException(503, "too many watch at this moment")
    first = int(last_event_id) + 1 if last_event_id else 0
    return StreamingResponse(_told(server, job, first), media_type="text/event-stream")


async def _told(server: Server, job: Job, first: int) -> AsyncIterator[bytes]:
    server.followers += 1
    try:
        async for event in job.follow(first):
            yield b": still here\n\n" if event is None else b"id: %d\ndata: %s\n\n" % event
    finally:
        server.followers -= 1


@router.get("/api/jobs/{id}/solution", response_class=FileResponse, responses=refusals(404, 409))
async def solution(server: Shared, id: Id) -> FileResponse:
    """The answer as `anycsp solve --json` prints it; `anycsp check` recounts it."""
    return _result(server.job(id), "solution.json", "application/json")


@router.get("/api/jobs/{id}/trace", response_class=FileResponse, responses=refusals(404, 409))
async def trace(server: Shared, id: Id) -> FileResponse:
    """Every improvement of the best, as `anycsp solve --trace` writes it; `anycsp plot` draws it."""
    return _result(server.job(id), "trace.jsonl", "application/x-ndjson")


def _state(job: Job) -> schemas.JobState:
    return schemas.JobState(id=job.id, state=job.state, message=job.message, events=len(job.events))


def _result(job: Job, name: str, kind: str) -> FileResponse:
    if not (job.over and (job.folder / name).exists()):
        raise HTTPException(409, "there is no answer yet, or none was found")
    return FileResponse(job.folder / name, filename=name, media_type=kind)
