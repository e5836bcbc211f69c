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


class Client(httpx2.AsyncClient):
    """Sends no headers that the environment holds for another server than this one, and in clear to this
    machine only; waits for no free connection, uses no proxy to reach this machine, and follows no redirect:
    it would carry the prompt to a server that the judges file does not name.
    """

    def __init__(self, timeout_s: float, in_flight: int, base_url: str) -> None:
        kept = max(100, in_flight)
        super().__init__(
            timeout=timeout_s,
            follow_redirects=False,
            trust_env=not on_this_machine(base_url),
            limits=httpx2.Limits(max_connections=2 * kept, max_keepalive_connections=kept),
        )
        self._withheld = withheld_headers(base_url, os.environ)  # where the SDKs read

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
