"""What the providers with an SDK share: a client for each event loop, and one attempt.

The SDKs' loggers are silenced, because at level DEBUG they show whole requests.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.providers.endpoints import Endpoint, variables_of
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.providers.http import http_client
from lunguage_assets.judges.requests import (
    MOST_TOKENS,
    FailureKind,
    ProviderFailure,
    Reply,
    Request,
)

_TALKATIVE = (
    "openai", "anthropic", "google_genai", "google.auth",
    "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip


def import_sdk(key: str, module: str) -> ModuleType:
    """Import an SDK's module, and silence it.

    Raises:
        ConfigurationError: it is not installed; the message has the line that installs
            it.
    """
    try:
        sdk = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"judge {key!r} needs the package of module {module}, which is not "
            "installed. Run: pip install 'lunguage-assets[llm]'"
        ) from None
    _silence_loggers()
    return sdk


def _silence_loggers() -> None:
    """Let the SDKs' loggers pass warnings only, whatever their level.

    OPENAI_LOG, ANTHROPIC_LOG and every run of Dagster that begins meanwhile may set a
    level anew, so that a filter is needed, too. It does not hold for loggers below its
    own: each gets it.
    """
    for name in (*_TALKATIVE, *logging.root.manager.loggerDict):
        if name.startswith(_TALKATIVE):
            logger = logging.getLogger(name)
            logger.setLevel(max(logging.WARNING, logger.level))
            # Adding a filter that is there does nothing.
            logger.addFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


class SdkProvider(ABC):
    """A model behind an SDK, the module `module`.

    It has a client for each running event loop, because pooled connections belong to
    the loop that opened them.

    Args:
        key: of the judge, for messages.
        config: its table.
        endpoint: where the model is reached.
    """

    module: ClassVar[str]

    def __init__(self, key: str, config: LLMJudgeConfig, endpoint: Endpoint) -> None:
        self._sdk = import_sdk(key, self.module)
        self.binding = config.binding
        self._endpoint = endpoint
        self._timeout_s = config.limits.timeout_s
        self._in_flight = config.limits.in_flight
        variable = variables_of(config).get("api_key")
        key_source = (
            f"the key is read from ${variable}"
            if variable
            else "no api_key_env is named"
        )
        self._about_failure: Mapping[FailureKind, str] = {
            "connection": endpoint.base_url,
            "authentication": key_source,
        }
        self._client_by_loop = weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, Any
        ]()

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: no reply, or one that is malformed.
        """
        call = self._send(self._client_of_loop(), request)
        response = await attempt(call, self._timeout_s, self._about_failure)
        try:
            reply = self._reply(response, request)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            reply = None
        # The SDKs build their objects from any JSON, whatever the types in it.
        if reply is None or not isinstance(reply.text, str):
            raise ProviderFailure("malformed")
        if not isinstance(reply.returned_model, str):
            raise ProviderFailure("malformed")
        return reply

    def _client_of_loop(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._client_by_loop:
            http = http_client(
                self._endpoint.base_url, self._timeout_s, self._in_flight
            )
            self._client_by_loop[loop] = self._client(http)
            # The first client loads the modules of the connections, with their loggers.
            _silence_loggers()
        return self._client_by_loop[loop]

    @abstractmethod
    def _client(self, http: Any) -> Any:
        """Make a client of the SDK over this HTTP client."""

    @abstractmethod
    async def _send(self, client: Any, request: Request) -> Any:
        """Send a request with the judge's parameters; return the SDK's response."""

    @abstractmethod
    def _reply(self, response: Any, request: Request) -> Reply:
        """Read a response; None: the service refused the prompt by an error."""


def token_count(usage: Any, *names: str) -> int | None:
    """Sum up those counts of tokens that a service gives.

    Args:
        usage: what it says of the tokens.
        names: of the counts.

    Returns:
        None: it gives none, or one that cannot be a count.
    """
    counts = [getattr(usage, name, None) for name in names]
    reported = [count for count in counts if count is not None]
    # `type`, not `isinstance`: true is no count.
    are_counts = [
        type(count) is int and 0 <= count <= MOST_TOKENS for count in reported
    ]
    if not reported or not all(are_counts):
        return None
    total: int = sum(reported)
    return total
