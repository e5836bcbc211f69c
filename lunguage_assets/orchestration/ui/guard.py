"""Who may ask the UI: this machine's own pages, at the secret address that was printed where it was started.

Any web page that is open in the same browser can send requests to the loopback address. So a foreign Host is
refused (DNS rebinding), a change by GET, every request that another site makes, and every frame. The token is
the first part of every path. It is no cookie: a browser sends cookies to every port of a host, also to the
server of another account. (docs/security.md)
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from lunguage_assets.errors import ConfigurationError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret
HOSTS_VARIABLE = "LUNGUAGE_UI_HOSTS"
"""Further names, comma-separated, by which a proxy with TLS and a login is asked for the UI."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SOCKET = "WEBSOCKET"
"""Stands for the method of a web socket, which has none."""
_OWN_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of a server's own pages, and of an address that a person typed."""
_FRAMES = frozenset({"iframe", "frame", "object", "embed"})
"""Values of Sec-Fetch-Dest of what a page shows inside itself."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Door:
    """Who may ask.

    Args:
        hosts: values of Host that are this server's own, with the port where one is written.
        token: first part of every path; empty: none.
    """

    hosts: frozenset[str]
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, host: str, port: int, environ: Mapping[str, str]) -> Door:
        """The door of a server that listens on `host` and `port`.

        Raises:
            ConfigurationError: others can reach the address, and there is neither a token nor a proxy; or
                the token cannot be part of an address.
        """
        named = [name.strip() for name in environ.get(HOSTS_VARIABLE, "").split(",") if name.strip()]
        token = environ.get(TOKEN_VARIABLE, "")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", token):
            raise ConfigurationError(f"${TOKEN_VARIABLE}: a token has only letters, digits, - and _.")
        if not _is_loopback(host) and not (token or named):
            raise ConfigurationError(
                f"--host {host}: other machines can reach this address, and the UI would ask nobody who "
                f"they are. Leave out --no-token; or put a proxy with TLS and a login before it and name "
                f"its address in ${HOSTS_VARIABLE} (deploy/README.md)."
            )
        own = {*LOOPBACK, *([] if host in ("0.0.0.0", "::") else [host])}  # compared, not bound
        return cls(frozenset({f"{name}:{port}" for name in own} | set(named)), token)

    @property
    def prefix(self) -> str:
        """What every path begins with."""
        return f"/{self.token}" if self.token else ""

    def refusal(self, asked: HTTPConnection) -> tuple[int, str] | None:
        """Status and words for a request that is not answered; None for one that is."""
        hosts, path = asked.headers.getlist("host"), asked.scope["path"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "This server does not answer under this name."
        first = path.removeprefix("/").partition("/")[0]
        if self.token and not hmac.compare_digest(first.encode(), self.token.encode()):
            return 401, "Open the address that was printed where the UI was started."
        try:
            foreign = self._from_another_site(asked)
        except ValueError:
            return 400, "The Origin of this request is none."
        if foreign:
            return 403, "A page of another site may not ask this server, and none may show it in a frame."
        if path.endswith("/graphql") and "query" in asked.query_params and _method(asked) == "GET":
            return 405, "Queries are sent by POST."
        return None

    def _from_another_site(self, asked: HTTPConnection) -> bool:
        site, origin = asked.headers.get("sec-fetch-site", "none"), asked.headers.get("origin")
        if asked.headers.get("sec-fetch-dest") in _FRAMES:
            return True
        if _method(asked) not in _SAFE:  # may change something: a browser names the origin of these
            own = bool(self.token) if origin is None else urlsplit(origin).netloc in self.hosts
            return not own or site not in _OWN_SITE
        return site not in _OWN_SITE and asked.headers.get("sec-fetch-mode") != "navigate"


def _method(asked: HTTPConnection) -> str:
    return asked.scope.get("method", _SOCKET)


class Guard:
    """ASGI middleware that answers only what the door lets in."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def kept_in(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.append("Content-Security-Policy", "frame-ancestors 'none'")
                headers["X-Frame-Options"] = "DENY"
                headers["Referrer-Policy"] = "same-origin"  # the address is the secret
            await send(message)

        await self._answer(scope)(scope, receive, kept_in)

    def _answer(self, scope: Scope) -> ASGIApp:
        if scope["type"] not in ("http", "websocket"):
            return self._app
        refused = self._door.refusal(HTTPConnection(scope))
        if refused is None:
            return self._app
        if scope["type"] == "websocket":
            return WebSocketClose(1008)
        status, words = refused
        return PlainTextResponse(words + "\n", status, {"Cache-Control": "no-store", "Connection": "close"})


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")
