"""The Gemini API's batches: requests and responses travel inside the batch object."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from lunguage_assets.judges.batches.rows import LOOK_S, TRANSFER_S, failure_of_row, result_of, text_of
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.providers.gemini import GeminiProvider
from lunguage_assets.judges.requests import (
    BatchLimits,
    BatchResults,
    BatchStatus,
    BatchView,
    FailureKind,
    ProviderFailure,
    Reply,
    Request,
)

_API_VERSION = "v1beta"
"""The version of the API whose reference describes batches; the SDK's own choice is `v1`."""

_KEY = "key"
_STATUS: Mapping[str, BatchStatus] = {
    "JOB_STATE_SUCCEEDED": "completed",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "completed",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_CANCELLED": "cancelled",
    "JOB_STATE_EXPIRED": "expired",
}
_RPC: Mapping[int, FailureKind] = {
    1: "rejected", 3: "rejected", 4: "timeout", 5: "rejected", 7: "authentication", 8: "rate_limited",
    9: "rejected", 11: "rejected",
    12: "rejected", 14: "overloaded", 16: "authentication",
}  # fmt: skip
"""Codes of google.rpc.Code that a row's error has; others are the server's fault."""


class GeminiBatches:
    """A model behind the Gemini API's batch endpoint; see `requests.BatchProvider`."""

    limits = BatchLimits(requests=50_000, size_bytes=18_000_000)
    """The service takes 20 MB inside the batch object; larger ones would have to go to its file store."""

    def __init__(self, provider: GeminiProvider) -> None:
        self._provider = provider

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        types, model = self._provider.types, self._provider.binding.model
        source = [
            types.InlinedRequest(
                contents=request.prompt.user, metadata={_KEY: key}, config=self._provider.config(request)
            )
            for key, request in requests.items()
        ]
        config = types.CreateBatchJobConfig(display_name=name, http_options=self._options(TRANSFER_S))
        create = self._provider.client.batches.create
        job = await attempt(lambda: create(model=model, src=source, config=config), TRANSFER_S)
        return text_of(job, "name")

    async def find(
        self, name: str, keys: Sequence[str], since: datetime, known: Collection[str]
    ) -> str | None:
        config = self._provider.types.ListBatchJobsConfig(
            page_size=100, http_options=self._options(TRANSFER_S)
        )

        async def search() -> str | None:
            async for job in await self._provider.client.batches.list(config=config):
                if job.display_name == name:
                    return text_of(job, "name")
            return None

        return await attempt(search, TRANSFER_S)

    async def look(self, handle: str) -> BatchView:
        job = await self._job(handle)
        return BatchView(_STATUS.get(str(getattr(job.state, "value", job.state)), "running"))

    async def collect(self, handle: str, keys: Sequence[str], like: Request) -> BatchResults:
        """Rows come in the order of the requests, with their keys or, as the service has done, without."""
        responses = list(getattr((await self._job(handle)).dest, "inlined_responses", None) or [])
        named = [(getattr(row, "metadata", None) or {}).get(_KEY) for row in responses]
        placed = list(keys) if len(keys) == len(responses) else [None] * len(responses)
        matched = [(key or place, row) for key, place, row in zip(named, placed, responses, strict=True)]
        rows = tuple((str(key), self._result(row)) for key, row in matched if key is not None)
        return BatchResults(rows, len(responses) - len(rows))

    async def forget(self, handle: str) -> None:
        config = self._provider.types.DeleteBatchJobConfig(http_options=self._options(LOOK_S))
        with contextlib.suppress(ProviderFailure):
            await attempt(lambda: self._provider.client.batches.delete(name=handle, config=config), LOOK_S)

    async def _job(self, handle: str) -> Any:
        """An ended one holds its results."""
        config = self._provider.types.GetBatchJobConfig(http_options=self._options(TRANSFER_S))
        get = self._provider.client.batches.get
        return await attempt(lambda: get(name=handle, config=config), TRANSFER_S)

    def _options(self, seconds: float) -> Any:
        return self._provider.types.HttpOptions(api_version=_API_VERSION, timeout=round(seconds * 1000))

    def _result(self, row: Any) -> Reply | ProviderFailure:
        error = getattr(row, "error", None)
        if error is None:
            return result_of(lambda: self._provider.reply(row.response))
        code = getattr(error, "code", None)
        if isinstance(code, int) and code >= 300:
            return failure_of_row(code)
        return ProviderFailure(_RPC.get(code or 0, "server"))
