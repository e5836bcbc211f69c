"""The judges of docs/models.md, each asked at a server that speaks its dialect: labels
come back, constrained by what that server takes, with the margin where it gives one.
"""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest
from loopback import Call, LoopbackServer, judge_like
from sdk_run import KEYS

from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.protocol import ComparisonQuestion
from lunguage_assets.judges.trust import choice_of

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
        is_openai = table["provider"] in ("openai", "openai-compatible")
        address = server.openai_url if is_openai else server.url
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
