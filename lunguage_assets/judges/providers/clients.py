"""What the providers with an SDK share: its clients, one per event loop, without redirects, and silent; and
the message for an SDK that is not installed.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import logging
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar
from urllib.request import getproxies

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.providers.endpoints import Endpoint
from lunguage_assets.judges.requests import ModelBinding

INSTALL = "pip install 'lunguage-assets[llm]'"
_TALKATIVE = (
    "openai",
    "anthropic",
    "google_genai",
    "google.auth",
    "httpx2",
    "httpcore2",
    "httpx",
    "httpcore",
)

_CONNECTIONS_OF_A_POOL = 8

Client = TypeVar("Client")


def sdk(key: str, module: str) -> ModuleType:
    """An SDK's module.

    Its loggers are silenced up to warnings: at level DEBUG the SDKs log whole requests, and OPENAI_LOG or
    ANTHROPIC_LOG would turn that on.

    Raises:
        ConfigurationError: it is not installed; the message has the line that installs it.
    """
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"judge {key!r} needs the package of module {module}, which is not installed. Run: {INSTALL}"
        ) from None
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger(name).level))
    return found


def http_client(timeout_s: float, in_flight: int, *, on_this_machine: bool) -> Any:
    """An `httpx2.AsyncClient` that waits for no free connection, follows no redirect, and uses no proxy to
    reach this machine.

    A redirect would carry the prompt to a server that the judges file does not name.
    """
    import httpx2

    connections = max(100, in_flight)
    limits = httpx2.Limits(max_connections=2 * connections, max_keepalive_connections=connections)
    shared: dict[str, Any] = {
        "timeout": timeout_s,
        "follow_redirects": False,
        "trust_env": not on_this_machine,
    }
    if shared["trust_env"] and getproxies():  # a transport of our own would pass by the proxies
        return httpx2.AsyncClient(limits=limits, **shared)
    certificates = httpx2.create_ssl_context(trust_env=shared["trust_env"])
    parts = [
        httpx2.AsyncHTTPTransport(verify=certificates, limits=limits)
        for _ in range(math.ceil(in_flight / _CONNECTIONS_OF_A_POOL))
    ]
    spread: Any = _Spread(parts)
    return httpx2.AsyncClient(transport=spread, **shared)


class _Spread:
    """Several small connection pools in turn: a pool looks at all its connections for every request, which
    for 64 costs as much as the call.
    """

    def __init__(self, pools: Sequence[Any]) -> None:
        self._pools, self._turn = pools, itertools.cycle(pools)

    async def handle_async_request(self, request: Any) -> Any:
        """The response of the next pool."""
        return await next(self._turn).handle_async_request(request)

    async def aclose(self) -> None:
        """Close all pools."""
        for pool in self._pools:
            await pool.aclose()


class PerLoop(Generic[Client]):
    """One client per running event loop: pooled connections belong to the loop that opened them."""

    def __init__(self, make: Callable[[], Client], close: Callable[[Client], Awaitable[None]]) -> None:
        self._make, self._close = make, close
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def here(self) -> Client:
        """The running loop's client, made at first use."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._make()
        return self._clients[loop]

    async def close(self) -> None:
        """Close the running loop's client; those of other loops ended with them."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self._close(client)


class SdkProvider(ABC):
    """A provider through its SDK, the module `module`: its binding, and a client per event loop."""

    module: ClassVar[str]

    def __init__(
        self, key: str, binding: ModelBinding, endpoint: Endpoint, timeout_s: float, in_flight: int
    ) -> None:
        self._module = sdk(key, self.module)
        self._binding, self._endpoint = binding, endpoint
        self._timeout_s, self._in_flight = timeout_s, in_flight
        self._clients: PerLoop[Any] = PerLoop(self._client, lambda client: client.close())

    @property
    def binding(self) -> ModelBinding:
        return self._binding

    @property
    def client(self) -> Any:
        """The SDK's client of the running event loop."""
        return self._clients.here

    async def close(self) -> None:
        await self._clients.close()

    @abstractmethod
    def _client(self) -> Any:
        """A new client of the SDK."""

    def _http(self) -> Any:
        return http_client(self._timeout_s, self._in_flight, on_this_machine=self._endpoint.on_this_machine)
