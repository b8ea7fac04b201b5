"""`anycsp serve`: a page to watch searches and training runs."""

from __future__ import annotations

import secrets
import signal
import socket
from pathlib import Path

import click

from anycsp.cli.options import Whole
from anycsp.errors import AnyCSPError

EPILOG = """
\b
Examples:
  anycsp serve
  anycsp serve --runs runs
  anycsp serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


@click.command(epilog=EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; any other needs a token.")
@click.option("--port", type=Whole(0, 65535), default=8765, show_default=True, help="0 is any free one.")
@click.option("--token", help="What visitors must know; made up where the address asks for one.")
@click.option(
    "--runs", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of training runs to show."
)
@click.option("--jobs", type=Whole(1, 64), help="Searches at a time; default two, or as many as cores.")
@click.option("--memory", type=Whole(128), default=2048, show_default=True, metavar="MB", help="Memory of one job.")
@click.option("--upload", type=Whole(1), default=50, show_default=True, metavar="MB", help="Largest upload.")
@click.option("--longest", type=Whole(1, 3600), default=600, show_default=True, metavar="S", help="Longest search.")
def serve(
    host: str,
    port: int,
    token: str | None,
    runs: Path | None,
    jobs: int | None,
    memory: int,
    upload: int,
    longest: int,
) -> None:
    """Open a local page: load a problem, choose a search and watch it; with --runs watch training too."""
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError:
        raise AnyCSPError("the page needs FastAPI and uvicorn: pip install 'anycsp[web]'") from None
    from anycsp.web.app import make_app
    from anycsp.web.settings import LOOPBACK, MEGABYTE, Settings, default_jobs

    if token is None and host not in LOOPBACK:
        token = secrets.token_urlsafe(16)
    listener = _listener(host, port)
    port = listener.getsockname()[1]
    settings = Settings(
        host=host, port=port, token=token, runs=runs, jobs=jobs or default_jobs(), memory=memory * MEGABYTE,
        largest_upload=upload * MEGABYTE, longest_search=longest,
    )  # fmt: skip
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{port}/{f'?token={token}' if token else ''}")
    config = uvicorn.Config(
        make_app(settings), log_level="warning", timeout_graceful_shutdown=2, server_header=False,
        limit_concurrency=500, h11_max_incomplete_event_size=1 << 16,
    )  # fmt: skip
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # which the server sends itself once more when it has ended for one
    uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise AnyCSPError(f"cannot listen at {host}:{port}: {(error.strerror or str(error)).lower()}") from None
