"""Batch endpoints for the loopback server, in the three wire formats; batches are worked on while nobody
looks, and fail on demand.

    with LoopbackServer() as server:
        service = BatchService(server)                        # a batch has ended at the third look at it
        BatchService(server, fate=lambda call, times: "expired" if times == 1 else "answer")

A batch's questions are answered as the server's single calls are. What was sent is in `service.batches`,
oldest first; `service.asked` counts how often each question was sent. `service.fail("look", 500)` has the
next look answered with that status; `service.accept_and_fail()` takes the next batch and answers 500 all the
same. `service.held` keeps all batches from ending; `service.slow` seconds pass before a batch is taken.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from typing import Any, Literal

from loopback import WRONG_MODEL, Arrival, Call, LoopbackServer, Outcome
from loopback_wire import body_of, error_body, read_call

Operation = Literal["upload", "submit", "look", "list", "results", "delete"]
Fate = Literal[
    "answer",
    "nonsense",
    "refusal",
    "wrong_model",
    "empty",
    "errored",
    "rejected",
    "expired",
    "canceled",
    "missing",
    "garbage",
    "odd",
]
"""What becomes of one question: `errored` and `rejected` are rows with an error (500, 400), `missing` has no
row, `garbage` a row that is no
JSON, `odd` a row whose answer has another shape."""

End = Literal["completed", "failed", "expired", "cancelled"]


@dataclass
class Batch:
    """One batch as it arrived. `name` is what its sender called it, where the wire has a place for that."""

    wire: str
    handle: str
    name: str
    calls: dict[str, Call]
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    looks: int = 0
    end: End = "completed"
    rows: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return list(self.calls)


class BatchService:
    """See the module. `ends`: how the next batches end; `twice`: every row comes twice; `strangers`: rows of
    questions that nobody sent;
    `cut`: the next downloads end in the middle; `nameless`: Gemini's rows come back without the keys that
        were sent with them.
    """

    def __init__(
        self,
        server: LoopbackServer,
        *,
        looks: int = 2,
        fate: Callable[[Call, int], Fate] = lambda call, times: "answer",
        ends: tuple[End, ...] = (),
        twice: bool = False,
        strangers: int = 0,
        cut: int = 0,
        nameless: bool = False,
    ) -> None:
        self.server, self.looks, self.fate, self.twice, self.strangers, self.cut = (
            server,
            looks,
            fate,
            twice,
            strangers,
            cut,
        )
        self.nameless, self.held, self.slow = nameless, False, 0.0
        self.batches: list[Batch] = []
        self.asked: Counter[str] = Counter()
        self.deleted: list[str] = []
        self.files: dict[str, bytes] = {}
        self.operations: Counter[str] = Counter()
        self._ends = deque(ends)
        self._failing: dict[str, deque[int]] = {}
        self._then_fail = 0
        for wire in (_OpenAI, _Anthropic, _Gemini):
            wire(self)

    def fail(self, operation: Operation, *statuses: int) -> None:
        """The next requests of this kind are answered with these statuses; 200 lets one through."""
        self._failing.setdefault(operation, deque()).extend(statuses)

    def accept_and_fail(self, times: int = 1) -> None:
        """The next batches are taken, and the sender is told 500."""
        self._then_fail += times

    @property
    def answered(self) -> int:
        """Answers given, that is paid."""
        return sum(isinstance(row, dict) for batch in self.batches for _, row in batch.rows)

    # --- for the wires

    def route(
        self, operation: Operation, method: str, pattern: str, handle: Callable[[re.Match[str], Arrival], Any]
    ) -> None:
        compiled = re.compile(pattern)

        async def serve(arrival: Arrival) -> Outcome:
            self.operations[operation] += 1
            await asyncio.sleep(self.slow if operation == "submit" else 0.0)
            waiting = self._failing.get(operation)
            status = waiting.popleft() if waiting else 200
            wire = (
                "anthropic"
                if "/messages/" in arrival.path
                else "gemini"
                if "/v1beta" in arrival.path
                else "openai"
            )
            if status != 200:
                return Outcome(status, error_body(wire, status))
            found = compiled.fullmatch(arrival.path)
            assert found is not None
            result = handle(found, arrival)
            if operation == "submit" and self._then_fail:
                self._then_fail -= 1
                return Outcome(500, error_body(wire, 500))
            if result is None:
                return Outcome(404, error_body(wire, 404))
            return Outcome(200, result if isinstance(result, bytes) else json.dumps(result).encode())

        self.server.route(method, pattern, serve)

    def accepted(self, wire: str, handle: str, name: str, calls: dict[str, Call]) -> Batch:
        batch = Batch(wire, handle.format(len(self.batches) + 1), name, calls)
        batch.end = self._ends.popleft() if self._ends else "completed"
        self.batches.append(batch)
        self.asked.update(batch.keys)
        return batch

    def looked_at(self, handle: str) -> Batch | None:
        batch = next((batch for batch in self.batches if batch.handle == handle), None)
        if batch is None or handle in self.deleted:
            return None
        batch.looks += 1
        if self.ended(batch) and not batch.rows:
            batch.rows = [row for key, call in batch.calls.items() for row in self._rows(batch, key, call)]
            batch.rows += [("f" * 63 + str(number), {"strange": True}) for number in range(self.strangers)]
        return batch

    def ended(self, batch: Batch) -> bool:
        return batch.looks > self.looks and not self.held

    def shortened(self, data: bytes) -> bytes:
        self.cut -= self.cut > 0
        return data[: len(data) * 2 // 3] if self.cut > 0 else data

    def _rows(self, batch: Batch, key: str, call: Call) -> list[tuple[str, Any]]:
        """A row is the body of an answer, or the name of the fate that has none."""
        fate: str = self.fate(call, self.asked[key])
        if batch.end == "failed" or fate == "missing":
            return []
        if batch.end in ("expired", "cancelled") and int(key, 16) % 2:
            fate = {"expired": "expired", "cancelled": "canceled"}[batch.end]
        row: Any = fate
        if fate in ("answer", "nonsense", "refusal", "wrong_model", "empty"):
            row = json.loads(
                body_of(call, fate, self.server.answer(call), self.server.reasoning_tokens, WRONG_MODEL)
            )
        return [(key, row)] * (2 if self.twice else 1)


def _call(path: str, body: Any) -> Call:
    found = read_call(path, json.dumps(body).encode())
    assert found is not None
    return Call(number=0, path=path, headers={}, **found)


def _lines(service: BatchService, rows: list[tuple[str, Any]], form: Callable[[str, Any], Any]) -> bytes:
    lines = [
        b'{"custom_id": "half a row' if row == "garbage" else json.dumps(form(key, row)).encode()
        for key, row in rows
    ]
    return service.shortened(b"\n".join(lines) + b"\n")


class _OpenAI:
    def __init__(self, service: BatchService) -> None:
        self._service = service
        service.route("upload", "POST", r"/v1/files", self._upload)
        service.route("submit", "POST", r"/v1/batches", self._create)
        service.route("list", "GET", r"/v1/batches(\?.*)?", lambda found, arrival: self._list())
        service.route(
            "look",
            "GET",
            r"/v1/batches/([^/?]+)",
            lambda found, arrival: self._shown(service.looked_at(found[1])),
        )
        service.route(
            "results", "GET", r"/v1/files/([^/]+)/content", lambda found, arrival: self._content(found[1])
        )
        service.route("delete", "DELETE", r"/v1/files/([^/]+)", lambda found, arrival: self._delete(found[1]))

    def _upload(self, found: re.Match[str], arrival: Arrival) -> Any:
        message = BytesParser().parsebytes(
            f"Content-Type: {arrival.headers['content-type']}\r\n\r\n".encode() + arrival.data
        )
        parts = {part.get_param("name", header="content-disposition"): part for part in message.get_payload()}  # type: ignore[union-attr]
        assert parts["purpose"].get_payload() == "batch"  # type: ignore[union-attr]
        name = f"file-in-{len(self._service.files)}"
        self._service.files[name] = parts["file"].get_payload(decode=True)  # type: ignore[union-attr,assignment]
        return {
            "id": name,
            "object": "file",
            "bytes": 1,
            "created_at": 1,
            "filename": "x",
            "purpose": "batch",
            "status": "processed",
        }

    def _create(self, found: re.Match[str], arrival: Arrival) -> Any:
        body = json.loads(arrival.data)
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = [json.loads(line) for line in self._service.files[body["input_file_id"]].splitlines()]
        assert all((line["method"], line["url"]) == ("POST", body["endpoint"]) for line in lines)
        calls = {line["custom_id"]: _call("/v1/chat/completions", line["body"]) for line in lines}
        assert len(calls) == len(lines)
        batch = self._service.accepted(
            "openai", "batch_{}", (body.get("metadata") or {}).get("lunguage_batch", ""), calls
        )
        self._service.files[f"in-{batch.handle}"] = body["input_file_id"].encode()
        return self._shown(batch)

    def _shown(self, batch: Batch | None) -> Any:
        if batch is None:
            return None
        ended = self._service.ended(batch)
        good = any(isinstance(row, dict) or row in ("garbage", "odd") for _, row in batch.rows)
        bad = any(row in ("errored", "rejected", "expired", "canceled") for _, row in batch.rows)
        failed = ended and batch.end == "failed"
        return {
            "id": batch.handle, "object": "batch", "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": int(batch.created.timestamp()),
            "input_file_id": self._service.files[f"in-{batch.handle}"].decode(),
            "metadata": {"lunguage_batch": batch.name},
            "status": batch.end if ended else ("validating", "in_progress",
            "finalizing")[min(batch.looks, 2)],
            "output_file_id": f"out-{batch.handle}" if ended and good else None,
            "error_file_id": f"err-{batch.handle}" if ended and bad else None,
            "errors": {"object": "list",
            "data": [{"code": "token_limit_exceeded", "message": "quotes a prompt"}]} if failed else None,
        }  # fmt: skip

    def _list(self) -> Any:
        shown = [self._shown(batch) for batch in reversed(self._service.batches) if batch.wire == "openai"]
        return {"object": "list", "data": shown, "has_more": False}

    def _content(self, file: str) -> bytes | None:
        if file in self._service.deleted:
            return None
        batch = next(batch for batch in self._service.batches if batch.handle == file[4:])
        output = file.startswith("out-")
        rows = [
            (key, row)
            for key, row in batch.rows
            if (isinstance(row, dict) or row in ("garbage", "odd")) == output
        ]
        return _lines(self._service, list(reversed(rows)), self._row)

    def _row(self, key: str, row: Any) -> Any:
        shape: dict[str, Any] = {"id": "batch_req", "custom_id": key, "response": None, "error": None}
        if row in ("expired", "canceled"):
            code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[row]
            return shape | {"error": {"code": code, "message": "it quotes the prompt"}}
        if row in ("errored", "rejected"):
            status = {"errored": 500, "rejected": 400}[row]
            return shape | {
                "response": {
                    "status_code": status,
                    "request_id": "r",
                    "body": json.loads(error_body("openai", status)),
                }
            }
        return shape | {
            "response": {"status_code": 200, "request_id": "r", "body": [7] if row == "odd" else row}
        }

    def _delete(self, file: str) -> Any:
        self._service.deleted.append(file)
        return {"id": file, "object": "file", "deleted": True}


class _Anthropic:
    def __init__(self, service: BatchService) -> None:
        self._service = service
        root = r"/v1/messages/batches"
        service.route("submit", "POST", root, self._create)
        service.route("list", "GET", root + r"\?.*", lambda found, arrival: self._list())
        service.route(
            "look",
            "GET",
            root + r"/([^/?]+)",
            lambda found, arrival: self._shown(service.looked_at(found[1])),
        )
        service.route(
            "results", "GET", root + r"/([^/]+)/results", lambda found, arrival: self._results(found[1])
        )
        service.route("delete", "DELETE", root + r"/([^/]+)", lambda found, arrival: self._delete(found[1]))

    def _create(self, found: re.Match[str], arrival: Arrival) -> Any:
        items = json.loads(arrival.data)["requests"]
        calls = {item["custom_id"]: _call("/v1/messages", item["params"]) for item in items}
        assert len(calls) == len(items)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", key) for key in calls)
        return self._shown(self._service.accepted("anthropic", "msgbatch_{}", "", calls))

    def _shown(self, batch: Batch | None) -> Any:
        if batch is None:
            return None
        ended = self._service.ended(batch)
        place = f"/v1/messages/batches/{batch.handle}"
        counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
        counts["succeeded" if ended else "processing"] = len(batch.calls)
        return {
            "id": batch.handle, "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts, "created_at": batch.created.isoformat(),
            "expires_at": batch.created.isoformat(),
            "cancel_initiated_at": batch.created.isoformat() if batch.end == "cancelled" else None,
            "results_url": f"{self._service.server.url}{place}/results" if ended else None,
        }  # fmt: skip

    def _list(self) -> Any:
        shown = [self._shown(batch) for batch in reversed(self._service.batches) if batch.wire == "anthropic"]
        return {"data": shown, "has_more": False, "first_id": None, "last_id": None}

    def _results(self, handle: str) -> bytes:
        batch = next(batch for batch in self._service.batches if batch.handle == handle)
        return _lines(self._service, list(reversed(batch.rows)), self._row)

    def _row(self, key: str, row: Any) -> Any:
        if row in ("expired", "canceled"):
            return {"custom_id": key, "result": {"type": row}}
        if row in ("errored", "rejected"):
            kind = {"errored": "api_error", "rejected": "invalid_request_error"}[row]
            error = {"type": "error", "error": {"type": kind, "message": "it quotes the prompt"}}
            return {"custom_id": key, "result": {"type": "errored", "error": error}}
        return {"custom_id": key, "result": {"type": "succeeded", "message": [7] if row == "odd" else row}}

    def _delete(self, handle: str) -> Any:
        self._service.deleted.append(handle)
        return {"id": handle, "type": "message_batch_deleted"}


class _Gemini:
    def __init__(self, service: BatchService) -> None:
        self._service = service
        service.route("submit", "POST", r"/v1beta/models/([^:]+):batchGenerateContent", self._create)
        service.route("list", "GET", r"/v1beta/batches(\?.*)?", lambda found, arrival: self._list())
        service.route(
            "look",
            "GET",
            r"/v1beta/(batches/[^/?]+)",
            lambda found, arrival: self._shown(service.looked_at(found[1])),
        )
        service.route(
            "delete", "DELETE", r"/v1beta/(batches/[^/]+)", lambda found, arrival: self._delete(found[1])
        )

    def _create(self, found: re.Match[str], arrival: Arrival) -> Any:
        body = json.loads(arrival.data)["batch"]
        items = body["inputConfig"]["requests"]["requests"]
        calls = {
            item["metadata"]["key"]: _call(f"/v1beta/models/{found[1]}:generateContent", item["request"])
            for item in items
        }
        assert len(calls) == len(items)
        return self._shown(self._service.accepted("gemini", "batches/b{}", body["displayName"], calls))

    def _shown(self, batch: Batch | None) -> Any:
        if batch is None:
            return None
        ended = self._service.ended(batch)
        state = {
            "completed": "SUCCEEDED",
            "failed": "FAILED",
            "expired": "EXPIRED",
            "cancelled": "CANCELLED",
        }[batch.end]
        metadata: dict[str, Any] = {
            "displayName": batch.name,
            "state": f"BATCH_STATE_{state if ended else 'RUNNING'}",
        }
        if ended and batch.rows:
            responses = [self._row(key, row) for key, row in batch.rows]
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": responses}}
        return {"name": batch.handle, "metadata": metadata, "done": ended}

    def _row(self, key: str, row: Any) -> Any:
        named = {} if self._service.nameless else {"metadata": {"key": key}}
        codes = {"errored": 13, "rejected": 3, "expired": 4, "canceled": 1}
        if isinstance(row, str) and row in codes:
            return named | {"error": {"code": codes[row], "message": "it quotes the prompt"}}
        return named | {"response": {"candidates": []} if row == "odd" else row}

    def _list(self) -> Any:
        return {
            "operations": [
                self._shown(batch) for batch in reversed(self._service.batches) if batch.wire == "gemini"
            ]
        }

    def _delete(self, handle: str) -> Any:
        self._service.deleted.append(handle)
        return {}
