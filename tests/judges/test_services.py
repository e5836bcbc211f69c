"""The real SDKs against a server on this machine: what they send, what is read from an
answer, and what every kind of trouble becomes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Act, Arrival, LoopbackServer, Outcome

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import LABELS, choice_of, load_prompts
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.protocol import ComparisonQuestion
from lunguage_assets.judges.requests import Provider, ProviderFailure, Reply, Request

PROVIDERS = (
    "openai",
    "azure-openai",
    "openai-compatible",
    "anthropic",
    "gemini",
    "vertex",
)
CLIENTS = ("openai", "anthropic", "gemini", "vertex")
"""One provider per SDK and way of signing in; the others differ from `openai` only in
what they send.
"""
MARKER = "zanzibar quartz lantern"
KEYS = {
    "OPENAI_API_KEY": "key-o", "AZURE_OPENAI_API_KEY": "key-z", "OPENAI_API_VERSION": "2024-10-21",
    "ANTHROPIC_API_KEY": "key-a",
    "GEMINI_API_KEY": "key-g", "GOOGLE_CLOUD_PROJECT": "project-x", "GOOGLE_CLOUD_LOCATION": "europe-west9",
}  # fmt: skip


@pytest.fixture(autouse=True)
def google_account(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Google's application default credentials: a service account whose tokens a
    loopback server gives.
    """
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric import rsa

    file = tmp_path_factory.getbasetemp() / "google_account.json"
    if not file.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
        ).decode()
        account = {
            "type": "service_account",
            "project_id": "project-x",
            "private_key_id": "1",
        }
        file.write_text(
            json.dumps(
                account | {"client_email": "a@project-x.iam", "private_key": private}
            )
        )
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    return file


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(reasoning_tokens=7) as running:
        yield running


def slot_of(provider: str, **fields: Any) -> LLMJudgeConfig:
    params = {"max_tokens": 50} if provider == "anthropic" else {}
    return LLMJudgeConfig.model_validate(
        {"provider": provider, "model": "model-1", "params": params} | fields
    )


def made(provider: str, server: LoopbackServer, **fields: Any) -> Provider:
    if provider == "vertex":
        _answer_token_requests(server)
    address = (
        server.openai_url if provider in ("openai", "openai-compatible") else server.url
    )
    return provider_of("judge-1", slot_of(provider, base_url=address, **fields), KEYS)


def _answer_token_requests(server: LoopbackServer) -> None:
    async def token(arrival: Arrival) -> Outcome:
        body = json.dumps(
            {"access_token": "token-v", "expires_in": 3600, "token_type": "Bearer"}
        ).encode()
        return Outcome(200, body)

    server.route("POST", "/token", token)
    file = Path(os.environ["GOOGLE_APPLICATION_CREDENTIALS"])
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"token_uri": f"{server.url}/token"})
    )


def comparison(mode: str = "text", marker: str = "the base") -> Request:
    question = ComparisonQuestion(
        f"There is possible <finding> at {marker}.",
        f"There is likely <finding> at {marker}.",
    )
    return load_prompts().comparison(question, mode)  # type: ignore[arg-type]


def ask(provider: Provider, *requests: Request) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return [await provider.answer(request) for request in requests]

    return asyncio.run(all_of_them())


def trouble(provider: Provider, request: Request | None = None) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as caught:
        ask(provider, request or comparison())
    return caught.value


