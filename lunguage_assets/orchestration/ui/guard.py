"""Who may ask the UI: this machine's own pages, with the token that was printed where it was started.

Any web page that is open in the same browser can send requests to the loopback address. So a foreign Host is
refused (DNS rebinding), a change by GET, and every request that another site makes; and without the token, a
cookie after the first opening, nothing is answered. (docs/security.md)
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from lunguage_assets.errors import ConfigurationError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret
"""The token; unset: none is asked for."""
HOSTS_VARIABLE = "LUNGUAGE_UI_HOSTS"
"""Further names, comma-separated, by which a proxy with TLS and a login is asked for the UI."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SOCKET = "WEBSOCKET"
"""Stands for the method of a web socket, which has none."""
_OWN_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of the UI's own pages, and of an address that a person typed."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Door:
    """Who may ask.

    Args:
        hosts: values of Host that are this server's own, with the port where one is written.
        token: asked for; empty: none.
        cookie: name of the cookie that keeps the token, of this port.
    """

    hosts: frozenset[str]
    token: str = field(default="", repr=False)
    cookie: str = "lunguage-ui"

    @classmethod
    def of(cls, host: str, port: int, environ: Mapping[str, str]) -> Door:
        """The door of a server that listens on `host` and `port`.

        Raises:
            ConfigurationError: others can reach the address, and there is neither a token nor a proxy.
        """
        named = [name.strip() for name in environ.get(HOSTS_VARIABLE, "").split(",") if name.strip()]
        token = environ.get(TOKEN_VARIABLE, "")
        if not _is_loopback(host) and not (token or named):
            raise ConfigurationError(
                f"--host {host}: other machines can reach this address, and the UI would ask nobody who "
                f"they are. Leave out --no-token; or put a proxy with TLS and a login before it and name "
                f"its address in ${HOSTS_VARIABLE} (deploy/README.md)."
            )
        own = {*LOOPBACK, *([] if host in ("0.0.0.0", "::") else [host])}  # compared, not bound
        return cls(frozenset({f"{name}:{port}" for name in own} | set(named)), token, f"lunguage-ui-{port}")

    def refusal(self, asked: HTTPConnection) -> tuple[int, str] | None:
        """Status and words for a request that is not answered; None for one that is."""
        hosts = asked.headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "This server does not answer under this name."
        if self._from_another_site(asked):
            return 403, "A page of another site may not ask this server."
        queries = asked.scope["path"].endswith("/graphql") and "query" in asked.query_params
        if queries and _method(asked) == "GET":
            return 405, "Queries are sent by POST."
        if self.token and not (self._bears_token(asked) or self.is_token(asked.cookies.get(self.cookie, ""))):
            return 401, (
                "Open the address that was printed where the UI was started: it ends in ?token=...\n"
                "A program sends the token as 'Authorization: Bearer ...'."
            )
        return None

    def _from_another_site(self, asked: HTTPConnection) -> bool:
        site, origin = asked.headers.get("sec-fetch-site", ""), asked.headers.get("origin", "")
        if _method(asked) not in _SAFE:  # may change something: a browser names the origin of these
            bears = bool(self.token) and self._bears_token(asked)
            own = urlsplit(origin).netloc in self.hosts if origin else bears
            return not own or (bool(site) and site not in _OWN_SITE)
        navigates = asked.headers.get("sec-fetch-mode") == "navigate"
        return bool(site) and site not in _OWN_SITE and not navigates

    def _bears_token(self, asked: HTTPConnection) -> bool:
        scheme, _, value = asked.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(value)

    def is_token(self, value: str) -> bool:
        """Compared in constant time."""
        return hmac.compare_digest(value.encode("utf-8", "replace"), self.token.encode("utf-8"))


def _method(asked: HTTPConnection) -> str:
    return asked.scope.get("method", _SOCKET)


class Guard:
    """ASGI middleware that answers only what the door lets in."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        if scope["type"] not in ("http", "websocket"):
            return self._app
        asked = HTTPConnection(scope)
        if entered := self._entering(asked):
            return entered
        refused = self._door.refusal(asked)
        if refused is None:
            return self._app
        if scope["type"] == "websocket":
            return WebSocketClose(1008)
        status, words = refused
        return PlainTextResponse(words + "\n", status, {"Cache-Control": "no-store", "Connection": "close"})

    def _entering(self, asked: HTTPConnection) -> Response | None:
        """The first opening: the token leaves the address, and stays as a cookie that no other site sends."""
        token = asked.query_params.get("token", "")
        if _method(asked) != "GET" or not self._door.token or not self._door.is_token(token):
            return None
        if asked.headers.get("host", "") not in self._door.hosts:
            return None
        rest = urlencode([item for item in asked.query_params.multi_items() if item[0] != "token"])
        path = asked.scope["path"].lstrip("/")
        response = RedirectResponse(f"/{path}" + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(self._door.cookie, token, httponly=True, samesite="strict", path="/")
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")
