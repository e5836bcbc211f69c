"""Batches give what single calls give, at half the price, and nothing is sent or paid twice, whatever happens
in between.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from batch_judges import (
    WIRES,
    Hurried,
    Unhurried,
    by_the_rules,
    judge_of,
    once,
    pairs,
    patiently,
    row,
    sentences,
    slot_of,
)
from loopback import Call, LoopbackServer
from loopback_batches import BatchService, Fate

from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.judges.asking.round import JudgeIncomplete
from lunguage_assets.judges.batches.submissions import Submissions
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.ledger.attempts import TRIES
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings, open_judge
from lunguage_assets.judges.policy import WrongModel
from lunguage_assets.judges.protocol import (
    ask_panel,
    ask_to_compare,
    ask_to_extract,
)
from lunguage_assets.settings import ExplicitSettings

for _module in ("openai", "anthropic", "google.genai"):
    pytest.importorskip(_module, reason="needs the LLM SDKs: pip install 'lunguage-assets[llm]'")

PHRASES = ["likely", "may be", "possible", "suspected"]
every_wire = pytest.mark.parametrize("wire", WIRES)


# --- the same answers, for less


@every_wire
@pytest.mark.parametrize("mode", ["text", "enum"])
def test_batches_bring_the_answers_of_single_calls_at_half_the_price(
    wire: str, mode: str, server: LoopbackServer, tmp_path: Path
) -> None:
    service = BatchService(server)
    slot = slot_of(wire, server.url, mode=mode)
    asked = []
    for name, may_wait in (("single", False), ("batch", True)):
        ledger = Ledger.open(tmp_path / name)
        judge = judge_of(wire, server.url, ledger, slot=slot)
        answers = (
            ask_to_compare(judge, pairs(20), may_wait=may_wait),
            ask_to_extract(judge, sentences(6), may_wait=may_wait),
        )
        judge.close()
        asked.append(
            (answers, ledger.statistics().drop(columns=["first", "last", "cost_usd"]).to_dict("records"))
        )
        asked.append(ledger.statistics()["cost_usd"].sum())
    assert asked[0] == asked[2]
    assert asked[1] > 0
    assert asked[3] == pytest.approx(asked[1] / 2)
    assert sorted(len(batch.keys) for batch in service.batches) == [6, 20]
    assert len(server.calls) == 26


def test_a_second_run_sends_nothing_and_needs_no_provider(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server)
    judge = judge_of("anthropic", server.url, ledger)
    first = patiently(judge)
    judge.close()
    before = sum(service.operations.values())
    assert patiently(judge_of("anthropic", "http://127.0.0.1:1", ledger)) == first
    assert sum(service.operations.values()) == before


def test_rounds_of_a_fit_never_wait_for_a_batch(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server)
    judge = judge_of("openai", server.url, ledger)
    ask_to_compare(judge, pairs(5))
    ask_to_extract(judge, sentences(5))
    ask_panel([judge], [pairs(5, start=50)])
    judge.close()
    assert (service.batches, len(server.calls)) == ([], 15)


def test_rule_based_judges_answer_what_may_wait_as_always() -> None:
    judge = open_judge(
        "lexicon", load_judges(), Surroundings("credentialed", lambda: pytest.fail("needs no ledger"))
    )
    assert ask_to_compare(judge, pairs(3), may_wait=True) == ask_to_compare(judge, pairs(3))
    assert ask_to_extract(judge, sentences(3), may_wait=True) == ask_to_extract(judge, sentences(3))


def test_questions_are_spread_over_as_many_batches_as_the_limits_need(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    judge = judge_of("openai", server.url, ledger, questions=7)
    patiently(judge)
    assert sorted(len(batch.keys) for batch in service.batches) == [6, 7, 7]
    judge.close()
    smaller = judge_of("openai", server.url, ledger, megabytes=0.015)
    ask_to_compare(smaller, pairs(20, start=100), may_wait=True)
    smaller.close()
    sizes = [sum(len(call.prompt) for call in batch.calls.values()) for batch in service.batches[3:]]
    assert len(sizes) > 3
    assert max(sizes) < 15_000
    assert set(service.asked.values()) == {1}


def test_no_more_batches_are_out_at_a_time_than_allowed(server: LoopbackServer, ledger: Ledger) -> None:
    service, out = BatchService(server), list[int]()
    judge = judge_of("anthropic", server.url, ledger, questions=4, at_once=2)
    submissions, taken = Submissions(ledger), service.accepted

    def noting(*arguments: Any) -> Any:
        out.append(len(submissions.outstanding()))
        return taken(*arguments)

    service.accepted = noting  # type: ignore[method-assign]
    patiently(judge)
    judge.close()
    assert (len(out), max(out)) == (5, 2)


def test_the_table_of_matches_is_that_of_single_calls(server: LoopbackServer, tmp_path: Path) -> None:
    BatchService(server, fate=once("errored", 3), looks=0)
    examples = [[f"There is {phrase} <finding> in zone {n}." for n in range(4)] for phrase in PHRASES]
    vocabulary = pd.DataFrame({
        "phrase": PHRASES, "retained": True, "ruler": "own", "example_sentences": examples,
        "vocabulary_version": "v"
    })  # fmt: skip
    tables = []
    for name in ("single", "batch"):
        judge = judge_of("anthropic", server.url, Ledger.open(tmp_path / name))
        asked = Hurried(judge) if name == "single" else Unhurried(judge)
        tables.append(comparison_matches(vocabulary, asked, ExplicitSettings(repetitions=3)))
        judge.close()
    pd.testing.assert_frame_equal(*tables)
    assert len(tables[0]) == 18


# --- parts that fail


FATES: tuple[Fate, ...] = ("errored", "expired", "missing", "nonsense", "refusal", "empty", "odd")
REPLIES = ("nonsense", "refusal", "empty")
"""Fates that are paid for."""


@every_wire
def test_only_what_failed_or_could_not_be_read_is_sent_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    met = Counter[str]()
    fate = once(*FATES)

    def noting(call: Call, times: int) -> Fate:
        met[found := fate(call, times)] += 1
        return found

    service = BatchService(server, fate=noting, looks=0)
    judge = judge_of(wire, server.url, ledger)
    answers = patiently(judge, 40)
    judge.close()
    assert [answer.answer for answer in answers] == [answer.answer for answer in by_the_rules(40)]
    assert set(met) == {"answer", *FATES}, "every way to fail was met"
    first, second = service.batches
    assert set(second.keys) < set(first.keys)
    assert len(second.keys) == sum(met[fate] for fate in FATES)
    paid = sum(met[fate] for fate in REPLIES)
    counted = [row(ledger)[name] for name in ("valid", "invalid", "failures")]
    assert counted == [40, paid, len(second.keys) - paid]
    assert sum(answer.attempts - 1 for answer in answers) == paid


def test_an_answer_that_can_never_be_read_is_invalid_after_as_many_tries_as_in_single_calls(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, fate=lambda call, times: "nonsense", looks=0)
    judge = judge_of("anthropic", server.url, ledger)
    answers = patiently(judge, 3)
    judge.close()
    assert [(answer.valid, answer.attempts) for answer in answers] == [(False, TRIES)] * 3
    assert len(service.batches) == TRIES


@every_wire
def test_questions_that_the_provider_refuses_are_named_and_not_sent_again_in_this_run(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, fate=once("rejected"), looks=0)
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match="rejected") as caught:
        patiently(judge)
    assert len(service.batches) == 1
    assert 0 < caught.value.missing < caught.value.total == 20
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert len(service.batches[1].keys) == caught.value.missing


def test_what_fails_every_time_ends_after_a_few_rounds(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server, fate=lambda call, times: "errored", looks=0)
    judge = judge_of("anthropic", server.url, ledger, rounds=3)
    with pytest.raises(JudgeIncomplete, match=r"4 of 4 .* 3 batches"):
        patiently(judge, 4)
    judge.close()
    assert len(service.batches) == 3


@every_wire
def test_rows_that_come_twice_or_that_nobody_asked_for_change_nothing(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, twice=True, strangers=5)
    judge = judge_of(wire, server.url, ledger)
    assert patiently(judge) == by_the_rules()
    judge.close()
    assert row(ledger)["attempts"] == 20
    assert len(service.batches) == 1


@every_wire
def test_answers_of_another_model_are_recorded_and_not_used(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, fate=once("wrong_model"))
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(WrongModel, match="another-model-2031"):
        patiently(judge)
    judge.close()
    wrong = row(ledger)["invalid"]
    assert 0 < wrong < row(ledger)["attempts"] == 20
    listed = judge_of(
        wire, server.url, ledger, slot=slot_of(wire, server.url, aliases=("another-model-2031",))
    )
    assert all(answer.valid for answer in patiently(listed))
    listed.close()
    assert len(service.batches) == 1


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_results_that_were_cut_off_are_fetched_again_before_anything_is_sent_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, cut=2)
    judge = judge_of(wire, server.url, ledger)
    patiently(judge)
    judge.close()
    assert len(service.batches) == 1
    assert (row(ledger)["valid"], row(ledger)["attempts"]) == (20, 20)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_results_that_stay_broken_give_what_can_be_read_of_them(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, fate=once("garbage", 3))
    judge = judge_of(wire, server.url, ledger)
    patiently(judge)
    judge.close()
    first, second = service.batches
    assert 0 < len(second.keys) < len(first.keys)
    assert row(ledger)["valid"] == 20
    assert row(ledger)["unpriced"] == len(second.keys), "a row that cannot be read may have been billed"


def test_gemini_rows_without_their_keys_are_matched_by_their_order(
    server: LoopbackServer, ledger: Ledger
) -> None:
    BatchService(server, nameless=True)
    judge = judge_of("gemini", server.url, ledger)
    assert patiently(judge) == by_the_rules()
    judge.close()


def test_gemini_rows_that_cannot_be_matched_are_not_paid_for_again(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, nameless=True, twice=True)
    judge = judge_of("gemini", server.url, ledger)
    with pytest.raises(JudgeIncomplete, match="matched"):
        patiently(judge)
    judge.close()
    assert len(service.batches) == 1
    assert ledger.statistics().empty


# --- batches that fail as a whole


@every_wire
def test_an_expired_batch_gives_what_it_has_and_the_rest_is_sent_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, ends=("expired",))
    judge = judge_of(wire, server.url, ledger)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    first, second = service.batches
    assert 0 < len(second.keys) < len(first.keys)
    assert (row(ledger)["valid"], row(ledger)["failures"], row(ledger)["unpriced"]) == (
        20,
        len(second.keys),
        0,
    )


@every_wire
def test_a_cancelled_batch_gives_what_it_has_and_the_rest_waits_for_another_run(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, ends=("cancelled",))
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match=r"cancelled|rejected") as caught:
        patiently(judge)
    assert len(service.batches) == 1
    assert row(ledger)["valid"] == 20 - caught.value.missing > 0
    patiently(judge)
    judge.close()
    assert len(service.batches[1].keys) == caught.value.missing


@pytest.mark.parametrize("wire", ["openai", "gemini"])
def test_a_batch_that_the_provider_refuses_as_a_whole_is_not_tried_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, ends=("failed",))
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match="refused the batch") as caught:
        patiently(judge)
    assert ("token_limit_exceeded" in str(caught.value)) == (wire == "openai")
    assert "quotes" not in str(caught.value)
    assert (len(service.batches), len(ledger.statistics())) == (1, 0)
    patiently(judge)
    judge.close()
    assert len(service.batches) == 2


def test_one_batch_that_fails_does_not_lose_the_others(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server, ends=("completed", "cancelled", "completed"), looks=3)
    judge = judge_of("openai", server.url, ledger, questions=7)
    with pytest.raises(JudgeIncomplete) as caught:
        patiently(judge)
    judge.close()
    assert caught.value.missing < len(service.batches[1].keys) + 1
    assert row(ledger)["valid"] == 20 - caught.value.missing
