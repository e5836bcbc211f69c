"""What the providers with an SDK share: where a model is reached and with which key; clients, one per event
loop, and silent; reading what a service says it billed; and what went wrong, without what was asked: SDK
errors hold the whole prompt, so only kind, status and waiting time leave this module.

The judges file names places, the environment holds the secrets. Every address is written out, because the
SDKs read variables of their own (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL) that could send
report text to a server that nobody declared in the judges file. What they send passes `wire.py`.
"""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import logging
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, ClassVar

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.requests import MOST_TOKENS, FailureKind, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import ModelProvider, ModelSlot, checked_base_url

_TALKATIVE = (
    "openai", "anthropic", "google_genai", "google.auth", "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip

_KEYS: Mapping[ModelProvider, str] = {
    "openai": "OPENAI_API_KEY",
    "azure-openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Variable that holds the key, unless the slot names another by `api_key_env`. An OpenAI-compatible server
needs none; Vertex AI takes Google's application default credentials (GOOGLE_APPLICATION_CREDENTIALS)."""

_AZURE_ENDPOINT, _AZURE_VERSION = "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"
_VERTEX_PROJECT, _VERTEX_LOCATION = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"

_OFFICIAL: Mapping[ModelProvider, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A resolved address with its key."""

    base_url: str
    api_key: str = field(repr=False, default="")
    api_version: str = ""
    project: str = ""
    location: str = ""


def required_variables(slot: ModelSlot) -> tuple[str, ...]:
    """Environment variables without which a slot cannot answer, in the order in which they are read."""
    azure, vertex = slot.provider == "azure-openai", slot.provider == "vertex"
    names = (
        slot.api_key_env or _KEYS.get(slot.provider, ""),
        _address_variable(slot),
        _AZURE_VERSION if azure and not slot.api_version else "",
        *((_VERTEX_PROJECT, _VERTEX_LOCATION) if vertex else ()),
    )
    return tuple(filter(None, names))


def _address_variable(slot: ModelSlot) -> str:
    azure = slot.provider == "azure-openai" and not slot.base_url
    return slot.base_url_env or (_AZURE_ENDPOINT if azure else "")


def resolve_endpoint(key: str, slot: ModelSlot, environ: Mapping[str, str]) -> Endpoint:
    """Address and key of a slot.

    Raises:
        ConfigurationError: names the variable that is not set, or whose address is not usable.
    """
    values = {name: environ.get(name, "").strip() for name in required_variables(slot)}
    for name, value in values.items():
        if not value:
            raise ConfigurationError(
                f"judge {key!r}: environment variable {name} is not set. Set it, or choose another preset."
            )
    base_url, variable = slot.base_url, _address_variable(slot)
    if variable:
        try:
            base_url = checked_base_url(values[variable])
        except ValueError as error:
            raise ConfigurationError(f"judge {key!r}: environment variable {variable}: {error}.") from None
    location = values.get(_VERTEX_LOCATION, "")
    return Endpoint(
        base_url or (_vertex_url(location) if location else _OFFICIAL.get(slot.provider, "")),
        values.get(slot.api_key_env or _KEYS.get(slot.provider, ""), ""),
        slot.api_version or values.get(_AZURE_VERSION, ""),
        values.get(_VERTEX_PROJECT, ""),
        location,
    )


def _vertex_url(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def sdk(key: str, module: str) -> ModuleType:
    """An SDK's module.

    Its loggers are silenced up to warnings: at level DEBUG the SDKs log whole requests.

    Raises:
        ConfigurationError: it is not installed; the message has the line that installs it.
    """
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"judge {key!r} needs the package of module {module}, which is not installed. "
            "Run: pip install 'lunguage-assets[llm]'"
        ) from None
    _silence()
    return found


def _silence() -> None:
    """A level alone would not do: OPENAI_LOG, ANTHROPIC_LOG and every run of Dagster that begins meanwhile
    may set it anew; and a filter does not hold for the loggers below its own.
    """
    for name in (*_TALKATIVE, *logging.root.manager.loggerDict):
        if name.startswith(_TALKATIVE):
            logger = logging.getLogger(name)
            logger.setLevel(max(logging.WARNING, logger.level))
            logger.addFilter(_is_warning)  # once: one that is there is not added again


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


class SdkProvider(ABC):
    """A provider through its SDK, the module `module`, with one client per running event loop: pooled
    connections belong to the loop that opened them.
    """

    module: ClassVar[str]

    def __init__(self, key: str, slot: ModelSlot, endpoint: Endpoint) -> None:
        self._module = sdk(key, self.module)
        self.binding, self._endpoint = slot.binding, endpoint
        self._timeout_s, self._in_flight = slot.limits.timeout_s, slot.limits.in_flight
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        The SDKs build their objects from any JSON without checking it: a text may turn out a number, a
        message a list. The cause, which may quote the response, is not kept.

        Raises:
            ProviderFailure: no reply, or one that is malformed.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._client()
            _silence()  # the first client loads the modules of the connections
        client, body = self._clients[loop], self._body(request)
        response = await _attempt(lambda: self._send(client, request, body), self._timeout_s)
        try:
            reply = self._reply(response, request)
            if isinstance(reply.text, str) and isinstance(reply.returned_model, str):
                return reply
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            pass
        raise ProviderFailure("malformed")

    async def close(self) -> None:
        """Close the running loop's client; those of other loops ended with them."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    @abstractmethod
    def _client(self) -> Any:
        """A new client of the SDK."""

    @abstractmethod
    def _body(self, request: Request) -> Any:
        """The request in the SDK's form; the judge's parameters are fields of it."""

    @abstractmethod
    async def _send(self, client: Any, request: Request, body: Any) -> Any:
        """The SDK's response."""

    @abstractmethod
    def _reply(self, response: Any, request: Request) -> Reply:
        """What a response says; None where the service refused the prompt by an error."""

    def _http(self) -> Any:
        from lunguage_assets.judges.providers.wire import Client

        return Client(self._timeout_s, self._in_flight, self._endpoint.base_url)


def tokens(usage: Any, name: str) -> int | None:
    """A count of tokens, or None when the response has none that can be one."""
    value = getattr(usage, name, None)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def can_be(usage: Any, *names: str) -> bool:
    """Whether each of these counts is one, or is not given."""
    return all(getattr(usage, name, None) is None or tokens(usage, name) is not None for name in names)


# --- what went wrong

_KINDS: Mapping[int, FailureKind] = {
    **dict.fromkeys((401, 402, 403), "authentication"),
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((409, 425), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
    429: "rate_limited",
}
_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a 429 that waiting does not fix: the account has no money left."""

_FILTERED = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""

# Names, not classes: the SDKs share these names, and httpx, httpx2 and aiohttp would each have to be imported
# to ask for a class.
_BY_NAME: tuple[tuple[set[str], FailureKind], ...] = (
    ({"TimeoutError", "APITimeoutError", "TimeoutException"}, "timeout"),
    ({"APIResponseValidationError", "UnknownApiResponseError", "DecodingError"}, "malformed"),
    (
        {"APIConnectionError", "RequestError", "TransportError", "OSError", "ClientConnectionError"},
        "connection",
    ),
    (
        {
            "RefreshError", "DefaultCredentialsError", "GoogleAuthError", "CredentialsError",
            "UserAccessTokenError",
        },
        "authentication",
    ),
    # What the SDKs stumble over when a response is JSON of other types than theirs:
    ({"ValueError", "StreamError", "AttributeError", "TypeError", "LookupError"}, "malformed"),
)  # fmt: skip


async def _attempt(call: Callable[[], Awaitable[Any]], timeout_s: float) -> Any:
    """The response of one call, within `timeout_s` seconds overall; None when its error is a refusal of the
    prompt.

    The SDKs' own timeouts are per read: a server that sends a byte now and then would hold a call for ever.

    Raises:
        ProviderFailure: raised outside the handler, so that neither its cause nor its context is the SDK's
            exception.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call()
    except Exception as error:
        failure = None if getattr(error, "code", None) == _FILTERED else _failure_of(error)
    if failure is not None:
        raise failure
    return None


def _failure_of(error: Exception) -> ProviderFailure:
    """Kind, HTTP status and seconds to wait of an SDK's exception; nothing else of it is kept."""
    # an SDK wraps what it met
    names = {cls.__name__ for cls in (*type(error).__mro__, type(error.__cause__))}
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    status = next((code for code in codes if isinstance(code, int) and code >= 300), None)
    if status is None or "APIResponseValidationError" in names:  # it carries the status of the body
        return ProviderFailure(next((kind for known, kind in _BY_NAME if known & names), "rejected"))
    kind = _KINDS.get(status, "server" if status >= 500 else "rejected")
    if status == 429 and not _EXHAUSTED.isdisjoint(map(str, codes)):
        kind = "authentication"
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    waiting = _seconds_to_wait(headers.get("retry-after"))
    if waiting is None:
        waiting = _seconds_to_wait(_retry_delay(getattr(error, "details", None)))
    return ProviderFailure(kind, status, waiting)


def _seconds_to_wait(value: str | None) -> float | None:
    """A Retry-After header in seconds: a number, or an HTTP date (0 when it is past); None when absent or not
    readable.
    """
    try:
        seconds = float(value or "nan")
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(str(value))
        except ValueError:
            return None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _retry_delay(details: Any) -> str | None:
    """Google's RetryInfo, such as {"retryDelay": "13s"}."""
    try:
        entries = details.get("error", details)["details"]
        delay: str = next(entry["retryDelay"] for entry in entries if "retryDelay" in entry)
        return delay.removesuffix("s")
    except (AttributeError, KeyError, StopIteration, TypeError):
        return None
