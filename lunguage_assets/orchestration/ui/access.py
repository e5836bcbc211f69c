"""Which requests the UI answers (docs/security.md).

Dagster's webserver answers any Host and executes mutations by GET; any web page that is
open in the same browser can send requests to the loopback address. So these are
refused: a foreign Host (DNS rebinding), a change by GET, every request that another
site makes, and every frame.

The token is the first part of every path, and no cookie: a browser sends cookies to
every port of a host, also to the server of another account.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from lunguage_assets.errors import ConfigurationError

TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret
HOSTS_VARIABLE = "LUNGUAGE_UI_HOSTS"
"""Further names, comma-separated, by which a proxy with TLS and a login asks."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of a server's own pages, and of a typed address."""
_FRAMES = frozenset({"iframe", "frame", "object", "embed"})
"""Values of Sec-Fetch-Dest of what a page shows inside itself."""


class Refusal(NamedTuple):
    """Why a request is not answered, as HTTP says it."""

    status: int
    message: str


_FOREIGN_HOST = Refusal(421, "This server does not answer under this name.")
_NO_TOKEN = Refusal(401, "Open the address that was printed where the UI was started.")
_BAD_ORIGIN = Refusal(400, "The Origin of this request is none.")
_FOREIGN_SITE = Refusal(
    403,
    "A page of another site may not ask this server, and none may show it in a frame.",
)
_QUERY_BY_GET = Refusal(405, "Queries are sent by POST.")


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class AccessPolicy:
    """Which requests a server answers.

    Args:
        hosts: values of Host that are this server's own, with the port where one is
            written.
        token: the first part of every path, where there is one.
    """

    hosts: frozenset[str]
    token: str = field(default="", repr=False)

    @classmethod
    def of_server(
        cls, host: str, port: int, environment: Mapping[str, str]
    ) -> AccessPolicy:
        """Return the policy of a server.

        Args:
            host: address on which it listens.
            port: on which it listens.
            environment: variables, with token and hosts.

        Raises:
            ConfigurationError: others can reach the address and there is neither a
                token nor a proxy, or the token can't be part of an address.
        """
        token = environment.get(TOKEN_VARIABLE, "")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", token):
            raise ConfigurationError(
                f"${TOKEN_VARIABLE}: a token has only letters, digits, - and _."
            )
        names = environment.get(HOSTS_VARIABLE, "").split(",")
        proxy_hosts = {name.strip() for name in names if name.strip()}
        if not (_is_loopback(host) or token or proxy_hosts):
            raise ConfigurationError(
                f"--host {host}: other machines can reach this address, and the UI "
                "would ask nobody who they are. Leave out --no-token; or put a proxy "
                "with TLS and a login before it and name its address in "
                f"${HOSTS_VARIABLE} (deploy/README.md)."
            )
        # "Every address" is nothing that a browser asks for.
        names_here = {"127.0.0.1", "localhost", "[::1]", host} - {"0.0.0.0", "::"}
        hosts_here = {f"{name}:{port}" for name in names_here}
        return cls(frozenset(hosts_here | proxy_hosts), token)

    @property
    def prefix(self) -> str:
        """What every path begins with."""
        return f"/{self.token}" if self.token else ""

    def refusal(self, request: HTTPConnection) -> Refusal | None:
        """Return why a request is not answered; None: it is."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return _FOREIGN_HOST
        if not self._has_token(request):
            return _NO_TOKEN
        try:
            is_foreign = self._is_from_another_site(request)
        except ValueError:  # urlsplit, of an Origin that is no address
            return _BAD_ORIGIN
        if is_foreign:
            return _FOREIGN_SITE
        if _is_query_by_get(request):
            return _QUERY_BY_GET
        return None

    def _has_token(self, request: HTTPConnection) -> bool:
        if not self.token:
            return True
        path: str = request.scope["path"]
        first_part = path.removeprefix("/").partition("/")[0]
        return hmac.compare_digest(first_part.encode(), self.token.encode())

    def _is_from_another_site(self, request: HTTPConnection) -> bool:
        headers = request.headers
        if headers.get("sec-fetch-dest") in _FRAMES:
            return True
        site = headers.get("sec-fetch-site", "none")
        if _method(request) in _SAFE_METHODS:
            # A link on another site may lead here; its scripts may not ask.
            is_navigation = headers.get("sec-fetch-mode") == "navigate"
            return site not in _OWN_SITE and not is_navigation
        origin = headers.get("origin")
        if origin is None:
            # No browser: whoever knows the token may change something.
            is_own_origin = bool(self.token)
        else:
            is_own_origin = urlsplit(origin).netloc in self.hosts
        return not is_own_origin or site not in _OWN_SITE


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")


def _method(request: HTTPConnection) -> str:
    """Return the method; a web socket has none, and may change something."""
    method: str = request.scope.get("method", "WEBSOCKET")
    return method


def _is_query_by_get(request: HTTPConnection) -> bool:
    return (
        _method(request) == "GET"
        and request.scope["path"].endswith("/graphql")
        and "query" in request.query_params
    )


class AccessMiddleware:
    """ASGI middleware that answers only what the policy lets in."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.append("Content-Security-Policy", "frame-ancestors 'none'")
                headers["X-Frame-Options"] = "DENY"
                # The address is the secret: no other site may learn it.
                headers["Referrer-Policy"] = "same-origin"
            await send(message)

        await self._answer(scope)(scope, receive, send_with_headers)

    def _answer(self, scope: Scope) -> ASGIApp:
        if scope["type"] not in ("http", "websocket"):
            return self._app
        refusal = self._policy.refusal(HTTPConnection(scope))
        if refusal is None:
            return self._app
        if scope["type"] == "websocket":
            return WebSocketClose(1008)
        return PlainTextResponse(
            refusal.message + "\n",
            refusal.status,
            {"Cache-Control": "no-store", "Connection": "close"},
        )
