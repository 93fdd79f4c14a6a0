"""Who may do what: the researcher's secret, limits on how fast and how much, and the headers of every page.

The secret is a long random word of which the database has a hash alone. Participants have a token each, in a cookie
that no script can read. Whatever changes something must come from the study's own pages: browsers say where a request
comes from, and let other pages add no header of their own. Addresses are used for counting, in memory, under a key that
is forgotten with the process; they are never written anywhere.

What is refused is logged: what, where and why, in words of this file alone, so that nothing of whoever asked, and
nothing that they sent, ends in a log. Of very many refusals some lines tell, with the number of the others.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sqlalchemy import Connection
from starlette.datastructures import Headers

from nearer.survey.people import hashed
from nearer.survey.store.database import claim_fact, read_fact, write_fact

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOG = logging.getLogger("nearer.survey")
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
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
_PLACES = ("/researcher", "/stimuli", "/static", "/api")
_WHY = {
    400: "it makes no sense", 401: "there is no such session", 404: "there is nothing", 405: "not in this way",
    409: "the study is closed", 413: "it is too large", 415: "it is no JSON", 429: "too often",
}  # fmt: skip


def new_secret(connection: Connection) -> str:
    """Make a secret for the researcher, in place of any before, and return it: it is kept nowhere."""
    secret = secrets.token_urlsafe(24)
    write_fact(connection, SECRET, hashed(secret))
    return secret


def first_secret(connection: Connection) -> str | None:
    """Make a secret for the researcher and return it; None if there is one, such as of a server that began just now."""
    secret = secrets.token_urlsafe(24)
    return secret if claim_fact(connection, SECRET, hashed(secret)) == hashed(secret) else None


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


def network_of(address: str) -> str:
    """Return what addresses are counted by: of IPv6, where each household has 2**64 of them, the first half.

    Examples
    --------
    >>> network_of("192.0.2.1"), network_of("::ffff:192.0.2.1"), network_of("2001:db8::7:1"), network_of("")
    ('192.0.2.1', '192.0.2.1', '2001:db8::', '')
    """
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:  # a proxy may write what it likes
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Address(int(found) >> 64 << 64))


def is_plain(text: str) -> bool:
    """Say whether text has visible ASCII characters alone, which every database takes."""
    return text.isascii() and text.isprintable()


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


class Refusals:
    """Logs what was refused, in so many lines at once and so many a second afterwards.

    Parameters
    ----------
    at_once : int
    per_second : float
    """

    def __init__(self, at_once: int = 50, per_second: float = 1.0) -> None:
        self._lines = Limit(at_once, per_second)
        self._unwritten = 0

    def log(self, scope: Scope, status: int) -> None:
        """Log a request that was refused."""
        if not self._lines.allows("all"):
            self._unwritten += 1
            return
        others = f" (and {self._unwritten} others before it)" if self._unwritten else ""
        method = scope["method"] if scope["method"] in _METHODS else "another method"
        _LOG.warning("refused: %s %s: %d, %s%s", method, _place(scope["path"]), status, _why(scope, status), others)
        self._unwritten = 0


def _place(path: str) -> str:
    """Return an address as far as it is one of ours; what else somebody wrote there is not repeated."""
    if path == "/":
        return path
    return next((f"{place}..." for place in _PLACES if path.startswith(place)), "elsewhere")


def _why(scope: Scope, status: int) -> str:
    if status != 403:
        return _WHY.get(status, "no")
    if scope["method"] == "POST" and not from_own_page(Headers(scope=scope)):
        return "it comes from another page"
    return "without the secret" if scope["path"].startswith("/researcher") else "it is not this person's"


class Guarded:
    """An application behind headers that every answer has, a limit on what a request may bring, and a log.

    Parameters
    ----------
    app : ASGI application
    most_bytes : int
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], most_bytes: int = 64_000) -> None:
        self.app, self.most_bytes, self.refusals = app, most_bytes, Refusals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if 400 <= message["status"] < 500:
                    self.refusals.log(scope, message["status"])
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in own)]
                if message["status"] == 413:  # the rest of the request is not waited for
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        # A redirection would lead to the name of the server that a request names, which anybody may write there.
        scope["path"] = scope["path"].rstrip("/") or "/"
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
