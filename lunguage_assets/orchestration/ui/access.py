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

_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    # The address is the secret: no other site may learn it.
    "Referrer-Policy": "same-origin",
}


class Refusal(NamedTuple):
    """Why a request is not answered, as HTTP says it."""

    status: int
    message: str


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
        headers = request.headers
        path: str = request.scope["path"]
        # Dagster takes several Hosts for one, and believes the last.
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return Refusal(421, "This server does not answer under this name.")
        first_part = path.removeprefix("/").partition("/")[0]
        if self.token and not hmac.compare_digest(
            first_part.encode(), self.token.encode()
        ):
            return Refusal(
                401, "Open the address that was printed where the UI was started."
            )
        if not self._is_from_own_page(request):
            return Refusal(403, "A page of another site may not ask this server.")
        # A web socket has no method.
        is_get = request.scope.get("method") == "GET"
        if is_get and path.endswith("/graphql") and "query" in request.query_params:
            return Refusal(405, "Queries are sent by POST.")
        return None

    def _is_from_own_page(self, request: HTTPConnection) -> bool:
        headers = request.headers
        is_own_site = headers.get("sec-fetch-site", "none") in _OWN_SITE
        if request.scope.get("method") in _SAFE_METHODS:
            # A link on another site may lead here; its scripts may not ask.
            return is_own_site or headers.get("sec-fetch-mode") == "navigate"
        origin = headers.get("origin")
        if origin is None:
            # No browser: whoever knows the token may change something.
            return is_own_site and bool(self.token)
        return is_own_site and origin.partition("://")[2] in self.hosts


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")


class AccessMiddleware:
    """ASGI middleware that answers only what the policy lets in."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
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
