"""OpenAI's batches: a file of requests goes up, files of answers and of errors come down."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from lunguage_assets.judges.batches.rows import (
    LOOK_S,
    TRANSFER_S,
    failure_of_row,
    json_rows,
    machine_code,
    part,
    result_of,
    text_of,
)
from lunguage_assets.judges.providers.failures import attempt
from lunguage_assets.judges.providers.openai import OpenAIProvider
from lunguage_assets.judges.requests import (
    BatchLimits,
    BatchResults,
    BatchStatus,
    BatchView,
    ProviderFailure,
    Reply,
    Request,
)

_URL = "/v1/chat/completions"
_LABEL = "lunguage_batch"
_QUESTIONS_KEPT_S, _ANSWERS_KEPT_S = 3 * 86_400, 30 * 86_400
"""So long the service keeps the files when nobody deletes them: a killed run's questions soon go, its answers
stay as long as they may.
"""

_CLOCKS_APART = timedelta(days=1)
_STATUS: Mapping[str, BatchStatus] = {
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}


class OpenAIBatches:
    """A model behind OpenAI's batch endpoint; see `requests.BatchProvider`."""

    limits = BatchLimits(requests=50_000, size_bytes=190_000_000)
    """The service takes 50,000 requests and 200 MB."""

    def __init__(self, provider: OpenAIProvider) -> None:
        self._provider = provider

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        common = {"method": "POST", "url": _URL}
        lines = (
            json.dumps({"custom_id": key, **common, "body": self._provider.body(request)})
            for key, request in requests.items()
        )
        file = (f"{name}.jsonl", "\n".join(lines).encode("ascii"), "application/jsonl")
        client = self._provider.client
        kept = {"anchor": "created_at", "seconds": _QUESTIONS_KEPT_S}
        upload = await attempt(
            lambda: client.files.create(file=file, purpose="batch", expires_after=kept, timeout=TRANSFER_S),
            TRANSFER_S
        )  # fmt: skip
        batch = await attempt(
            lambda: client.batches.create(
                input_file_id=text_of(upload, "id"),
                endpoint=_URL,
                completion_window="24h",
                metadata={_LABEL: name},
                output_expires_after={"anchor": "created_at", "seconds": _ANSWERS_KEPT_S},
            ),
            LOOK_S,
        )
        return text_of(batch, "id")

    async def find(
        self, name: str, keys: Sequence[str], since: datetime, known: Collection[str]
    ) -> str | None:
        earliest = (since - _CLOCKS_APART).timestamp()

        async def search() -> str | None:
            async for batch in self._provider.client.batches.list(limit=100):
                if (getattr(batch, "metadata", None) or {}).get(_LABEL) == name:
                    return text_of(batch, "id")
                if batch.created_at < earliest:  # the newest come first
                    return None
            return None

        return await attempt(search, TRANSFER_S)

    async def look(self, handle: str) -> BatchView:
        batch = await attempt(lambda: self._provider.client.batches.retrieve(handle), LOOK_S)
        errors = getattr(getattr(batch, "errors", None), "data", None) or [None]
        status = _STATUS.get(text_of(batch, "status"), "running")
        return BatchView(status, machine_code(getattr(errors[0], "code", None)))

    async def collect(self, handle: str, keys: Sequence[str], like: Request) -> BatchResults:
        rows, unreadable = list[tuple[str, Reply | ProviderFailure]](), 0
        client = self._provider.client
        batch = await attempt(lambda: client.batches.retrieve(handle), LOOK_S)
        for file in _files(batch, "output_file_id", "error_file_id"):
            content = await attempt(partial(client.files.content, file, timeout=TRANSFER_S), TRANSFER_S)
            found, broken = json_rows(getattr(content, "content", b""))
            keyed = [row for row in found if isinstance(row.get("custom_id"), str)]
            rows += [(row["custom_id"], self._result(row, like)) for row in keyed]
            unreadable += broken + len(found) - len(keyed)
        return BatchResults(tuple(rows), unreadable)

    async def forget(self, handle: str) -> None:
        """The batch itself stays in the account's list; its files, which hold the questions and answers,
        go.
        """
        client = self._provider.client
        with contextlib.suppress(ProviderFailure):
            batch = await attempt(lambda: client.batches.retrieve(handle), LOOK_S)
            for file in _files(batch, "input_file_id", "output_file_id", "error_file_id"):
                with contextlib.suppress(ProviderFailure):
                    await attempt(partial(client.files.delete, file), LOOK_S)

    def _result(self, row: Mapping[str, Any], like: Request) -> Reply | ProviderFailure:
        status, body = part(row, "response", "status_code"), part(row, "response", "body")
        code = part(row, "error", "code")
        if status == 200:
            from openai.types.chat import ChatCompletion

            return result_of(lambda: self._provider.reply(ChatCompletion.construct(**body), like))
        if code == "batch_expired":
            return ProviderFailure("timeout")
        if code == "batch_cancelled":
            return ProviderFailure("rejected")
        return failure_of_row(status, part(body, "error", "code") or code)


def _files(batch: Any, *names: str) -> list[str]:
    return [file for name in names if isinstance(file := getattr(batch, name, None), str) and file]
