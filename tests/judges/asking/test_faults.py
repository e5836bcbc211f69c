"""Three real SDKs, a server with every fault, and the whole way from question to
ledger: the answers are those of a clean run, each paid once.
"""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
from loopback import Act, Arrival, Call, LoopbackServer, Outcome, judge_like
from loopback_wire import body_of, read_call
from sdk_run import LIMITS, judge_of, pairs

from lunguage_assets.judges.asking.model_call import WrongModel
from lunguage_assets.judges.asking.request_batch import (
    MAX_CONNECT_ATTEMPTS,
    JudgeIncomplete,
)
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.protocol import Choice
from lunguage_assets.judges.providers.http import http_client
from lunguage_assets.judges.rules.cues import CuesJudge

pytestmark = pytest.mark.skipif(
    not all(
        map(find_spec, ("openai", "anthropic", "google.genai"))
    ),  # importing them takes seconds
    reason="needs the LLM SDKs: pip install 'lunguage-assets[llm]'",
)

WIRES = ("openai", "anthropic", "gemini")
NO_REPLY = (
    Act("rate_limited"), Act("rate_limited", retry_after="0.05"), Act("rate_limited", retry_after="soon"),
    Act("server_error"), Act("unavailable"),
    Act("overloaded"), Act("dropped"), Act("reset"), Act("garbage"), Act("wrong_shape"),
    Act("slow", delay=15.0), Act("trickle", delay=0.3),
)  # fmt: skip
UNUSED = (
    Act("empty"),
    Act("no_choice"),
    Act("nonsense"),
    Act("refusal"),
    Act("blocked"),
    Act("cut_off"),
)
"""Replies that are paid and cannot be used."""


def clean(count: int) -> list[Choice]:
    """What the loopback's own judge answers: rules, so that nothing can go wrong."""
    return CuesJudge.bundled("loopback").compare(pairs(count))


def totals(ledger: Ledger) -> dict[str, int]:
    return {
        name: int(value)
        for name, value in ledger.statistics().sum(numeric_only=True).items()
    }


@pytest.mark.parametrize("wire", WIRES)
def test_after_every_fault_answers_are_clean_and_paid_once(
    wire: str, server: LoopbackServer, tmp_path: Path
) -> None:
    server.plan(*NO_REPLY, *UNUSED)
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    # On a busy machine an answer may take seconds, and is no failure.
    patient = LIMITS.model_copy(update={"timeout_s": 6.0})
    judge = judge_of(wire, server.url, ledger, patient)
    answers = judge.compare(pairs(30))
    assert answers == clean(30)
    counts = totals(ledger)
    assert (counts["valid"], counts["failures"], counts["invalid"]) == (
        30,
        len(NO_REPLY),
        len(UNUSED),
    )
    assert counts["attempts"] == len(server.calls) == 30 + len(NO_REPLY) + len(UNUSED)
    again = judge_of(wire, server.url, ledger)
    assert again.compare(pairs(30)) == answers
    assert len(server.calls) == counts["attempts"], "a replay asks nothing"


_STRANGE: tuple[Any, ...] = (
    None,
    7,
    "text",
    [],
    [7],
    {"text": 7},
    [[1]],
    {},
    [None],
    True,
)
_FIELDS = {
    "openai": ("choices", "model", "usage"),
    "anthropic": ("content", "model", "usage"),
    "gemini": ("candidates", "modelVersion", "usageMetadata"),
}


@pytest.mark.parametrize("wire", WIRES)
def test_fields_of_a_strange_type_are_a_fault_and_no_crash(
    wire: str, server: LoopbackServer, tmp_path: Path
) -> None:
    spoilt = [(field, value) for field in _FIELDS[wire] for value in _STRANGE]

    async def answer(arrival: Arrival) -> Outcome:
        counts = read_call(arrival.path, arrival.data)
        assert counts is not None
        call = Call(
            number=len(server.calls),
            path=arrival.path,
            headers=arrival.headers,
            **counts,
        )
        server.calls.append(call)
        body = json.loads(body_of(call, "answer", judge_like(call), 0, ""))
        if spoilt:
            field, value = spoilt.pop()
            body[field] = value
        return Outcome(200, json.dumps(body).encode())

    server.route("POST", r".*(completions|messages|generateContent).*", answer)
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    for _ in range(len(spoilt) + 1):
        try:
            answers = judge_of(wire, server.url, ledger).compare(pairs(20))
            break
        except (
            WrongModel
        ):  # a name of another kind of value, such as text; the judge is opened again
            continue
    assert spoilt == []
    assert answers == clean(20)
    counts = totals(ledger)
    assert counts["attempts"] == len(server.calls)
    assert counts["valid"] == 20


def test_a_proxy_carries_only_what_leaves_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LoopbackServer() as proxy, LoopbackServer() as local_server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)

        async def reached(url: str) -> None:
            client = http_client(url, 5.0, 64)
            await client.get(url)
            await client.aclose()

        with pytest.raises(httpx2.ProxyError):  # this one opens no tunnel
            asyncio.run(reached("https://gpu.invalid/x"))
        with pytest.raises(httpx2.UnsupportedProtocol):
            asyncio.run(reached("http://gpu.invalid/in-clear"))
        asyncio.run(reached(f"{local_server.url}/y"))
        requests = [(arrival.method, arrival.path) for arrival in proxy.arrivals]
        assert requests == [("CONNECT", "gpu.invalid:443")]
        assert [arrival.path for arrival in local_server.arrivals] == ["/y"]


def test_a_service_that_was_never_reached_is_given_up_soon(
    tmp_path: Path,
) -> None:
    with LoopbackServer() as gone:
        pass
    judge = judge_of(
        "openai", gone.url, ledger := Ledger.open(tmp_path / "ledger.sqlite")
    )
    with pytest.raises(
        JudgeIncomplete, match=r"1 of 1 .*127\.0\.0\.1.*Connection refused"
    ):
        judge.compare(pairs(1))
    assert totals(ledger)["attempts"] == MAX_CONNECT_ATTEMPTS
