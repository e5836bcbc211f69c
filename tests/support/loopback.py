"""A server on this machine that speaks the three wire formats, answers like a judge,
and misbehaves on demand; for tests only.

    # answers everything, at once; its address is server.url
    with LoopbackServer() as server:
    # every answer after 0.3 s, any number at once
    LoopbackServer(latency=0.3)
    # the first call fails, later ones succeed
    LoopbackServer(plan=[Act("dropped")])
    # one call in five fails
    LoopbackServer(decide=failing_share(0.2, TROUBLES, seed=7))
    # instead of the rule-based judge
    LoopbackServer(answer=lambda call: "sentence_1")

Every request that arrives is in `server.calls` (a `Call`), in order of arrival;
`server.answered` counts the complete, well-formed answers sent, and
`server.most_in_flight` the most requests that were open at one time. Other endpoints
are added with `server.route(method, pattern, handler)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Literal

from loopback_wire import body_of, error_body, read_call

from lunguage_assets.judges.protocol import MASK, ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.trust import in_order, trial_questions

Kind = Literal[
    "answer", "rate_limited", "server_error", "unavailable", "overloaded", "slow", "dropped", "reset",
    "garbage", "wrong_shape", "empty", "refusal", "blocked", "cut_off", "wrong_model",
    "nonsense", "unauthorized", "forbidden", "bad_request", "missing_model", "no_quota",
    "trickle", "redirect",
]  # fmt: skip
_STATUS: dict[str, int] = {
    "rate_limited": 429, "server_error": 500, "unavailable": 503, "overloaded": 529, "unauthorized": 401,
    "forbidden": 403, "bad_request": 400, "missing_model": 404, "no_quota": 429,
    "redirect": 307,
}  # fmt: skip
_CODES = {"no_quota": "insufficient_quota"}
WRONG_MODEL = "another-model-2031"


@dataclass(frozen=True, slots=True)
class Act:
    """What the server does with one call.

    `slow` sleeps `delay` seconds, then answers; `dropped`: half a body, then the
    connection closes; `reset`: it closes without a byte; `garbage`: 200, not JSON;
    `wrong_shape`: JSON of another shape; `empty`: no text; `refusal` and
    `blocked`: safety, during and before the answer;
    `cut_off`: stopped at the token limit with nothing said; `nonsense`: no label;
    `no_quota`: 429 with the code of an empty account; `redirect`: 307 to the same
    place; `trickle`: a body in drops, one every `delay` seconds. The others are HTTP
    errors (`_STATUS`), with
    `retry_after` as header when given.
    """

    kind: Kind = "answer"
    retry_after: str | None = None
    delay: float = 0.0
    text: str | None = None
    """What is answered instead of the judge's answer; for a Gemini error the
    `retryDelay` in its body, such as "13s".
    """


TROUBLES: tuple[Act, ...] = (
    Act("rate_limited"), Act("rate_limited", retry_after="0"), Act("server_error"), Act("overloaded"),
    Act("dropped"), Act("reset"),
    Act("garbage"), Act("empty"), Act("nonsense"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived. `labels`: the allowed answers when the request
    constrains them, by `constraint` json or bare; `schema`: it constrains the answer to
    an object of another schema.
    """

    number: int
    wire: str
    path: str
    model: str
    system: str
    user: str
    headers: dict[str, str]
    body: dict[str, Any]
    constraint: Literal["", "json", "bare", "schema"]
    labels: tuple[str, ...]

    @property
    def prompt(self) -> str:
        return self.system + "\x1f" + self.user


