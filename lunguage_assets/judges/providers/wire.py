"""The HTTP client under the SDKs: what may not leave the machine does not leave here, whatever an SDK does.

Text goes in clear to this machine alone. Headers that the environment holds for a service go to that service
alone: the SDKs add OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS to whatever server the judges
file names. A response is read up to a limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any
from urllib.request import getproxies

import httpx2

from lunguage_assets.judges.slots import on_this_machine

MOST_OF_A_REPLY = 16 << 20
"""Bytes read of the response to a question."""

_CONNECTIONS_OF_A_POOL = 8
_OWN = {
    "OPENAI_CUSTOM_HEADERS": ".openai.com",
    "ANTHROPIC_CUSTOM_HEADERS": ".anthropic.com",
}
_OPENAI = {"OPENAI_ORG_ID": "openai-organization", "OPENAI_PROJECT_ID": "openai-project"}


class ReplyTooLarge(Exception):
    """A response goes on behind the limit; it is not used."""


def withheld_headers(base_url: str, environ: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Headers, name in lower case and value, that the SDKs take from the environment for another host."""
    host = f".{httpx2.URL(base_url).host}"
    found = set[tuple[str, str]]()
    for variable, owner in _OWN.items():
        if not host.endswith(owner):
            lines = (line.partition(":") for line in environ.get(variable, "").split("\n"))
            found |= {(name.strip().lower(), value.strip()) for name, colon, value in lines if colon}
    if not host.endswith(".openai.com"):
        found |= {(name, environ[variable]) for variable, name in _OPENAI.items() if variable in environ}
    if not host.endswith(".googleapis.com"):  # of google-auth: who is billed
        found.add(("x-goog-user-project", environ.get("GOOGLE_CLOUD_QUOTA_PROJECT", "")))
    return frozenset(found)


def http_client(
    timeout_s: float, in_flight: int, *, on_this_machine: bool, withheld: Collection[tuple[str, str]] = ()
) -> Client:
    """A client that waits for no free connection, follows no redirect, and uses no proxy to reach this
    machine.

    A redirect would carry the prompt to a server that the judges file does not name.
    """
    connections = max(100, in_flight)
    limits = httpx2.Limits(max_connections=2 * connections, max_keepalive_connections=connections)
    shared: dict[str, Any] = {
        "timeout": timeout_s,
        "follow_redirects": False,
        "trust_env": not on_this_machine,
    }
    if shared["trust_env"] and getproxies():  # a transport of our own would pass by the proxies
        return Client(withheld, limits=limits, **shared)
    certificates = httpx2.create_ssl_context(trust_env=shared["trust_env"])
    parts = [
        httpx2.AsyncHTTPTransport(verify=certificates, limits=limits)
        for _ in range(math.ceil(in_flight / _CONNECTIONS_OF_A_POOL))
    ]
    return Client(withheld, transport=_Spread(parts), **shared)


class Client(httpx2.AsyncClient):
    """Sends without the `withheld` headers, and in clear to this machine only; reads up to a limit."""

    def __init__(self, withheld: Collection[tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self._withheld = withheld

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """As in `AsyncClient`.

        Raises:
            UnsupportedProtocol: the address is not https and not this machine's; nothing was sent.
            ReplyTooLarge: while the response is read.
        """
        if request.url.scheme != "https" and not on_this_machine(str(request.url)):
            raise httpx2.UnsupportedProtocol("expected https")
        for name, value in self._withheld:
            if request.headers.get(name) == value:
                del request.headers[name]
        request.headers["Accept-Encoding"] = "identity"  # what is packed has no limit
        response = await super().send(request, stream=True, **options)
        response.stream = _Limited(response, MOST_OF_A_REPLY)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to so many bytes."""

    def __init__(self, response: httpx2.Response, most: int) -> None:
        self._body: Any = response.stream
        self._left = 0 if response.headers.get("Content-Encoding", "identity") != "identity" else most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            self._left -= len(part)
            if self._left < 0:
                raise ReplyTooLarge
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


class _Spread(httpx2.AsyncBaseTransport):
    """Several small connection pools in turn: a pool looks at all its connections for every request, which
    for 64 costs as much as the call.
    """

    def __init__(self, pools: Sequence[httpx2.AsyncBaseTransport]) -> None:
        self._pools, self._turn = pools, itertools.cycle(pools)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the next pool."""
        return await next(self._turn).handle_async_request(request)

    async def aclose(self) -> None:
        """Close all pools."""
        for pool in self._pools:
            await pool.aclose()
