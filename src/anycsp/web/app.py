"""The application: its parts put together, and what becomes of requests that do not fit."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.staticfiles import StaticFiles

import anycsp
from anycsp.web import job_routes, problem_routes, run_routes
from anycsp.web.guard import Guard
from anycsp.web.server import Server
from anycsp.web.settings import Settings

STATIC = Path(__file__).parent / "static"
LONGEST_REFUSAL = 300


def make_app(settings: Settings) -> FastAPI:
    """The application; it holds files in a temporary folder for as long as it runs."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="anycsp-serve-") as name:
            server = app.state.server = Server(settings, Path(name))
            server.queue.start()
            try:
                yield
            finally:
                await server.queue.close()

    app = FastAPI(title="anycsp", version=anycsp.__version__, lifespan=life, docs_url=None, redoc_url=None)
    app.add_middleware(Guard, settings=settings)
    app.add_exception_handler(RequestValidationError, _in_one_line)
    for routes in (problem_routes, job_routes, run_routes):
        app.include_router(routes.router)
    app.mount("/", StaticFiles(directory=STATIC, html=True), name="static")
    return app


async def _in_one_line(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return JSONResponse({"detail": f"{where}: {first['msg']}"[:LONGEST_REFUSAL]}, 422)
