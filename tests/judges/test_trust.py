"""A judge must show that it judges: one that always names the sentence shown first, or
answers by chance, gives no probability and is paid for little; a good one is not
disturbed.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from fake_model import CONFIG, FakeModel, draw, reply

from lunguage_assets.judges.ask import Asker, NothingReadable
from lunguage_assets.judges.judge_config import Limits, LLMJudgeConfig
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import (
    ComparisonQuestion,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.judges.trust import UnfitJudge, doubt, trial_questions, unfitness

TRIAL_CALLS = 60
WORDS = {question.sentence_1: 1 for question in trial_questions()} | {
    question.sentence_2: 0 for question in trial_questions()
}


def sentences(request: Request) -> tuple[str, str]:
    asked = re.findall(r"^sentence_[12]: (.*)$", request.user, re.MULTILINE)
    return asked[-2], asked[-1]


def first(request: Request, _: int) -> Reply:
    return reply("sentence_1")


def coin(request: Request, _: int) -> Reply:
    return reply(f"sentence_{1 + (draw('coin', request.user) < 0.5)}")


def sureness(sentence: str) -> float:
    if sentence in WORDS:
        return WORDS[sentence]
    return float(sentence.split()[-1])


def good(request: Request, _: int) -> Reply:
    surer = [sureness(sentence) for sentence in sentences(request)]
    return reply("sentence_1" if surer[0] > surer[1] else "sentence_2")


def pairs(count: int) -> list[ComparisonQuestion]:
    """Pairs of which each sentence says how sure it is, shown in a drawn order."""
    questions = []
    for number in range(count):
        shown = [f"<finding> {number}", f"<finding> {number + 1000}"]
        if draw("order", number) < 0.5:
            shown.reverse()
        questions.append(ComparisonQuestion(*shown))
    return questions


def judge_of(ledger: Ledger, model: FakeModel, **options: Any) -> ModelJudge:
    changes: dict[str, Any] = {"limits": Limits(in_flight=8, backoff_s=0.001)}
    for name, default in {"order": "one", "let_in": ""}.items():
        changes[name] = options.pop(name, default)
    config = CONFIG.model_copy(update=changes)
    return ModelJudge(Asker("one", config, lambda: model, ledger), **options)


@pytest.mark.parametrize("answer", [first, coin])
@pytest.mark.parametrize("order", ["one", "both"])
def test_a_judge_without_judgement_is_stopped_at_its_trial(
    ledger: Ledger, answer: Any, order: Any
) -> None:
    model = FakeModel(answer=answer)
    with pytest.raises(UnfitJudge, match=r"'one' did not pass its trial.*pairs right"):
        judge_of(ledger, model, has_trial=True, order=order).compare(pairs(500))
    assert model.calls == TRIAL_CALLS
    # The ledger has the trial: the next step pays nothing more to refuse it again.
    with pytest.raises(UnfitJudge):
        judge_of(ledger, model, has_trial=True, order=order).compare(pairs(500))
    assert model.calls == TRIAL_CALLS


def test_a_good_judge_is_tried_once_and_chooses(ledger: Ledger) -> None:
    model = FakeModel(answer=good)
    questions = pairs(50)
    is_first = [sureness(it.sentence_1) > sureness(it.sentence_2) for it in questions]
    expected = ["sentence_1" if first else "sentence_2" for first in is_first]
    judge = judge_of(ledger, model, has_trial=True, order="both")
    assert judge.compare(questions) == expected
    assert model.calls == TRIAL_CALLS + 100
    again = judge_of(ledger, model, has_trial=True, order="both")
    assert again.compare(pairs(51))[:50] == expected
    assert model.calls == TRIAL_CALLS + 102


def test_a_judge_that_ranks_is_tried_before_it_is_paid_for_phrases(
    ledger: Ledger,
) -> None:
    model = FakeModel(answer=first)
    question = ExtractionQuestion("opacity", "Possible opacity.")
    with pytest.raises(UnfitJudge):
        judge_of(ledger, model, has_trial=True).extract([question])
    assert model.calls == TRIAL_CALLS


@pytest.mark.parametrize(
    ("order", "calls", "reason"),
    [("one", 40, r"40 chose the sentence shown first, 1\.00 \[0\.91 to 1\.00\]"),
     ("both", 40, r"20 pairs it agreed with itself in 0\.00")],
)  # fmt: skip
def test_a_one_sided_judge_is_stopped_after_forty_answers_of_a_step(
    ledger: Ledger, order: Any, calls: int, reason: str
) -> None:
    model = FakeModel(answer=first)
    with pytest.raises(UnfitJudge, match=reason):
        judge_of(ledger, model, order=order).compare(pairs(500))
    assert model.calls == calls


def test_a_line_in_the_judges_file_lets_it_in(ledger: Ledger) -> None:
    judge = judge_of(ledger, FakeModel(answer=first), has_trial=True, let_in="a try")
    assert judge.compare(pairs(45)) == ["sentence_1"] * 45


def test_a_fixed_order_of_the_sentences_says_nothing_of_the_judge(
    ledger: Ledger,
) -> None:
    surer_first = [ComparisonQuestion(f"a {n + 9}", f"a {n}") for n in range(60)]
    judge = judge_of(ledger, FakeModel(answer=good), is_position_drawn=False)
    assert judge.compare(surer_first) == ["sentence_1"] * 60


def test_unequal_answers_in_both_orders_are_no_match(ledger: Ledger) -> None:
    judge = judge_of(ledger, FakeModel(answer=first), order="both", let_in="a try")
    assert judge.compare(pairs(10)) == ["invalid"] * 10


def test_fewer_than_half_of_forty_readable_answers_stop_a_step(ledger: Ledger) -> None:
    def seldom(request: Request, _: int) -> Reply:
        readable = draw("readable", request.user) < 0.2
        return reply("sentence_1" if readable else "I see two sentences.")

    model = FakeModel(answer=seldom)
    with pytest.raises(NothingReadable, match=r"of 40 answers \d+ can be read"):
        judge_of(ledger, model).compare(pairs(500))
    assert model.calls <= 5 * 40


def test_between_fit_and_unfit_a_person_is_warned() -> None:
    fit, doubtful, unfit = (False, False), (False, True), (True, True)
    for answers, expected in (
        (Progress("few", decided=39, first=39), fit),
        (Progress("even", decided=200, first=101), fit),
        (Progress("leaning", decided=200, first=140), doubtful),
        (Progress("one-sided", decided=200, first=10), unfit),
        (Progress("wavering", decided=200, first=100, pairs=100, agreed=70), doubtful),
        (Progress("contrary", decided=200, first=100, pairs=100, agreed=59), unfit),
    ):
        assert (bool(unfitness(answers)), bool(doubt(answers))) == expected


def test_local_models_are_asked_in_both_orders_unless_told_otherwise() -> None:
    local = {"provider": "transformers", "params": {"max_new_tokens": 9}}
    server = {"provider": "openai-compatible", "base_url": "http://localhost:1/v1"}
    hosted = {"provider": "openai"}
    orders = [
        LLMJudgeConfig.model_validate({"model": "m", **table}).order
        for table in (local, server, hosted, {**local, "order": "one"})
    ]
    assert orders == ["both", "both", "one", "one"]
