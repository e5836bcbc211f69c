"""The HTTP client under every SDK, and what it must not send.

The SDKs add headers from the environment to whatever server they talk to. A header that
is meant for one company's servers, such as its account, is no business of another's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lunguage_assets.judges.judge_config import on_this_machine

_CUSTOM_HEADER_OWNERS = {
    "OPENAI_CUSTOM_HEADERS": ".openai.com",
    "ANTHROPIC_CUSTOM_HEADERS": ".anthropic.com",
}
"""Variable with headers, a line each -> the hosts that they are for."""

_OPENAI_ACCOUNT_HEADERS = {
    "OPENAI_ORG_ID": "openai-organization",
    "OPENAI_PROJECT_ID": "openai-project",
}
_MIN_KEPT_CONNECTIONS = 100


class Header(NamedTuple):
    """A header of a request, its name in lower case."""

    name: str
    value: str


def withheld_headers(base_url: str, environ: Mapping[str, str]) -> frozenset[Header]:
    """List the headers that the SDKs take from the environment for another host.

    Args:
        base_url: of the server that is asked.
        environ: variables.
    """
    host = f".{urlsplit(base_url).hostname}"
    headers: set[Header] = set()
    for variable, owner in _CUSTOM_HEADER_OWNERS.items():
        if not host.endswith(owner):
            headers |= _parse_headers(environ.get(variable, ""))
    if not host.endswith(".openai.com"):
        headers |= {
            Header(name, environ[variable])
            for variable, name in _OPENAI_ACCOUNT_HEADERS.items()
            if variable in environ
        }
    if not host.endswith(".googleapis.com"):
        # Google's libraries say by it who is billed.
        project = environ.get("GOOGLE_CLOUD_QUOTA_PROJECT", "")
        headers.add(Header("x-goog-user-project", project))
    return frozenset(headers)


def _parse_headers(lines: str) -> set[Header]:
    headers: set[Header] = set()
    for line in lines.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers.add(Header(name.strip().lower(), value.strip()))
    return headers


def http_client(base_url: str, timeout_s: float, in_flight: int) -> Any:
    """Make the HTTP client under an SDK.

    It sends no header that the environment holds for another server, and in clear to
    this machine only; waits for no free connection; and uses no proxy to reach this
    machine.

    Args:
        base_url: of the server that is asked.
        timeout_s: for one read.
        in_flight: calls at the same time.
    """
    # Imported late: the SDKs bring it, and only who asks a model needs them.
    import httpx2

    withheld = withheld_headers(base_url, os.environ)
    connections = max(_MIN_KEPT_CONNECTIONS, in_flight)

    async def guard(request: httpx2.Request) -> None:
        if request.url.scheme != "https" and not on_this_machine(str(request.url)):
            raise httpx2.UnsupportedProtocol("expected https")
        for name, value in withheld:
            if request.headers.get(name) == value:
                del request.headers[name]

    return httpx2.AsyncClient(
        timeout=timeout_s,
        # A redirect would carry the prompt to a server that the judges file does not
        # name.
        follow_redirects=False,
        trust_env=not on_this_machine(base_url),
        limits=httpx2.Limits(
            max_connections=2 * connections, max_keepalive_connections=connections
        ),
        event_hooks={"request": [guard]},
    )
