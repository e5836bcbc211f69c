"""Which requests the UI answers (docs/security.md).

Dagster's webserver has no login, answers any Host and executes mutations by GET; any
web page that is open in the same browser can send requests to the loopback address. So
the first part of every path is a token, which no other site knows, and a request
without it is refused.

It is no cookie: a browser sends cookies to every port of a host, also to the server of
another account, and with what another site asks.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lunguage_assets.errors import ConfigurationError

TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret

_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    # The address is the secret: no other site may learn it.
    "Referrer-Policy": "same-origin",
}


def path_prefix(environment: Mapping[str, str]) -> str:
    """Return what every path begins with: the token.

    Raises:
        ConfigurationError: there is none.
    """
    token = environment.get(TOKEN_VARIABLE)
    if not token:
        raise ConfigurationError(
            f"${TOKEN_VARIABLE} is not set, and the UI would ask nobody who they are. "
            "Set it, as `lunguage ui` does (deploy/README.md)."
        )
    return f"/{token}"


def guarded(app: ASGIApp, prefix: str) -> ASGIApp:
    """Let an ASGI app answer whoever knows the token."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        is_allowed = scope["type"] == "lifespan" or _knows_token(scope["path"], prefix)
        await (app if is_allowed else _REFUSAL)(scope, receive, send_with_headers)

    return answer


_REFUSAL = PlainTextResponse(
    "Open the address that was printed where the UI was started.\n", 401
)


def _knows_token(path: str, prefix: str) -> bool:
    first_part = f"/{path.split('/')[1]}"
    return hmac.compare_digest(first_part.encode(), prefix.encode())
