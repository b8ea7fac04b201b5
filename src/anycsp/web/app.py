"""The application: its parts put together, and what becomes of requests that do not fit."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute

import anycsp
from anycsp.web import job_routes, problem_routes, run_routes
from anycsp.web.guard import Guard
from anycsp.web.server import Server
from anycsp.web.settings import Settings

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
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

    app = FastAPI(
        title="anycsp", version=anycsp.__version__, lifespan=life, docs_url=None, redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )  # fmt: skip
    app.add_middleware(Guard, settings=settings)
    app.add_exception_handler(RequestValidationError, _in_one_line)
    app.add_exception_handler(405, _with_all_methods)
    for routes in (problem_routes, job_routes, run_routes):
        app.include_router(routes.router)
    for file in sorted(STATIC.iterdir()):
        path = "/" if file.name == INDEX else f"/{file.name}"
        app.add_api_route(path, _sender(file), methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _sender(file: Path) -> Callable[[], FileResponse]:
    """One file of the page: what is not on the list is not there."""
    return lambda: FileResponse(file)


async def _in_one_line(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return JSONResponse({"detail": f"{where}: {first['msg']}"[:LONGEST_REFUSAL]}, 422)


async def _with_all_methods(request: Request, error: Exception) -> JSONResponse:
    """A path may have several routes, of which the first alone would be named."""
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    allowed = {m for route in routes if route.path_regex.match(request.url.path) for m in route.methods or ()}
    return JSONResponse({"detail": "method not allowed"}, 405, {"Allow": ", ".join(sorted(allowed))})
