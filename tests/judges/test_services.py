"""The real SDKs against a server on this machine: what they send, what is read from an
answer, and what every kind of trouble becomes. The judges of docs/models.md are each
asked at a server that speaks their dialect.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import tomllib
import traceback
from pathlib import Path
from typing import Any

import pytest
from asked_reports import PROVIDERS
from loopback import Act, Call, LoopbackServer, judge_like

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import LABELS, load_prompts
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.protocol import ComparisonQuestion
from lunguage_assets.judges.requests import Provider, ProviderFailure, Reply, Request
from lunguage_assets.judges.trust import choice_of

CLIENTS = ("openai", "anthropic", "gemini")
"""One provider per SDK; the others differ from `openai` only in what they send."""
MARKER = "zanzibar quartz lantern"
KEYS = {
    "OPENAI_API_KEY": "key-o", "AZURE_OPENAI_API_KEY": "key-z",
    "ANTHROPIC_API_KEY": "key-a", "GEMINI_API_KEY": "key-g",
}  # fmt: skip


def slot_of(provider: str, **fields: Any) -> LLMJudgeConfig:
    params = {"max_tokens": 50} if provider == "anthropic" else {}
    table = {"provider": provider, "model": "model-1", "params": params}
    table["api_version"] = "2024-10-21"
    return LLMJudgeConfig.model_validate(table | fields)


def address_of(provider: str, server: LoopbackServer) -> str:
    is_openai = provider in ("openai", "openai-compatible")
    return server.openai_url if is_openai else server.url


def made(provider: str, server: LoopbackServer, **fields: Any) -> Provider:
    slot = slot_of(provider, base_url=address_of(provider, server), **fields)
    return provider_of("judge-1", slot, KEYS)


def comparison(mode: str = "text", marker: str = "the base") -> Request:
    question = ComparisonQuestion(
        f"There is possible <finding> at {marker}.",
        f"There is likely <finding> at {marker}.",
    )
    return load_prompts().comparison(question, mode)  # type: ignore[arg-type]


def ask(provider: Provider, request: Request) -> Reply:
    return asyncio.run(provider.answer(request))


def trouble(provider: Provider, request: Request | None = None) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as caught:
        ask(provider, request or comparison())
    return caught.value


SENT_KEYS = {
    "openai": "key-o", "azure-openai": "key-z", "openai-compatible": "Bearer none",
    "anthropic": "key-a", "gemini": "key-g",
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mode", ["text", "enum"])
def test_the_prompt_goes_out_whole_and_the_bare_label_comes_back(
    provider: str, mode: str, server: LoopbackServer
) -> None:
    request = comparison(mode)
    reply = ask(made(provider, server), request)
    assert (choice_of(reply.text), reply.returned_model) == ("sentence_2", "model-1")
    (call,) = server.calls
    assert (call.system, call.user) == (request.system, request.user)
    assert call.model == "model-1"
    assert reply.input_tokens == len(call.prompt) // 4 + 1
    assert reply.output_tokens > 7, "thoughts are billed, and no part of the answer"
    assert call.labels == (LABELS if mode == "enum" else ())
    named = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
    assert SENT_KEYS[provider] in " ".join(str(call.headers.get(it)) for it in named)


def test_an_openai_compatible_server_never_sees_the_openai_key(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-secret")
    ask(made("openai-compatible", server), comparison())
    assert "key-secret" not in str(server.arrivals)
    named = slot_of(
        "openai-compatible", base_url=server.openai_url, api_key_env="MY_SERVER_KEY"
    )
    ask(provider_of("j", named, {"MY_SERVER_KEY": "key-mine"}), comparison())
    assert server.calls[1].headers["authorization"] == "Bearer key-mine"


@pytest.mark.parametrize(("provider", "params", "expected"), [
    ("openai", {"temperature": 1.0, "max_completion_tokens": 100, "reasoning_effort": "none"},
    {"temperature": 1.0, "reasoning_effort": "none", "store": False}),
    ("openai", {"store": True}, {"store": True}),
    ("openai-compatible", {"top_k": 1, "chat_template_kwargs": {"thinking": False}},
    {"top_k": 1, "chat_template_kwargs": {"thinking": False}}),
    ("azure-openai", {"max_tokens": 100}, {"max_tokens": 100}),
    ("anthropic", {"max_tokens": 100, "temperature": 1.0, "thinking": {"type": "disabled"}},
    {"max_tokens": 100, "temperature": 1.0, "thinking": {"type": "disabled"}}),
    ("gemini", {"max_output_tokens": 1100, "top_p": 1.0, "thinking_config": {"thinking_budget": 0}},
    {"maxOutputTokens": 1100, "topP": 1.0, "thinkingConfig": {"thinking_budget": 0}}),
])  # fmt: skip
def test_a_judges_parameters_go_into_the_request_as_they_are(
    provider: str,
    params: dict[str, Any],
    expected: dict[str, Any],
    server: LoopbackServer,
) -> None:
    ask(made(provider, server, params=params), comparison("enum"))
    body = server.calls[0].body
    sent = body.get("generationConfig", body)
    assert {name: sent.get(name) for name in expected} == expected
    assert ("store" in sent) == (provider == "openai")


TROUBLES: dict[Any, tuple[str, int | None]] = {
    "rate_limited": ("rate_limited", 429),
    "server_error": ("server", 500),
    "unavailable": ("server", 503),
    "overloaded": ("server", 529),
    "unauthorized": ("authentication", 401),
    "forbidden": ("authentication", 403),
    "bad_request": ("rejected", 400),
    "missing_model": ("rejected", 404),
    "dropped": ("connection", None),
    "reset": ("connection", None),
    "garbage": ("malformed", None),
    "wrong_shape": ("malformed", None),
    "redirect": ("rejected", 307),
}


@pytest.mark.parametrize("provider", CLIENTS)
def test_every_trouble_has_its_kind_and_is_tried_once(
    provider: str, server: LoopbackServer
) -> None:
    server.plan(*map(Act, TROUBLES))
    failures = [trouble(made(provider, server)) for _ in TROUBLES]
    kinds = [failure.kind for failure in failures]
    assert kinds == [kind for kind, _ in TROUBLES.values()]
    for failure, (_, status) in zip(failures, TROUBLES.values(), strict=True):
        assert server.url in str(failure)
        assert status is None or f"HTTP {status}" in str(failure)
        names_key = "the key is read from $" in str(failure)
        assert names_key == (failure.kind == "authentication")
    assert {failure.retry_after for failure in failures} == {0.0}
    assert {failure.kind for failure in failures if not failure.retryable} == {
        "authentication",
        "rejected",
    }
    assert len(server.calls) == len(TROUBLES)


@pytest.mark.parametrize("provider", CLIENTS)
@pytest.mark.parametrize("act", [Act("slow", delay=5.0), Act("trickle", delay=0.05)])
def test_a_slow_answer_ends_at_the_overall_timeout(
    provider: str, act: Act, server: LoopbackServer
) -> None:
    server.plan(act)
    assert trouble(made(provider, server, limits={"timeout_s": 0.4})).kind == "timeout"


@pytest.mark.parametrize("provider", CLIENTS)
def test_the_seconds_that_a_server_asks_for_are_kept(
    provider: str, server: LoopbackServer
) -> None:
    acts = [Act("rate_limited", retry_after=said) for said in ("2.5", "soon")]
    if provider == "gemini":
        acts.append(Act("rate_limited", retry_delay="13s"))
    server.plan(*acts)
    waits = [trouble(made(provider, server)).retry_after for _ in acts]
    assert waits == [2.5, 0.0, 13.0][: len(acts)]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["refusal", "blocked"])
def test_a_refusal_is_an_empty_reply_with_its_bill(
    provider: str, kind: Any, server: LoopbackServer
) -> None:
    server.plan(Act(kind))
    reply = ask(made(provider, server), comparison("enum"))
    assert reply.text == ""
    assert reply.input_tokens > 0


@pytest.mark.parametrize("provider", CLIENTS)
@pytest.mark.parametrize("kind", ["dropped", "garbage", "bad_request", "answer"])
def test_no_log_line_and_no_error_holds_the_prompt_or_the_key(
    provider: str,
    kind: Any,
    server: LoopbackServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    server.plan(Act(kind))
    judge = made(provider, server)
    request = comparison(marker=MARKER)
    for name in ("openai", "anthropic", "google_genai", "httpx2", "httpcore2"):
        # As a run of Dagster that begins meanwhile.
        logging.getLogger(name).setLevel(logging.DEBUG)
    failure: ProviderFailure | None = None
    output = repr(judge) + repr(request) + repr(vars(judge).get("endpoint"))
    try:
        output += repr(ask(judge, request))
    except ProviderFailure as raised:
        failure = raised
        output += f"{failure!r} {traceback.format_exception(failure)} {pickle.dumps(vars(failure))!r}"
    assert (failure is None) == (kind == "answer")
    assert failure is None or (failure.__cause__, failure.__context__) == (None, None)
    assert MARKER in server.calls[0].user
    output += "".join(
        record.getMessage() + str(record.exc_info) for record in caplog.records
    )
    output += "".join(capfd.readouterr())
    assert MARKER not in output
    assert not [secret for secret in KEYS.values() if secret in output]


@pytest.mark.parametrize("provider", [*CLIENTS, "openai-compatible"])
def test_addresses_and_proxies_of_the_environment_do_not_divert_the_text(
    provider: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    with LoopbackServer() as stranger:
        for name in (*addresses, "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, stranger.url)
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        ask(made(provider, server), comparison())
        assert stranger.arrivals == []
    assert len(server.calls) == 1


@pytest.mark.parametrize(("provider", "variable"), [
    ("openai", "OPENAI_API_KEY"), ("azure-openai", "AZURE_OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY"),
])  # fmt: skip
def test_a_variable_that_is_not_set_is_named(provider: str, variable: str) -> None:
    environ = KEYS | {variable: "  "}
    slot = slot_of(provider, base_url="https://example.invalid")
    with pytest.raises(ConfigurationError, match=f"'judge-1'.*{variable} is not set"):
        provider_of("judge-1", slot, environ)


@pytest.mark.parametrize(("provider", "module"), [
    ("openai", "openai"), ("anthropic", "anthropic"), ("gemini", "google.genai"),
])  # fmt: skip
def test_a_missing_sdk_gives_the_line_that_installs_it(
    provider: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    slot = slot_of(provider, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(
        ConfigurationError, match=r"pip install 'lunguage-assets\[llm\]'"
    ):
        provider_of("judge-1", slot, KEYS)


def test_a_parameter_that_gemini_does_not_have_is_named(server: LoopbackServer) -> None:
    with pytest.raises(ConfigurationError, match=r"params\.max_tokens"):
        made("gemini", server, params={"max_tokens": 100})


def test_an_account_without_money_and_a_server_that_is_down_are_named(
    server: LoopbackServer,
) -> None:
    with LoopbackServer() as gone:
        pass
    assert str(trouble(made("openai", gone))).startswith(f"connection ({gone.url}")
    server.plan(Act("no_quota"))
    failure = trouble(made("openai", server))
    assert "insufficient_quota" in str(failure)


PAGE = Path(__file__).parents[2] / "docs" / "models.md"
SECTION = PAGE.read_text().partition("## Which server, which lines")[2]
TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    SECTION.partition("```toml\n")[2].partition("```")[0]
)["judges"]
UNDERSTOOD = {
    "vllm": {"response_format", "structured_outputs", "guided_choice"},
    "llama": {"response_format", "grammar"},
    "ollama": {"response_format"},
}
"""Constraints that a dialect knows: it ignores any other in silence."""


def in_dialect(name: str, call: Call) -> str:
    """What such a server answers: prose, unless a constraint that it knows is given."""
    known = UNDERSTOOD.get(name.partition("-")[0])
    if known is None or known & call.body.keys():
        return judge_like(call)
    return f"I think it is {judge_like(call)}."


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_lines_of_the_page_bring_labels(name: str) -> None:
    table = TABLES[name]
    with LoopbackServer(answer=lambda call: in_dialect(name, call)) as server:
        address = address_of(table["provider"], server)
        config = LLMJudgeConfig.model_validate({**table, "base_url": address})
        provider = provider_of(name, config, KEYS)
        question = ComparisonQuestion("<finding> is likely.", "Possible <finding>.")
        request = load_prompts().comparison(question, config.mode)
        reply = asyncio.run(provider.answer(request))
    assert choice_of(reply.text) == "sentence_1"
    if "logprobs" in table["params"]:
        assert reply.margin == pytest.approx(1.25)
    else:
        assert reply.margin is None
