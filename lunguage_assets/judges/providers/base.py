"""What the providers with an SDK share: where a model is reached and with which key; clients, one per event
loop, and silent; and what went wrong, without what was asked: SDK errors hold the whole prompt, so only kind,
status and waiting time leave this module.

Every address is written out: the SDKs read variables of their own (such as OPENAI_BASE_URL) that could send
report text to a server that nobody declared in the judges file.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import os
import socket
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import urlsplit

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import (
    LLMJudgeConfig,
    ModelProvider,
    checked_base_url,
    on_this_machine,
)
from lunguage_assets.judges.requests import (
    MOST_TOKENS,
    FailureKind,
    ProviderFailure,
    Reply,
    Request,
)

# --- where a model is reached

_KEYS: Mapping[ModelProvider, str] = {
    "openai": "OPENAI_API_KEY",
    "azure-openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Variable that holds the key, unless the slot names another by `api_key_env`. An OpenAI-compatible server
needs none; Vertex AI takes Google's application default credentials (GOOGLE_APPLICATION_CREDENTIALS)."""

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


def variables_of(slot: LLMJudgeConfig) -> dict[str, str]:
    """Fields of a slot's endpoint -> environment variable without which the slot cannot answer."""
    found = {
        "api_key": slot.api_key_env or _KEYS.get(slot.provider, ""),
        "base_url": slot.base_url_env,
    }
    if slot.provider == "azure-openai":
        found["base_url"] = slot.base_url_env or (
            "" if slot.base_url else "AZURE_OPENAI_ENDPOINT"
        )
        found["api_version"] = "" if slot.api_version else "OPENAI_API_VERSION"
    if slot.provider == "vertex":
        found |= {
            "project": "GOOGLE_CLOUD_PROJECT",
            "location": "GOOGLE_CLOUD_LOCATION",
        }
    return {name: variable for name, variable in found.items() if variable}


def resolve_endpoint(
    key: str, slot: LLMJudgeConfig, environ: Mapping[str, str]
) -> Endpoint:
    """Address and key of a slot.

    Raises:
        ConfigurationError: names the variable that is not set, or whose address is not usable.
    """
    values = {
        "base_url": slot.base_url or _OFFICIAL.get(slot.provider, ""),
        "api_version": slot.api_version,
    }
    for name, variable in variables_of(slot).items():
        values[name] = environ.get(variable, "").strip()
        if not values[name]:
            remedy = "Set it, or choose another preset."
            raise ConfigurationError(
                f"judge {key!r}: environment variable {variable} is not set. {remedy}"
            )
        try:
            if name == "base_url":
                checked_base_url(values[name])
        except ValueError as error:
            raise ConfigurationError(
                f"judge {key!r}: environment variable {variable}: {error}."
            ) from None
    values["base_url"] = values["base_url"] or _vertex_url(values["location"])
    return Endpoint(**values)


