"""The HTTP client under the SDKs: what may not leave the machine does not leave here, whatever an SDK does.

Text goes in clear to this machine alone. Headers that the environment holds for a service go to that service
alone: the SDKs add OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS to whatever server the judges
file names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import httpx2

from lunguage_assets.judges.slots import on_this_machine

_CUSTOM = {"OPENAI_CUSTOM_HEADERS": ".openai.com", "ANTHROPIC_CUSTOM_HEADERS": ".anthropic.com"}
_OPENAI = {"OPENAI_ORG_ID": "openai-organization", "OPENAI_PROJECT_ID": "openai-project"}


def withheld_headers(base_url: str, environ: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Headers, name in lower case and value, that the SDKs take from the environment for another host."""
    host = f".{httpx2.URL(base_url).host}"
    found = set[tuple[str, str]]()
    for variable, owner in _CUSTOM.items():
        if not host.endswith(owner):
            lines = (line.partition(":") for line in environ.get(variable, "").split("\n"))
            found |= {(name.strip().lower(), value.strip()) for name, colon, value in lines if colon}
    if not host.endswith(".openai.com"):
        found |= {(name, environ[variable]) for variable, name in _OPENAI.items() if variable in environ}
    if not host.endswith(".googleapis.com"):  # of google-auth: who is billed
        found.add(("x-goog-user-project", environ.get("GOOGLE_CLOUD_QUOTA_PROJECT", "")))
    return frozenset(found)


def http_client(timeout_s: float, in_flight: int, base_url: str) -> Client:
    """A client that waits for no free connection, follows no redirect, and uses no proxy to reach this
    machine.

    A redirect would carry the prompt to a server that the judges file does not name.
    """
    connections = max(100, in_flight)
    return Client(
        base_url,
        timeout=timeout_s,
        follow_redirects=False,
        trust_env=not on_this_machine(base_url),
        limits=httpx2.Limits(max_connections=2 * connections, max_keepalive_connections=connections),
    )


class Client(httpx2.AsyncClient):
    """Sends no headers that the environment holds for another server than this one, and in clear to this
    machine only.
    """

    def __init__(self, for_url: str, **options: Any) -> None:
        super().__init__(**options)
        self._withheld = withheld_headers(for_url, os.environ)  # where the SDKs read

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """As in `AsyncClient`.

        Raises:
            UnsupportedProtocol: the address is not https and not this machine's; nothing was sent.
        """
        if request.url.scheme != "https" and not on_this_machine(str(request.url)):
            raise httpx2.UnsupportedProtocol("expected https")
        for name, value in self._withheld:
            if request.headers.get(name) == value:
                del request.headers[name]
        return await super().send(request, **options)
