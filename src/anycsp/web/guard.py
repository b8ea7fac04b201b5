"""Who may ask for what: checks before any request is looked at, and headers on every answer.

A page of another site must not be able to use the server of somebody who visits it. So the `Host` must be the server's
own (a rebound name is not), requests must not come from elsewhere (`Origin`, `Sec-Fetch-Site`), and beyond the loopback
address a token is asked for.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycsp.web.settings import LOOPBACK, Settings

COOKIE = "anycsp_token"
UPLOAD_PATH = "/api/problems"
"""The one request with a large body; it counts for itself."""
LARGEST_BODY = 1 << 16
"""Bytes of any other: the settings of a search take some hundred."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._token = app, settings.token
        names = [*LOOPBACK, "[::1]"] if settings.is_loopback else []
        self._hosts = {f"{name}:{settings.port}" for name in names} | ({*names} if settings.port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts and host.lower() not in self._hosts:
            return PlainTextResponse("this server is not asked by that name", 403)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return PlainTextResponse("requests of other pages are refused", 403)
        # A link from elsewhere may open the page, but nothing else.
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and scope["path"] != "/":
            return PlainTextResponse("requests of other pages are refused", 403)
        return self._without_token(scope, headers) or _too_large(scope, headers)

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        if self._token is None:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._fits(given):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
            return response
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._fits(bearer) or self._fits(_cookie(headers.get("cookie", ""))):
            return None
        return PlainTextResponse("open the address with the token that anycsp serve printed", 401)

    def _fits(self, given: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def _too_large(scope: Scope, headers: Headers) -> Response | None:
    """Such a body would be held in memory before anyone looks at it."""
    if scope["path"] == UPLOAD_PATH:
        return None
    if "transfer-encoding" in headers:
        return PlainTextResponse("a request says how long it is", 411)
    if int(headers.get("content-length", "0")) > LARGEST_BODY:
        return PlainTextResponse("too long a request", 413)
    return None


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