def _vertex_url(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


# --- what leaves the machine

_CUSTOM = {
    "OPENAI_CUSTOM_HEADERS": ".openai.com",
    "ANTHROPIC_CUSTOM_HEADERS": ".anthropic.com",
}
_OPENAI = {
    "OPENAI_ORG_ID": "openai-organization",
    "OPENAI_PROJECT_ID": "openai-project",
}


def withheld_headers(
    base_url: str, environ: Mapping[str, str]
) -> frozenset[tuple[str, str]]:
    """Headers, name in lower case and value, that the SDKs take from the environment for another host: they
    add them to whatever server the judges file names.
    """
    host = f".{urlsplit(base_url).hostname}"
    found = set[tuple[str, str]]()
    for variable, owner in _CUSTOM.items():
        if not host.endswith(owner):
            lines = (
                line.partition(":") for line in environ.get(variable, "").split("\n")
            )
            found |= {
                (name.strip().lower(), value.strip())
                for name, colon, value in lines
                if colon
            }
    if not host.endswith(".openai.com"):
        found |= {
            (name, environ[variable])
            for variable, name in _OPENAI.items()
            if variable in environ
        }
    if not host.endswith(".googleapis.com"):  # of google-auth: who is billed
        found.add(
            ("x-goog-user-project", environ.get("GOOGLE_CLOUD_QUOTA_PROJECT", ""))
        )
    return frozenset(found)


def http_client(base_url: str, timeout_s: float, in_flight: int) -> Any:
    """The HTTP client under an SDK: it sends no header that the environment holds for another server, and in
    clear to this machine only; waits for no free connection, uses no proxy to reach this machine, and follows
    no redirect: it would carry the prompt to a server that the judges file does not name.
    """
    import httpx2

    withheld, kept = withheld_headers(base_url, os.environ), max(100, in_flight)

    async def guard(request: httpx2.Request) -> None:
        if request.url.scheme != "https" and not on_this_machine(str(request.url)):
            raise httpx2.UnsupportedProtocol("expected https")
        for name, value in withheld:
            if request.headers.get(name) == value:
                del request.headers[name]

    return httpx2.AsyncClient(
        timeout=timeout_s,
        follow_redirects=False,
        trust_env=not on_this_machine(base_url),
        limits=httpx2.Limits(max_connections=2 * kept, max_keepalive_connections=kept),
        event_hooks={"request": [guard]},
    )


_TALKATIVE = (
    "openai", "anthropic", "google_genai", "google.auth", "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip


def sdk(key: str, module: str) -> ModuleType:
    """An SDK's module; its loggers are silenced up to warnings: at level DEBUG they show whole requests.

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


# --- one attempt


class SdkProvider(ABC):
    """A provider through its SDK, the module `module`, with one client per running event loop: pooled
    connections belong to the loop that opened them.
    """

    module: ClassVar[str]

    def __init__(self, key: str, slot: LLMJudgeConfig, endpoint: Endpoint) -> None:
        self._module = sdk(key, self.module)
        self.binding, self._endpoint = slot.binding, endpoint
        self._timeout_s, self._in_flight = slot.limits.timeout_s, slot.limits.in_flight
        variable = variables_of(slot).get("api_key")
        self._about: Mapping[FailureKind, str] = {
            "connection": endpoint.base_url,
            "authentication": f"the key is read from ${variable}"
            if variable
            else "no api_key_env is named",
        }
        self._clients = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any]()

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry. The SDKs build their objects from any JSON without checking it.

        Raises:
            ProviderFailure: no reply, or one that is malformed.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            http = http_client(
                self._endpoint.base_url, self._timeout_s, self._in_flight
            )
            self._clients[loop] = self._client(http)
            _silence()  # the first client loads the modules of the connections
        response = await _attempt(
            self._send(self._clients[loop], request), self._timeout_s, self._about
        )
        try:
            reply = self._reply(response, request)
            if isinstance(reply.text, str) and isinstance(reply.returned_model, str):
                return reply
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            pass
        raise ProviderFailure("malformed")

    @abstractmethod
    def _client(self, http: Any) -> Any:
        """A new client of the SDK over this HTTP client."""

    @abstractmethod
    async def _send(self, client: Any, request: Request) -> Any:
        """The SDK's response; the judge's parameters are fields of what is sent."""

    @abstractmethod
    def _reply(self, response: Any, request: Request) -> Reply:
        """What a response says; it is None where the service refused the prompt by an error."""


def tokens(usage: Any, *names: str) -> int | None:
    """The sum of those counts of tokens that are given; None without any, or when one cannot be a count."""
    found = [
        value for name in names if (value := getattr(usage, name, None)) is not None
    ]
    if not found or not all(
        type(value) is int and 0 <= value <= MOST_TOKENS for value in found
    ):
        return None
    return sum(map(int, found))


_KINDS: Mapping[int, FailureKind] = {
    **dict.fromkeys((401, 402, 403), "authentication"),
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((409, 425), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
    429: "rate_limited",
}
_EXHAUSTED = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)
"""Codes of a 429 that waiting does not fix: the account has no money left."""

_FILTERED = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""

# Names, not classes: the SDKs share these names, and httpx, httpx2 and aiohttp would each have to be imported
# to ask for a class.
_BY_NAME: Mapping[FailureKind, str] = {
    "timeout": "TimeoutError APITimeoutError TimeoutException",
    "malformed": "APIResponseValidationError UnknownApiResponseError DecodingError",
    "connection": "APIConnectionError RequestError TransportError OSError ClientConnectionError",
    "authentication": "RefreshError DefaultCredentialsError GoogleAuthError CredentialsError "
    "UserAccessTokenError",
}
_STUMBLED = {"ValueError", "StreamError", "AttributeError", "TypeError", "LookupError"}
"""What the SDKs stumble over when a response is JSON of other types than theirs."""


async def _attempt(
    call: Awaitable[Any], timeout_s: float, about: Mapping[FailureKind, str]
) -> Any:
    """The response of one call, within `timeout_s` seconds overall (the SDKs' own timeouts are per read);
    None when its error is a refusal of the prompt. `about`: what a failure of a kind is about.

    Raises:
        ProviderFailure: raised outside the handler, so that neither its cause nor its context is the SDK's
            exception.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except Exception as error:
        failure = (
            None
            if getattr(error, "code", None) == _FILTERED
            else _failure_of(error, about)
        )
    if failure is not None:
        raise failure
    return None


def _failure_of(error: Exception, about: Mapping[FailureKind, str]) -> ProviderFailure:
    """Kind, HTTP status, seconds to wait, and the system's word for a connection that failed, of an SDK's
    exception; nothing else of it is kept.
    """
    # an SDK wraps what it met
    names = {cls.__name__ for cls in (*type(error).__mro__, type(error.__cause__))}
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    status = next(
        (code for code in codes if isinstance(code, int) and code >= 300), None
    )
    if (
        status is None or "APIResponseValidationError" in names
    ):  # it carries the status of the body
        found = (kind for kind, known in _BY_NAME.items() if names & set(known.split()))
        kind = next(found, "malformed" if names & _STUMBLED else "rejected")
        told = (
            about.get(kind, ""),
            _system_error(error) if kind == "connection" else "",
        )
        return ProviderFailure(kind, about=": ".join(filter(None, told)))
    kind = _KINDS.get(status, "server" if status >= 500 else "rejected")
    if status == 429 and not _EXHAUSTED.isdisjoint(map(str, codes)):
        kind = "authentication"
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    wait_s = _seconds_to_wait(headers.get("retry-after"), error)
    return ProviderFailure(kind, status, wait_s, about.get(kind, ""))


def _system_error(error: BaseException | None) -> str:
    """Such as `Connection refused`, or `Name or service not known`; empty where no system call failed."""
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            known = isinstance(error, socket.gaierror)
            return str(error.strerror) if known else os.strerror(abs(error.errno))
        error = error.__cause__ or error.__context__
    return ""


def _seconds_to_wait(header: str | None, error: Exception) -> float | None:
    """Seconds of a Retry-After header, or of Google's RetryInfo in the body, such as {"retryDelay": "13s"};
    None when neither can be read.
    """
    try:
        if header is None:
            details: Any = error.details  # type: ignore[attr-defined]
            entries = details.get("error", details)["details"]
            header = next(
                entry["retryDelay"] for entry in entries if "retryDelay" in entry
            )
        seconds = float(header.removesuffix("s"))
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
