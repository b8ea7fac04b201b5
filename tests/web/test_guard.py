"""Who may ask the server for what, and what every answer forbids the browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from anycsp.web.app import make_app
from anycsp.web.guard import COOKIE
from anycsp.web.settings import Settings

OWN = "http://127.0.0.1:8765"


@contextmanager
def asked(**settings: Any) -> Iterator[TestClient]:
    with TestClient(make_app(Settings(**settings)), base_url=OWN, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def local() -> Iterator[TestClient]:
    with asked() as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "path", "code"),
    [
        ({}, "/", 200),
        ({"host": "localhost:8765"}, "/api/queue", 200),
        ({"host": "evil.example:8765"}, "/", 403),  # a name that was bound to this address
        ({"host": "127.0.0.1:80"}, "/api/queue", 403),
        ({"origin": OWN}, "/api/queue", 200),
        ({"origin": "http://evil.example"}, "/api/queue", 403),
        ({"origin": "null"}, "/api/queue", 403),
        ({"sec-fetch-site": "same-origin"}, "/api/queue", 200),
        ({"sec-fetch-site": "cross-site"}, "/api/queue", 403),
        ({"sec-fetch-site": "same-site"}, "/api/queue", 403),  # another port of the same machine
        ({"sec-fetch-site": "cross-site"}, "/", 200),  # a link may open the page
    ],
)
def test_requests_of_other_pages_are_refused(local: TestClient, headers: dict[str, str], path: str, code: int) -> None:
    assert local.get(path, headers=headers).status_code == code


def test_a_form_of_another_page_starts_nothing(local: TestClient) -> None:
    """A page elsewhere can send such a request without asking; the browser says where it comes from."""
    headers = {"origin": "http://evil.example", "content-type": "text/plain"}
    assert local.post("/api/examples/sudoku", headers=headers).status_code == 403


def test_a_body_that_nobody_needs_is_refused_unread(local: TestClient) -> None:
    assert local.post("/api/jobs", content=b" " * (1 << 16) + b"{}").status_code == 413
    assert local.post("/api/jobs", content=iter([b"{}"])).status_code == 411


@pytest.mark.parametrize("path", ["/", "/app.js", "/api/queue", "/nothing", "/api/jobs/x"])
def test_every_answer_forbids_what_the_page_does_not_need(local: TestClient, path: str) -> None:
    headers = local.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd", "/static/../../app.py"]
)
def test_only_the_files_of_the_page_are_served(local: TestClient, path: str) -> None:
    assert local.get(path).status_code in (403, 404)


def test_the_page_asks_nothing_of_other_hosts() -> None:
    from anycsp.web.app import STATIC

    for file in STATIC.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file.name
        assert "https:" not in text, file.name
        assert 'style="' not in text, f"{file.name}: the policy forbids it"


def test_another_address_needs_the_token() -> None:
    with asked(host="0.0.0.0", token="s3cret") as client:
        assert client.get("/").status_code == 401
        assert client.get("/api/options").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/api/queue?token=s3cret").status_code == 401, "an address may be seen by others"
        assert client.get("/api/queue", headers={"authorization": "Bearer s3cret"}).status_code == 200
        assert client.get("/api/queue", headers={"authorization": "Bearer s3cre"}).status_code == 401
        opened = client.get("/?token=s3cret")
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].lower()
        assert COOKIE in cookie
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/api/queue").status_code == 200, "by the cookie"


def test_the_command_makes_up_a_token_for_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    from click.testing import CliRunner

    from anycsp.cli.serve import serve

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: [s.close() for s in sockets])
    shown = [CliRunner().invoke(serve, ["--host", host, "--port", "0"]).output for host in ("127.0.0.1", "0.0.0.0")]
    assert "token" not in shown[0]
    assert len(shown[1].partition("?token=")[2].strip()) >= 20
