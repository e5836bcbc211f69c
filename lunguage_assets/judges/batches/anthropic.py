"""Anthropic's message batches: requests go up in one body, results come down as one JSON object a line."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from lunguage_assets.judges.batches.rows import LOOK_S, TRANSFER_S, json_rows, part, result_of, text_of
from lunguage_assets.judges.providers.anthropic import AnthropicProvider
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.requests import (
    BatchLimits,
    BatchResults,
    BatchView,
    FailureKind,
    ProviderFailure,
    Reply,
    Request,
)

_CLOCKS_APART = timedelta(minutes=10)
_ERRORS: Mapping[str, FailureKind] = {
    "invalid_request_error": "rejected",
    "not_found_error": "rejected",
    "request_too_large": "rejected",
    "authentication_error": "authentication",
    "permission_error": "authentication",
    "billing_error": "authentication",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "timeout_error": "timeout",
}


class AnthropicBatches:
    """A model behind Anthropic's batch endpoint; see `requests.BatchProvider`."""

    limits = BatchLimits(requests=100_000, size_bytes=240_000_000)
    """The service takes 100,000 requests and 256 MB."""

    def __init__(self, provider: AnthropicProvider) -> None:
        self._provider = provider

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        items = [
            {"custom_id": key, "params": self._provider.body(request)} for key, request in requests.items()
        ]
        create = self._provider.client.messages.batches.create
        batch = await attempt(lambda: create(requests=items, timeout=TRANSFER_S), TRANSFER_S)
        return text_of(batch, "id")

    async def find(
        self, name: str, keys: Sequence[str], since: datetime, known: Collection[str]
    ) -> str | None:
        """The service keeps no name with a batch: an ended one is ours when its keys are, a running one may
        be when its size is right.
        """
        possible: list[str] = []
        for batch in await attempt(lambda: self._since(since - _CLOCKS_APART), TRANSFER_S) or []:
            counts = getattr(batch, "request_counts", None)
            names = ("canceled", "errored", "expired", "processing", "succeeded")
            if sum(getattr(counts, state, None) or 0 for state in names) != len(keys) or batch.id in known:
                continue
            if batch.processing_status != "ended":
                possible.append(text_of(batch, "id"))
            elif await self._holds(batch.id, set(keys)):
                return text_of(batch, "id")
        # the oldest: the first that was made after ours was intended
        return possible[-1] if possible else None

    async def look(self, handle: str) -> BatchView:
        batch = await attempt(lambda: self._provider.client.messages.batches.retrieve(handle), LOOK_S)
        if getattr(batch, "processing_status", None) != "ended":
            return BatchView("running")
        if getattr(batch, "results_url", None) is None:
            return BatchView("missing")
        cancelled = getattr(batch, "cancel_initiated_at", None) is not None
        return BatchView("cancelled" if cancelled else "completed")

    async def collect(self, handle: str, keys: Sequence[str], like: Request) -> BatchResults:
        found, unreadable = json_rows(await self._download(handle))
        keyed = [row for row in found if isinstance(row.get("custom_id"), str)]
        rows = tuple((row["custom_id"], self._result(row.get("result"), like)) for row in keyed)
        return BatchResults(rows, unreadable + len(found) - len(keyed))

    async def forget(self, handle: str) -> None:
        with contextlib.suppress(ProviderFailure):
            await attempt(lambda: self._provider.client.messages.batches.delete(handle), LOOK_S)

    async def _since(self, earliest: datetime) -> list[Any]:
        """Batches made after that time, the newest first."""
        found: list[Any] = []
        async for batch in self._provider.client.messages.batches.list(limit=100):
            if batch.created_at < earliest:
                break
            found.append(batch)
        return found

    async def _holds(self, handle: str, keys: set[str]) -> bool:
        rows, _ = json_rows(await self._download(handle))
        return any(row.get("custom_id") in keys for row in rows)

    async def _download(self, handle: str) -> bytes:
        """The results as they are: the SDK's own reader stops for good at the first line that it cannot
        read.
        """

        async def download() -> bytes:
            async with self._provider.client.messages.batches.with_streaming_response.results(
                handle, timeout=TRANSFER_S
            ) as response:
                return bytes(await response.read())

        return await attempt(download, TRANSFER_S) or b""

    def _result(self, result: Any, like: Request) -> Reply | ProviderFailure:
        kind = part(result, "type")
        if kind == "succeeded":
            from anthropic.types import Message

            return result_of(lambda: self._provider.reply(Message.construct(**result["message"]), like))
        if kind == "expired":
            return ProviderFailure("timeout")
        if kind == "canceled":
            return ProviderFailure("rejected")
        return ProviderFailure(_ERRORS.get(str(part(result, "error", "error", "type")), "server"))
