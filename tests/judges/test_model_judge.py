"""A model behind the Judge protocol answers like any other judge and can be used from
anywhere. The bundled prompts say what the method asks, and answers are read strictly.
"""

from __future__ import annotations

import json
from typing import Any

from fake_model import CONFIG, FakeModel, reply
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.judge_config import Limits
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.judges.trust import choice_of

BUNDLED = load_prompts()


def invented(request: Request, occurrence: int) -> Reply:
    if request.stage == "extract":
        return reply(json.dumps(["possible"]))
    return reply("sentence_1")


def made(ledger: Ledger, answer: Any = invented, **options: Any) -> ModelJudge:
    config = CONFIG.model_copy(update=options)
    return ModelJudge(Asker("one", config, lambda: FakeModel(answer=answer), ledger))


def test_the_mode_constrains_comparisons_and_never_extractions(ledger: Ledger) -> None:
    seen: list[tuple[str, str, tuple[str, ...]]] = []

    def noting(request: Request, occurrence: int) -> Reply:
        seen.append((request.stage, request.mode, request.labels))
        return invented(request, occurrence)

    judge = made(ledger, noting, mode="enum")
    judge.compare([ComparisonQuestion("There may be <finding>.", "Likely <finding>.")])
    judge.extract([ExtractionQuestion("opacity", "Possible opacity.")])
    assert seen == [
        ("compare", "enum", ("sentence_1", "sentence_2")),
        ("extract", "text", ()),
    ]


def test_identity_changes_with_everything_that_changes_answers_and_with_nothing_else(
    ledger: Ledger,
) -> None:
    def identity(**options: Any) -> str:
        return made(ledger, **options).identity

    assert identity(limits=Limits(in_flight=3)) == identity()
    changes = {"model": "x", "provider": "x", "params": {}, "mode": "enum"}
    changed = {identity(**{name: value}) for name, value in changes.items()}
    assert len({identity(), *changed}) == 5


# --- prompts and labels


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
@settings(deadline=None)
def test_any_sentence_is_put_into_its_place_and_fills_no_other(
    sentence_1: str, sentence_2: str
) -> None:
    marked = f"$sentence_2 ${{finding}} $$ {sentence_1}"
    prompt = BUNDLED.comparison(ComparisonQuestion(marked, sentence_2)).user
    first, second = prompt.rsplit("sentence_1: ", 1)[1].rsplit("\nsentence_2: ", 1)
    assert first == " ".join(marked.split())
    assert second == " ".join(sentence_2.split()) + "\nanswer:"


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
