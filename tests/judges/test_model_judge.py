"""A model behind the Judge protocol answers like any other judge and can be used from
anywhere. The bundled prompts say what the method asks, a person's own replace them, and
answers are read strictly.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from string import Template
from typing import Any

import pytest
from fake_model import CONFIG, FakeModel, draw, reply
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.judge_config import Limits
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import (
    ModelJudge,
    Prompts,
    choice_of,
    load_prompts,
)
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.packaged_data import resource

PAIRS = [
    ComparisonQuestion(
        f"There may be <finding> number {n}.", "There is likely <finding>."
    )
    for n in range(60)
]
SENTENCES = [
    ExtractionQuestion("opacity", f"Possible opacity in invented zone {n}.")
    for n in range(10)
]
TEMPLATES = {
    ("extraction", "system"): Template("List the hedges."),
    ("extraction", "user"): Template("$finding: $sentence"),
    ("comparison", "system"): Template("Which is closer to certain?"),
    ("comparison", "user"): Template("$sentence_1 | $sentence_2"),
}
PROMPTS = Prompts("v1", TEMPLATES)
BUNDLED = load_prompts()


def invented(request: Request, occurrence: int) -> Reply:
    if request.task == "extract":
        return reply(json.dumps(["possible"]))
    return reply(
        "sentence_1"
        if draw(request.prompt.user, request.replicate) < 0.5
        else "sentence_2"
    )


def made(ledger: Ledger, asked: Any = None, **options: Any) -> ModelJudge:
    provider = asked if asked is not None else FakeModel(answer=invented)
    prompts = options.pop("prompts", PROMPTS)
    limits = Limits(in_flight=8, backoff_s=0.001)
    config = CONFIG.model_copy(update={"limits": limits, **options})
    return ModelJudge(Asker("one", config, provider, ledger), prompts)


def test_the_mode_constrains_comparisons_and_never_extractions(ledger: Ledger) -> None:
    seen: list[tuple[str, str, tuple[str, ...]]] = []

    def noting(request: Request, occurrence: int) -> Reply:
        seen.append((request.task, request.mode, request.labels))
        return invented(request, occurrence)

    judge = made(ledger, FakeModel(answer=noting), mode="enum")
    judge.compare(PAIRS[:1])
    judge.extract(SENTENCES[:1])
    assert seen == [
        ("compare", "enum", ("sentence_1", "sentence_2")),
        ("extract", "text", ()),
    ]


def test_identity_changes_with_everything_that_changes_answers_and_with_nothing_else(
    ledger: Ledger,
) -> None:
    def identity(**options: Any) -> str:
        return made(ledger, FakeModel(), **options).identity

    identities = {
        identity(),
        identity(aliases=("fake-1-dated",)),
        identity(limits=Limits()),
    }
    changed = {
        identity(model="fake-2"),
        identity(provider="other"),
        identity(params={"max_tokens": 11}),
        identity(prompts=Prompts("v2", TEMPLATES)),
        identity(mode="enum"),
    }
    assert len(identities) == 1
    assert len(changed) == 5
    assert not identities & changed


# --- prompts and labels


@pytest.fixture
def own_templates(tmp_path: Path) -> Path:
    """A person's copy of the templates."""
    shutil.copytree(resource("prompts"), tmp_path / "prompts")
    return tmp_path / "prompts"


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
@settings(deadline=None)
def test_any_sentence_is_put_into_its_place_and_fills_no_other(
    sentence_1: str, sentence_2: str
) -> None:
    marked = f"$sentence_2 ${{finding}} $$ {sentence_1}"
    prompt = BUNDLED.comparison(ComparisonQuestion(marked, sentence_2)).prompt.user
    first, second = prompt.rsplit("sentence_1: ", 1)[1].rsplit("\nsentence_2: ", 1)
    assert first == " ".join(marked.split())
    assert second == " ".join(sentence_2.split()) + "\nanswer:"


def test_every_word_of_a_prompt_is_in_its_version(own_templates: Path) -> None:
    versions = {load_prompts().version, load_prompts(own_templates).version}
    assert len(versions) == 1
    for file in sorted(own_templates.rglob("*.txt")):
        file.write_text(
            file.read_text(encoding="utf-8").replace(".", "!", 1), encoding="utf-8"
        )
        versions.add(load_prompts(own_templates).version)
    assert len(versions) == 5
    before = load_prompts(own_templates)
    assert (
        before.extraction(ExtractionQuestion("a", "b")).prompt.template_version
        == before.version
    )
    for file in own_templates.rglob("*.txt"):
        file.write_bytes(
            b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n"
        )
    assert load_prompts(own_templates).version == before.version


@pytest.mark.parametrize(("file", "text", "problem"), [
    ("extraction/user.txt", "Look at $sentence", r"\$sentence; expected a prompt with \$finding, \$sentence"),
    ("extraction/user.txt", "$finding $sentence $colour", r"\$colour"),
    ("comparison/user.txt", "$sentence_1 $sentence_2 costs $ 5", r"Write a dollar sign as \$\$"),
    ("comparison/system.txt", "You judge $finding", "no places"),
    ("extraction/system.txt", "  \n", "no places"),
    ("comparison/user.txt", None, "cannot be read"),
])  # fmt: skip
def test_a_template_that_cannot_be_used_is_named(
    own_templates: Path, file: str, text: str | None, problem: str
) -> None:
    if text is None:
        (own_templates / file).unlink()
    else:
        (own_templates / file).write_text(text, encoding="utf-8")
    with pytest.raises(
        ConfigurationError, match=f"{re.escape(str(own_templates / file))}.*{problem}"
    ):
        load_prompts(own_templates)


def test_a_label_is_read_through_signs_and_case_and_nothing_else_is() -> None:
    labels = [
        "sentence_1", " sentence_1\n", "Sentence_1.", '"sentence_1"', "**sentence_1**", "Answer: sentence_1",
        "answer :'SENTENCE_1'!", "`sentence_1`", "(sentence_1)", "Answer: **sentence_1**",
        '{"answer": "sentence_1"}',
    ]  # fmt: skip
    others = [
        "", " ", "sentence", "sentence_12", "sentence_3", "1", "Sentence 1", "sentence_1 sentence_2",
        "sentence_1 or sentence_2", "sentence_1 because it is firmer",
        "The answer is sentence_1", "Answer: Answer: sentence_1", "not sentence_1", "sentence_1\nsentence_2",
        "Reply: sentence_1",
    ]  # fmt: skip
    assert {choice_of(text) for text in labels} == {"sentence_1"}
    assert {choice_of(text) for text in others} == {None}