@dataclass(frozen=True, slots=True)
class Arrival:
    """A bare HTTP request, for routes."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """A bare HTTP response, from routes."""

    status: int
    data: bytes
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Arrival], Awaitable[Outcome]]


def failing_share(
    share: float, acts: Sequence[Act], seed: int = 0
) -> Callable[[Call], Act]:
    """That share of calls fails in one of these ways, whatever the order of arrival: a
    hash of the prompt and of how often it came.
    """
    seen: Counter[str] = Counter()

    def decide(call: Call) -> Act:
        seen[call.prompt] += 1
        key = f"{seed}\x1f{call.model}\x1f{call.prompt}\x1f{seen[call.prompt]}"
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        unlucky = int.from_bytes(digest[:8], "big") / 2**64 < share
        return acts[digest[8] % len(acts)] if unlucky else Act()

    return decide


_COMPARE = re.compile(r"^sentence_1: (.*)\nsentence_2: (.*)$", re.MULTILINE)
_EXTRACT = re.compile(r"^finding: (.*)\nsentence: (.*)$", re.MULTILINE | re.IGNORECASE)
_CUES = CuesJudge("loopback")
_TRIAL = {
    (shown.sentence_1, shown.sentence_2): label
    for shown, label in zip(
        in_order(trial_questions(), "both"), cycle(["sentence_1", "sentence_2"])
    )
}
_LEXICON = LexiconJudge("loopback")


def judge_like(call: Call) -> str:
    """What a rule-based judge answers to the last question in the prompt;
    deterministic.
    """
    compared = _COMPARE.findall(call.user)
    if compared and compared[-1] in _TRIAL:
        return _TRIAL[compared[-1]]
    if compared:
        return str(_CUES.compare([ComparisonQuestion(*compared[-1])])[0])
    extractions = _EXTRACT.findall(call.user)
    if extractions:
        finding, sentence = extractions[-1]
        masked = re.sub(re.escape(finding), MASK, sentence, flags=re.IGNORECASE)
        return json.dumps(
            list(
                _LEXICON.extract([ExtractionQuestion(finding, sentence, masked)])[
                    0
                ].phrases
            )
        )
    return "I see no question."


class LoopbackServer:
    """See the module; a context manager. The server runs in its own thread and event
    loop.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        plan: Iterable[Act] = (),
        decide: Callable[[Call], Act] | None = None,
        answer: Callable[[Call], str] = judge_like,
        reasoning_tokens: int = 0,
    ) -> None:
        self.latency = latency
        self.answer = answer
        self.reasoning_tokens = reasoning_tokens
        self.calls: list[Call] = []
        self.arrivals: list[Arrival] = []
        self.answered = self.in_flight = self.most_in_flight = 0
        self._plan, self._decide = deque(plan), decide or (lambda call: Act())
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """`base_url` of an OpenAI or OpenAI-compatible client."""
        return f"{self.url}/v1"

    def plan(self, *acts: Act) -> None:
        """The next calls are treated so, in this order."""
        self._plan.extend(acts)

    def forget_plan(self) -> None:
        """What was planned and did not come to pass is not done."""
        self._plan.clear()

    def route(self, method: str, pattern: str, handler: Handler) -> None:
        """Requests of this method whose path (with query) matches wholly go to
        `handler`, before anything else.
        """
        self._routes.append((method.upper(), re.compile(pattern), handler))

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            self._listen(), self._loop
        ).result()
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._converse, "127.0.0.1", 0, backlog=1024)

    async def _stop(self) -> None:
        self._server.close()
        other_tasks = [
            task for task in asyncio.all_tasks() if task is not asyncio.current_task()
        ]
        for task in other_tasks:
            task.cancel()
        await asyncio.gather(*other_tasks, return_exceptions=True)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            while (arrival := await _arrival(reader)) is not None:
                self.arrivals.append(arrival)
                if not await self._serve(arrival, writer):
                    break
        writer.close()

    async def _serve(self, arrival: Arrival, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            for method, pattern, handler in self._routes:
                if method == arrival.method and pattern.fullmatch(arrival.path):
                    outcome = await handler(arrival)
                    return await _send(
                        writer, outcome.status, outcome.data, outcome.headers
                    )
            call_fields = (
                read_call(arrival.path, arrival.data)
                if arrival.method == "POST"
                else None
            )
            if call_fields is None:
                return await _send(
                    writer, 404, b'{"error": {"message": "no such endpoint"}}'
                )
            call = Call(
                number=len(self.calls),
                path=arrival.path,
                headers=arrival.headers,
                **call_fields,
            )
            self.calls.append(call)
            return await self._treat(
                call, self._plan.popleft() if self._plan else self._decide(call), writer
            )
        finally:
            self.in_flight -= 1

    async def _treat(self, call: Call, act: Act, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(self.latency + (act.delay if act.kind == "slow" else 0.0))
        if act.kind == "reset":
            writer.transport.abort()
            return False
        if act.kind in _STATUS:
            headers = (
                {"Retry-After": act.retry_after} if act.retry_after is not None else {}
            )
            headers |= {"Location": call.path} if act.kind == "redirect" else {}
            status = _STATUS[act.kind]
            error = error_body(call.wire, status, _CODES.get(act.kind), act.text)
            return await _send(writer, status, error, headers)
        if act.kind == "garbage":
            return await _send(writer, 200, b'{"id": "x", "choices": [{"mess')
        if act.kind == "wrong_shape":
            return await _send(writer, 200, b'{"weather": "fine"}')
        text = act.text if act.text is not None else self.answer(call)
        data = body_of(call, act.kind, text, self.reasoning_tokens, WRONG_MODEL)
        if act.kind == "dropped":
            writer.write(_head(200, len(data), {}) + data[: len(data) // 2])
            await writer.drain()
            return False
        if act.kind == "trickle":
            return await _trickle(writer, data, act.delay)
        self.answered += 1
        return await _send(writer, 200, data)


async def _trickle(writer: asyncio.StreamWriter, data: bytes, delay: float) -> bool:
    writer.write(_head(200, len(data), {}))
    for position in range(len(data)):
        writer.write(data[position : position + 1])
        await writer.drain()
        await asyncio.sleep(delay)
    return True


async def _arrival(reader: asyncio.StreamReader) -> Arrival | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = head[0].split(" ", 2)
    fields = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    if headers.get("transfer-encoding", "") == "chunked":
        data = await _chunks(reader)
    else:
        data = await reader.readexactly(int(headers.get("content-length", 0)))
    return Arrival(method, path, headers, data)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(chunks)


def _head(status: int, length: int, headers: dict[str, str]) -> bytes:
    fields = {
        "Content-Type": "application/json",
        "Content-Length": str(length),
    } | headers
    lines = [
        f"HTTP/1.1 {status} Status",
        *(f"{name}: {value}" for name, value in fields.items()),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("latin-1")


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    data: bytes,
    headers: dict[str, str] | None = None,
) -> bool:
    writer.write(_head(status, len(data), headers or {}) + data)
    await writer.drain()
    return True