SENT_KEYS = {
    "openai": "key-o", "azure-openai": "key-z", "openai-compatible": "Bearer none",
    "anthropic": "key-a", "gemini": "key-g", "vertex": "Bearer token-v",
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mode", ["text", "enum"])
def test_the_prompt_goes_out_whole_and_the_bare_label_comes_back(
    provider: str, mode: str, server: LoopbackServer
) -> None:
    request = comparison(mode)
    (reply,) = ask(made(provider, server), request)
    assert (choice_of(reply.text), reply.returned_model) == ("sentence_2", "model-1")
    assert not reply.refused
    (call,) = server.calls
    assert (call.system, call.user) == (request.prompt.system, request.prompt.user)
    assert call.model == "model-1"
    assert reply.input_tokens == len(call.prompt) // 4 + 1
    assert reply.output_tokens > 7, "thoughts are billed, and no part of the answer"
    assert call.labels == (LABELS if mode == "enum" else ())
    named = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
    assert SENT_KEYS[provider] in " ".join(str(call.headers.get(it)) for it in named)
    is_in_project = "projects/project-x/locations/europe-west9" in call.path
    assert is_in_project == (provider == "vertex")


def test_an_openai_compatible_server_never_sees_the_openai_key(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-secret")
    ask(made("openai-compatible", server), comparison())
    assert "key-secret" not in str(server.arrivals[0].headers)
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
    ("vertex", {"seed": 3}, {"seed": 3}),
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
    "unavailable": ("overloaded", 503),
    "overloaded": ("overloaded", 529),
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
        names_key = "the key is read from $" in str(failure) or provider == "vertex"
        assert names_key or failure.kind != "authentication"
    assert {failure.retry_after for failure in failures} == {0.0}
    assert {failure.kind for failure in failures if not failure.retryable} == {
        "authentication",
        "rejected",
    }
    assert len(server.calls) == len(TROUBLES)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
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
    in_body = (
        [Act("rate_limited", text="13s")] if provider in ("gemini", "vertex") else []
    )
    server.plan(
        Act("rate_limited", retry_after="2.5"),
        Act("rate_limited", retry_after="soon"),
        *in_body,
    )
    waits = [
        trouble(made(provider, server)).retry_after for _ in range(2 + len(in_body))
    ]
    assert waits == [2.5, 0.0, *([13.0] if in_body else [])]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["refusal", "blocked"])
def test_a_refusal_is_a_reply_with_its_bill(
    provider: str, kind: Any, server: LoopbackServer
) -> None:
    server.plan(Act(kind))
    (reply,) = ask(made(provider, server), comparison("enum"))
    assert reply.refused
    assert choice_of(reply.text) is None
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
        logging.getLogger(name).setLevel(
            logging.DEBUG
        )  # as a run of Dagster that begins meanwhile
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
    assert not [
        secret
        for secret in KEYS.values()
        if secret.startswith("key-") and secret in output
    ]


@pytest.mark.parametrize(
    "provider", ["openai", "anthropic", "gemini", "openai-compatible"]
)
def test_addresses_and_proxies_of_the_environment_do_not_divert_the_text(
    provider: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer() as stranger:
        for name in (
            "OPENAI_BASE_URL",
            "ANTHROPIC_BASE_URL",
            "GOOGLE_GEMINI_BASE_URL",
            "HTTP_PROXY",
        ):
            monkeypatch.setenv(name, stranger.url)
        monkeypatch.setenv("http_proxy", stranger.url)
        monkeypatch.setenv("ALL_PROXY", stranger.url)
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        ask(made(provider, server), comparison())
        assert stranger.arrivals == []
    assert len(server.calls) == 1


@pytest.mark.parametrize(("provider", "variable"), [
    ("openai", "OPENAI_API_KEY"), ("azure-openai", "AZURE_OPENAI_API_KEY"),
    ("azure-openai", "AZURE_OPENAI_ENDPOINT"),
    ("azure-openai", "OPENAI_API_VERSION"), ("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY"),
    ("vertex", "GOOGLE_CLOUD_PROJECT"), ("vertex", "GOOGLE_CLOUD_LOCATION"),
])  # fmt: skip
def test_a_variable_that_is_not_set_is_named(provider: str, variable: str) -> None:
    environ = (
        KEYS | {"AZURE_OPENAI_ENDPOINT": "https://example.invalid"} | {variable: "  "}
    )
    with pytest.raises(ConfigurationError, match=f"'judge-1'.*{variable} is not set"):
        provider_of("judge-1", slot_of(provider), environ)


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


def test_an_address_with_a_password_in_the_environment_is_refused_unseen() -> None:
    slot = slot_of("openai-compatible", base_url_env="MY_SERVER")
    with pytest.raises(ConfigurationError, match="MY_SERVER") as caught:
        provider_of("j", slot, {"MY_SERVER": "http://me:hunter2@host/v1"})
    assert "hunter2" not in str(caught.value)


def test_an_account_without_money_is_not_asked_again_and_a_server_that_is_down_is_named(
    server: LoopbackServer,
) -> None:
    with LoopbackServer() as gone:
        pass
    assert str(trouble(made("openai", gone))).startswith(f"connection ({gone.url}")
    server.plan(Act("no_quota"))
    failure = trouble(made("openai", server))
    assert (failure.kind, failure.retryable) == ("authentication", False)
    assert "insufficient_quota" in str(failure)
