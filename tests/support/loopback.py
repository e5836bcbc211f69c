"""A server on this machine that speaks the three wire formats, answers like a judge,
and misbehaves on demand; for tests only.

    # answers everything, at once; its address is server.url
    with LoopbackServer() as server:
    # the next call fails, later ones succeed
    server.plan(Act("dropped"))
    # one call in five fails
    LoopbackServer(decide=failing_share(0.2, TROUBLES, seed=7))
    # instead of the rule-based judge
    LoopbackServer(answer=lambda call: "sentence_1")

Every request that asks a model is in `server.calls` (a `Call`), the headers of all that
arrive in `server.arrivals`, in order of arrival.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from loopback_wire import body_of, error_body, read_call

from lunguage_assets.judges.protocol import MASK, ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.trust import in_order, trial_questions

Kind = Literal[
    "answer", "rate_limited", "server_error", "unavailable", "overloaded", "slow", "dropped", "reset",
    "garbage", "wrong_shape", "empty", "refusal", "blocked", "cut_off", "nonsense",
    "unauthorized", "forbidden", "bad_request", "missing_model", "no_quota",
    "trickle", "redirect",
]  # fmt: skip
_STATUS: dict[str, int] = {
    "rate_limited": 429, "server_error": 500, "unavailable": 503, "overloaded": 529, "unauthorized": 401,
    "forbidden": 403, "bad_request": 400, "missing_model": 404, "no_quota": 429,
    "redirect": 307,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Act:
    """What the server does with one call.

    `slow` sleeps `delay` seconds, then answers; `dropped`: half a body, then the
    connection closes; `reset`: it closes without a byte; `garbage`: 200, not JSON;
    `wrong_shape`: JSON of another shape; `empty`: no text; `refusal` and `blocked`:
    safety, during and before the answer; `cut_off`: stopped at the token limit with
    nothing said; `nonsense`: no label; `no_quota`: 429 with the code of an empty
    account; `redirect`: 307 to the same place; `trickle`: a body in drops, one every
    `delay` seconds. The others are HTTP errors (`_STATUS`).

    `text` is answered instead of the judge's answer, or told as the message of an
    error. `retry_after` is a header, `retry_delay` stands in the body of Gemini's.
    """

    kind: Kind = "answer"
    retry_after: str | None = None
    retry_delay: str | None = None
    delay: float = 0.0
    text: str | None = None


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
_TRIAL = [
    (shown.sentence_1, shown.sentence_2)
    for shown in in_order(trial_questions(), "both")
]
"""The surer sentence comes first in every other one."""
_LEXICON = LexiconJudge("loopback")


def judge_like(call: Call) -> str:
    """What a rule-based judge answers to the last question in the prompt;
    deterministic.
    """
    compared = _COMPARE.findall(call.user)
    if compared and compared[-1] in _TRIAL:
        return f"sentence_{1 + _TRIAL.index(compared[-1]) % 2}"
    if compared:
        return str(_CUES.compare([ComparisonQuestion(*compared[-1])])[0])
    extractions = _EXTRACT.findall(call.user)
    if extractions:
        finding, sentence = extractions[-1]
        masked = re.sub(re.escape(finding), MASK, sentence, flags=re.IGNORECASE)
        question = ExtractionQuestion(finding, sentence, masked)
        return json.dumps(list(_LEXICON.extract([question])[0].phrases))
    return "I see no question."


class LoopbackServer(ThreadingHTTPServer):
    """See the module; a context manager. Each connection has a thread of its own."""

    request_queue_size = 1024

    def __init__(
        self,
        *,
        latency: float = 0.0,
        plan: Iterable[Act] = (),
        decide: Callable[[Call], Act] = lambda call: Act(),
        answer: Callable[[Call], str] = judge_like,
        reasoning_tokens: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.latency = latency
        self.answer = answer
        self.reasoning_tokens = reasoning_tokens
        self.calls: list[Call] = []
        self.arrivals: list[dict[str, str]] = []
        self._decide = decide
        self._plan = deque(plan)
        self._lock = threading.Lock()
        self._connections = list[socket.socket]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def openai_url(self) -> str:
        """`base_url` of an OpenAI or OpenAI-compatible client."""
        return f"{self.url}/v1"

    def plan(self, *acts: Act) -> None:
        """The next calls are treated so, in this order, and what was planned before and
        did not come to pass is not done.
        """
        self._plan = deque(acts)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        for connection in self._connections:
            with contextlib.suppress(OSError):  # closed by the other side
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not wait for its answer is no error of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            traceback.print_exc()

    def turn(
        self, path: str, headers: dict[str, str], data: bytes
    ) -> tuple[Call, Act, str] | None:
        """Note a call; it, what is done with it, and the answer. None: the path is no
        model's.
        """
        fields = read_call(path, data)
        if fields is None:
            return None
        with self._lock:
            call = Call(path=path, headers=headers, **fields)
            self.calls.append(call)
            act = self._plan.popleft() if self._plan else self._decide(call)
            text = self.answer(call) if act.text is None else act.text
        return call, act, text


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: LoopbackServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None: ...

    def parse_request(self) -> bool:
        is_request = super().parse_request()
        if is_request:
            self.server.arrivals.append(self._fields())
        return is_request

    def _fields(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        turn = self.server.turn(self.path, self._fields(), data)
        if turn is None:
            self._send(404, b'{"error": {"message": "no such endpoint"}}')
        else:
            self._treat(*turn)

    def _treat(self, call: Call, act: Act, text: str) -> None:
        time.sleep(self.server.latency + (act.delay if act.kind == "slow" else 0.0))
        if act.kind in _STATUS:
            status = _STATUS[act.kind]
            headers = {"Location": call.path} if act.kind == "redirect" else {}
            if act.retry_after is not None:
                headers["Retry-After"] = act.retry_after
            code = "insufficient_quota" if act.kind == "no_quota" else None
            error = error_body(call.wire, status, code, act.retry_delay, act.text)
            self._send(status, error, headers)
        elif act.kind == "garbage":
            self._send(200, (act.text or '{"id": "x", "choices": [{"mess').encode())
        elif act.kind == "wrong_shape":
            self._send(200, json.dumps({"weather": act.text or "fine"}).encode())
        elif act.kind == "reset":
            self.close_connection = True
        else:
            tokens = self.server.reasoning_tokens
            self._answer(body_of(call, act.kind, text, tokens), act)

    def _answer(self, data: bytes, act: Act) -> None:
        if act.kind == "dropped":
            self._send(200, data[: len(data) // 2], {"Content-Length": str(len(data))})
            self.close_connection = True
        elif act.kind == "trickle":
            self._send(200, b"", {"Content-Length": str(len(data))})
            for byte in data:
                self.wfile.write(bytes([byte]))
                time.sleep(act.delay)
        else:
            self._send(200, data)

    def _send(
        self, status: int, data: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        plain = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**plain, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


KEYS = {
    "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k",
}  # fmt: skip
