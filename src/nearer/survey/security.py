"""Who may do what: the researcher's secret, limits on how fast and how much, and the headers of every page.

The secret is a long random word of which the database has a hash alone. Participants have a token each, in a cookie
that no script can read. Whatever changes something must come from the study's own pages: browsers say where a request
comes from, and let other pages add no header of their own. Addresses are used for counting, in memory, under a key that
is forgotten with the process; they are never written anywhere.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sqlalchemy import Connection
from starlette.datastructures import Headers

from nearer.survey.people import hashed
from nearer.survey.store.database import read_fact, write_fact

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SECRET = "secret"
OWN_HEADER = "x-nearer"
_MOST_KEYS = 20_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def new_secret(connection: Connection) -> str:
    """Make a secret for the researcher, in place of any before, and return it: it is kept nowhere."""
    secret = secrets.token_urlsafe(24)
    write_fact(connection, SECRET, hashed(secret))
    return secret


def is_secret(connection: Connection, said: str) -> bool:
    """Say whether this is the researcher's secret, in a time that does not tell how much of it is right."""
    kept = read_fact(connection, SECRET)
    return kept is not None and hmac.compare_digest(kept, hashed(said))


def from_own_page(headers: Headers) -> bool:
    """Say whether a request that changes something comes from one of the study's own pages."""
    if headers.get(OWN_HEADER) != "1":
        return False
    site, origin, host = headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host")
    if site not in (None, "same-origin"):
        return False
    return origin is None or origin.split("://")[-1] == host


class Limit:
    """So many at once, and so many a second afterwards, for each key.

    Parameters
    ----------
    at_once : int
    per_second : float

    Examples
    --------
    >>> limit = Limit(2, 0.001)
    >>> [limit.allows("somebody") for _ in range(3)], limit.allows("somebody else")
    ([True, True, False], True)
    """

    def __init__(self, at_once: int, per_second: float) -> None:
        self.at_once, self.per_second = at_once, per_second
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._key = secrets.token_bytes(16)

    def allows(self, who: str) -> bool:
        """Say whether one more is allowed, and count it."""
        key, now = hmac.digest(self._key, who.encode(), "sha256")[:12], time.monotonic()
        left, before = self._left.pop(key, (float(self.at_once), now))
        left = min(left + (now - before) * self.per_second, float(self.at_once))
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST_KEYS:
            self._left.popitem(last=False)
        return allowed


class Guarded:
    """An application behind headers that every answer has, and a limit on what a request may bring.

    Parameters
    ----------
    app : ASGI application
    most_bytes : int
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], most_bytes: int = 64_000) -> None:
        self.app, self.most_bytes = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in own)]
            await send(message)

        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdigit() or int(declared) > self.most_bytes:
            await _refuse(with_headers)
            return
        await self.app(scope, _bounded(receive, self.most_bytes), with_headers)


class TooLarge(Exception):
    """A request brings more than it may."""


def _bounded(receive: Receive, most: int) -> Receive:
    """Return a receiver that ends where a body grows beyond its limit, whatever its length was said to be."""
    seen = 0

    async def receive_some() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge
        return message

    return receive_some


async def _refuse(send: Send) -> None:
    body = b'{"error": "too large"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
