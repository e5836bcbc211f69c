"""HTTP clients of the SDKs: one per event loop, without redirects, and silent; and the message for an SDK that is not installed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import weakref
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, Generic, TypeVar

from lunguage_assets.errors import ConfigurationError

INSTALL = "pip install 'lunguage-assets[llm]'"
_TALKATIVE = ("openai", "anthropic", "google_genai", "google.auth", "httpx2", "httpcore2", "httpx", "httpcore")

Client = TypeVar("Client")


def sdk(key: str, module: str) -> ModuleType:
    """An SDK's module.

    Its loggers are silenced up to warnings: at level DEBUG the SDKs log whole requests, and OPENAI_LOG or ANTHROPIC_LOG would turn that on.

    Raises:
        ConfigurationError: it is not installed; the message has the line that installs it.
    """
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(f"judge {key!r} needs the package of module {module}, which is not installed. Run: {INSTALL}") from None
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger(name).level))
    return found


def http_client(timeout_s: float, in_flight: int, *, on_this_machine: bool) -> Any:
    """An `httpx2.AsyncClient` that waits for no free connection, follows no redirect, and uses no proxy to reach this machine.

    A redirect would carry the prompt to a server that the judges file does not name.
    """
    import httpx2

    connections = max(100, in_flight)
    return httpx2.AsyncClient(
        timeout=timeout_s,
        limits=httpx2.Limits(max_connections=2 * connections, max_keepalive_connections=connections),
        follow_redirects=False,
        trust_env=not on_this_machine,
    )


class PerLoop(Generic[Client]):
    """One client per running event loop: pooled connections belong to the loop that opened them."""

    def __init__(self, make: Callable[[], Client], close: Callable[[Client], Awaitable[None]]) -> None:
        self._make, self._close = make, close
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = weakref.WeakKeyDictionary()

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
