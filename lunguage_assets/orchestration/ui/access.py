"""Which requests the UI answers (docs/security.md).

Dagster's webserver answers any Host and executes mutations by GET; any web page that is
open in the same browser can send requests to the loopback address. So these are
refused: a foreign Host (DNS rebinding), a request without the token, one whose Origin
is another site, and a query by GET.

The token is the first part of every path, and no cookie: a browser sends cookies to
every port of a host, also to the server of another account.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lunguage_assets.errors import ConfigurationError

TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret
HOSTS_VARIABLE = "LUNGUAGE_UI_HOSTS"
"""Further names, comma-separated, by which a proxy with TLS and a login asks."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    # The address is the secret: no other site may learn it.
    "Referrer-Policy": "same-origin",
}


def path_prefix(environment: Mapping[str, str]) -> str:
    """Return what every path begins with: the token, where there is one."""
    token = environment.get(TOKEN_VARIABLE)
    return f"/{token}" if token else ""


def access_rules(host: str, environment: Mapping[str, str]) -> list[Middleware]:
    """Return the middleware of a server.

    Args:
        host: address on which it listens.
        environment: variables, with token and hosts.

    Raises:
        ConfigurationError: others can reach the address and there is neither a token
            nor a proxy.
    """
    prefix = path_prefix(environment)
    proxy_hosts = environment.get(HOSTS_VARIABLE, "").replace(",", " ").split()
    if not (prefix or proxy_hosts or host in _LOOPBACK):
        raise ConfigurationError(
            f"--host {host}: other machines can reach this address, and the UI would "
            f"ask nobody who they are. Set ${TOKEN_VARIABLE}, as `lunguage ui` does; "
            "or put a proxy with TLS and a login before it and name its address in "
            f"${HOSTS_VARIABLE} (deploy/README.md)."
        )
    return [
        Middleware(
            TrustedHostMiddleware,
            allowed_hosts=[*_LOOPBACK, host, *proxy_hosts],
            www_redirect=False,
        ),
        Middleware(guarded, prefix=prefix),
    ]


def guarded(app: ASGIApp, prefix: str) -> ASGIApp:
    """Let an ASGI app answer whoever knows the token, and no other site."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = None
        if scope["type"] in ("http", "websocket"):
            refusal = _refusal(HTTPConnection(scope), prefix)
        await (refusal or app)(scope, receive, send_with_headers)

    return answer


def _refusal(request: HTTPConnection, prefix: str) -> PlainTextResponse | None:
    """Return why a request is not answered; None: it is."""
    path: str = request.scope["path"]
    first_part = f"/{path.split('/')[1]}"
    if prefix and not hmac.compare_digest(first_part.encode(), prefix.encode()):
        return PlainTextResponse(
            "Open the address that was printed where the UI was started.\n", 401
        )
    # Browsers send it with everything that could change or read something. It is held
    # against the Host, which is known to be this server's own.
    origin = request.headers.get("origin")
    own_host = request.headers["host"]
    if origin is not None and origin.partition("://")[2] != own_host:
        return PlainTextResponse("A page of another site may not ask this.\n", 403)
    is_get = request.scope.get("method") == "GET"
    if is_get and path.endswith("/graphql") and "query" in request.query_params:
        return PlainTextResponse("Queries are sent by POST.\n", 405)
    return None
