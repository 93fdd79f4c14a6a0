"""What all addresses of the server share: the study and its writer, limits, headers, cookies, and error responses.

Network addresses are used for counting, in memory, under a key that is forgotten with the process. What is refused is
logged in words of this file alone, so that nothing of whoever asked, and nothing that they sent, ends in a log.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import numpy as np
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nearer.survey.session import NotAssigned, QuestionService
from nearer.survey.store import Busy, DatabaseDamaged, Writer, claim_fact, driver_message, with_timeout
from nearer.survey.study import Study

Result = TypeVar("Result")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

WRITE_SECONDS = 10.0  # less than the 15 after which the page gives a request up
NEWCOMERS_PER_MINUTE = 20  # of one network address, which all computers of a laboratory may share
BURST_MINUTES = 15  # the newcomers of so many minutes may come at once
MAX_BODY_BYTES = 64_000
OWN_HEADER = "x-nearer"
_STUDY_KEY = "key"
_COOKIE_SECONDS = 30 * 24 * 3600
_MAX_RATE_KEYS = 20_000
_LOG = logging.getLogger("nearer.survey")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
_PATHS = ("/researcher", "/stimuli", "/static", "/api")
_REASONS = {
    400: "malformed", 401: "there is no such session", 404: "there is no such page", 405: "this method is not allowed",
    409: "the study is closed", 413: "too large", 415: "not JSON", 429: "too many requests",
}  # fmt: skip


class RateLimit:
    """Allows ``burst`` at once, and ``per_second`` afterwards, for each key."""

    def __init__(self, burst: int, per_second: float) -> None:
        self.burst, self.per_second = burst, per_second
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._key = secrets.token_bytes(16)

    def allows(self, who: str = "") -> bool:
        """Return whether one more is allowed, and count it."""
        key, now = hmac.digest(self._key, who.encode(), "sha256")[:12], time.monotonic()
        left, before = self._left.pop(key, (float(self.burst), now))
        left = min(left + (now - before) * self.per_second, float(self.burst))
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        if len(self._left) > _MAX_RATE_KEYS:
            self._left.popitem(last=False)
        return allowed


_TROUBLE_LINES = RateLimit(50, 1)


class Survey:
    """What the addresses share; ``secure``: whether cookies are for TLS alone."""

    def __init__(
        self, study: Study, writer: Writer, *, seed: int | None, secure: bool, newcomers_per_minute: int
    ) -> None:
        self.study, self.writer, self.secure = study, writer, secure
        self.service = QuestionService(study, writer.database, np.random.default_rng(seed))
        # Public: by it a browser distinguishes the answers of this study from those of another at the same address.
        self.key = writer.run(lambda connection: claim_fact(connection, _STUDY_KEY, secrets.token_hex(8)))
        self.arrivals = RateLimit(BURST_MINUTES * newcomers_per_minute, newcomers_per_minute / 60)
        self.requests, self.guesses = RateLimit(60, 10), RateLimit(10, 0.1)

    async def run(self, work: Callable[[Connection], Result], person: str = "", *, places: bool = False) -> Result:
        """Let the writer work, and wait without holding up others, but not for ever: pages ask again on their own."""
        future = asyncio.wrap_future(self.writer.submit(work, person, places=places))
        return await with_timeout(future, WRITE_SECONDS)

    def cookie(self, name: str) -> str:
        """Return the name of a cookie: browsers give those of a host to all its ports, where other studies may be."""
        return f"nearer_{name}_{self.key}"

    def page(self, name: str, **context: Any) -> str:
        """Return a page rendered from a template."""
        return _templates().get_template(name).render(**context)


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(package_folder("templates"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def package_folder(name: str) -> Path:
    """Return a folder of this package."""
    return Path(str(resources.files("nearer.survey") / name))


class RequestError(Exception):
    """A request that is not carried out, with the status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def make_application(routes: list[Route]) -> Guarded:
    """Return the application that has these addresses, with a response for everything that goes wrong."""
    handlers: Any = {
        RequestError: lambda _, error: error_response(error.status, str(error)),
        ClientDisconnect: lambda *_: Response(status_code=400),
        Busy: _busy_response,
        DatabaseDamaged: _busy_response,
        DataError: lambda *_: error_response(400, "there is a character that no database takes"),
        SQLAlchemyError: _busy_response,
        NotAssigned: lambda _, error: error_response(403, str(error)),
        ValueError: lambda _, error: error_response(400, str(error)),
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guarded(app)


def error_response(status: int, message: str) -> JSONResponse:
    """Return a response that says why a request was refused."""
    return JSONResponse({"error": message}, status_code=status)


def _busy_response(_: Request, error: Exception) -> Response:
    log_trouble(driver_message(error) if isinstance(error, SQLAlchemyError) else str(error))
    response = error_response(503, "the server is busy; the answer will be sent again automatically")
    response.headers["retry-after"] = "1"
    return response


def log_trouble(message: str) -> None:
    """Log what went wrong, but not so often that the news of a full disk would fill it."""
    if _TROUBLE_LINES.allows():
        _LOG.error("%s", message)


async def read_json(request: Request) -> Any:
    """Return the JSON that a request of our own page brings."""
    if not is_from_own_page(request.headers):
        raise RequestError(403, "only the study's own page may send this")
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise RequestError(415, "the body must be JSON")
    try:
        return json.loads(await request.body())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise RequestError(400, "the body is not valid JSON") from None


def is_from_own_page(headers: Headers) -> bool:
    """Return whether a request that changes something comes from one of the study's own pages."""
    if headers.get(OWN_HEADER) != "1":
        return False
    site, origin, host = headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host")
    if site not in (None, "same-origin"):
        return False
    return origin is None or origin.split("://")[-1] == host


def client_network(request: Request) -> str:
    """Return the network that a request comes from; for counting in memory, and nothing else."""
    return network_of(request.client.host if request.client else "")


def network_of(address: str) -> str:
    """Return the part of an address that is counted: of IPv6, where a household has 2**64 addresses, the first half."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:  # a proxy may write what it likes
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Address(int(found) >> 64 << 64))


def set_cookie(response: Response, name: str, value: str, secure: bool) -> None:
    """Let a browser keep a value that no script reads.

    Lax, so that links in mails work; whatever changes something must come from our own pages all the same.
    """
    response.set_cookie(name, value, max_age=_COOKIE_SECONDS, httponly=True, samesite="lax", secure=secure, path="/")


def is_plain(text: str) -> bool:
    """Return whether text has visible ASCII characters alone, which every database takes."""
    return text.isascii() and text.isprintable()


def _refusal_reason(scope: Scope, status: int) -> str:
    if status != 403:
        return _REASONS.get(status, "refused")
    if scope["method"] == "POST" and not is_from_own_page(Headers(scope=scope)):
        return "it comes from another page"
    return "without the secret" if scope["path"].startswith("/researcher") else "not assigned to this person"


class Guarded:
    """An application with headers on every response, a limit on the size of requests, and a log of refusals."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.app, self.lines, self._n_unwritten = app, RateLimit(50, 1), 0

    def log_refusal(self, scope: Scope, status: int) -> None:
        """Log a refused request; of very many, some lines with the number of the others."""
        if not self.lines.allows():
            self._n_unwritten += 1
            return
        others = f" (and {self._n_unwritten} others before it)" if self._n_unwritten else ""
        method = scope["method"] if scope["method"] in _METHODS else "another method"
        # What somebody wrote in an address that is none of ours is not repeated.
        known = (f"{each}..." for each in _PATHS if scope["path"].startswith(each))
        path = "/" if scope["path"] == "/" else next(known, "elsewhere")
        _LOG.warning("refused: %s %s: %d, %s%s", method, path, status, _refusal_reason(scope, status), others)
        self._n_unwritten = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if 400 <= message["status"] < 500:
                    self.log_refusal(scope, message["status"])
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in own)]
                if message["status"] == 413:  # the rest of the request is not waited for
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        # A redirection would lead to the name of the server that a request names, which anybody may write there.
        scope["path"] = scope["path"].rstrip("/") or "/"
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdigit() or int(declared) > MAX_BODY_BYTES:
            await error_response(413, "too large")(scope, receive, with_headers)
            return
        n_bytes = 0

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal n_bytes  # a body may be larger than declared
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MAX_BODY_BYTES:
                raise RequestError(413, "too large")
            return message

        await self.app(scope, bounded, with_headers)
