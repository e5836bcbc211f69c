"""Kills, interruptions and several processes at once: what is out is collected, and nobody sends it again."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import batch_run
import pytest
from batch_judges import LEASE_S, WIRES, by_the_rules, judge_of, pairs, patiently, row
from forked import forked
from loopback import LoopbackServer
from loopback_batches import BatchService

from lunguage_assets.judges.asking.round import JudgeIncomplete
from lunguage_assets.judges.batches.submissions import Submission, Submissions
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger, LedgerError
from lunguage_assets.judges.model_judge import choice_of
from lunguage_assets.judges.protocol import (
    ask_to_compare,
)

for _module in ("openai", "anthropic", "google.genai"):
    pytest.importorskip(_module, reason="needs the LLM SDKs: pip install 'lunguage-assets[llm]'")

every_wire = pytest.mark.parametrize("wire", WIRES)


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_killed_while_its_batch_is_out_is_resumed_without_sending_anything(
    place: str, server: LoopbackServer
) -> None:
    service = BatchService(server)
    service.held = True
    killed = forked(batch_run.answers, place, server.url, "openai", 20)
    ledger = Ledger.open(place)
    until(lambda: any(submission.handle for submission in Submissions(ledger).outstanding()))
    killed.signal(signal.SIGKILL)
    service.held = False
    judge = judge_of("openai", server.url, ledger)
    assert patiently(judge) == by_the_rules()
    judge.close()
    assert len(service.batches) == 1
    assert (row(ledger)["valid"], row(ledger)["attempts"], service.answered) == (20, 20, 20)


def stopped(method: str, wire: str, server: LoopbackServer, ledger: Ledger, *, after: bool) -> None:
    """A run whose ledger fails for good in this method of `Submissions`, before or after it does its work:
    what is left is what a kill leaves.
    """
    works = getattr(Submissions, method)

    def fails(*arguments: Any, **options: Any) -> None:
        if after:
            works(*arguments, **options)
        raise LedgerError("the ledger is gone")

    judge = judge_of(wire, server.url, ledger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Submissions, method, fails)
        with pytest.raises(LedgerError, match="gone"):
            patiently(judge)
    judge.close()


@every_wire
def test_a_batch_that_the_provider_took_and_the_ledger_could_not_note_is_found_and_not_sent_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    stopped("submitted", wire, server, ledger, after=False)
    assert [submission.state for submission in Submissions(ledger).outstanding()] == ["intended"]
    judge = judge_of(wire, server.url, ledger)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert len(service.batches) == 1
    assert row(ledger)["attempts"] == 20
    assert service.deleted == [], "whoever else may have sent it can still collect it"


def test_a_run_killed_after_the_provider_took_the_batch_and_before_it_was_noted_sends_nothing_again(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    process = forked(batch_run.dies_when_sent, ledger.place, server.url, "anthropic", 20).process
    process.join(60)
    assert (process.exitcode, len(service.batches)) == (-signal.SIGKILL, 1)
    judge = judge_of("anthropic", server.url, ledger)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert len(service.batches) == 1
    assert row(ledger)["attempts"] == 20


@every_wire
def test_a_batch_that_was_intended_and_never_sent_is_sent_by_the_next_run(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    stopped("claim", wire, server, ledger, after=True)
    assert ([submission.state for submission in Submissions(ledger).outstanding()], service.batches) == (
        ["intended"],
        [],
    )
    judge = judge_of(wire, server.url, ledger)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert [len(batch.keys) for batch in service.batches] == [20]


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "deleted"])
def test_anothers_batch_of_the_same_size_is_not_taken_for_ours_for_good(
    kept: bool, server: LoopbackServer, ledger: Ledger, tmp_path: Path
) -> None:
    service = BatchService(server)
    service.fail("delete", *[500] * 2 * kept)
    stopped("claim", "anthropic", server, ledger, after=True)
    service.held = True
    with ThreadPoolExecutor(2) as pool:
        other = judge_of("anthropic", server.url, Ledger.open(tmp_path / "other"))
        theirs = pool.submit(ask_to_compare, other, pairs(20, start=500), may_wait=True)
        until(lambda: len(service.batches) == 1)
        judge = judge_of("anthropic", server.url, ledger)
        ours = pool.submit(patiently, judge)
        until(lambda: any(submission.found for submission in Submissions(ledger).outstanding()))
        service.held = False
        assert all(answer.valid for answer in ours.result(30) + theirs.result(30))
    judge.close()
    other.close()
    assert [len(batch.keys) for batch in service.batches] == [20, 20]
    assert set(service.asked.values()) == {1}
    assert row(ledger)["attempts"] == 20


def test_an_interrupted_run_says_that_its_batch_is_out_and_the_next_one_collects_it(
    server: LoopbackServer, ledger: Ledger, tmp_path: Path
) -> None:
    service = BatchService(server)
    service.held = True
    run = forked(batch_run.answers, ledger.place, server.url, "anthropic", 20, errors=tmp_path / "errors.txt")
    until(lambda: any(submission.handle for submission in Submissions(ledger).outstanding()))
    run.signal(signal.SIGINT)
    run.process.join(20)
    assert run.process.exitcode
    said = (tmp_path / "errors.txt").read_text()
    assert (
        "20 questions are still out with anthropic (batches: 1). Run again to collect their answers" in said
    )
    assert "<finding>" not in said
    service.held = False
    judge = judge_of("anthropic", server.url, ledger)
    patiently(judge)
    judge.close()
    assert len(service.batches) == 1


def test_two_processes_with_the_same_questions_send_them_once(place: str, server: LoopbackServer) -> None:
    service = BatchService(server, looks=4)
    runs = [forked(batch_run.answers, place, server.url, "openai", 30) for _ in range(2)]
    assert runs[0].told() == runs[1].told() == [answer.answer for answer in by_the_rules(30)]
    assert set(service.asked.values()) == {1}
    assert len(service.asked) == 30
    assert row(Ledger.open(place))["attempts"] == 30


def test_a_batch_that_another_process_takes_long_to_send_is_left_to_it(
    place: str, server: LoopbackServer
) -> None:
    service = BatchService(server)
    service.slow = 5 * LEASE_S
    judges = [judge_of("openai", server.url, Ledger.open(place)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(patiently, judges[0])
        until(lambda: Submissions(Ledger.open(place)).outstanding() != [])
        second = pool.submit(patiently, judges[1])
        assert first.result(30) == second.result(30)
    for judge in judges:
        judge.close()
    assert len(service.batches) == 1


def test_overlapping_questions_are_sent_by_whoever_comes_first(place: str, server: LoopbackServer) -> None:
    service = BatchService(server)
    service.held = True
    judges = [judge_of("anthropic", server.url, Ledger.open(place)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask_to_compare, judges[0], pairs(20), may_wait=True)
        until(lambda: len(service.batches) == 1)
        second = pool.submit(ask_to_compare, judges[1], pairs(20, start=10), may_wait=True)
        until(lambda: len(service.batches) == 2)
        service.held = False
        assert first.result(30)[10:] == second.result(30)[:10]
    for judge in judges:
        judge.close()
    assert [len(batch.keys) for batch in service.batches] == [20, 10]
    assert row(Ledger.open(place))["attempts"] == 30


def test_answers_to_questions_that_nobody_asks_any_more_are_kept(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    stopped("submitted", "anthropic", server, ledger, after=False)
    judge = judge_of("anthropic", server.url, ledger)
    ask_to_compare(judge, pairs(5), may_wait=True)
    assert row(ledger)["valid"] == 20
    before = len(server.arrivals)
    patiently(judge)
    judge.close()
    assert (len(service.batches), len(server.arrivals)) == (1, before)


def test_one_batch_collected_into_two_copies_of_a_ledger_is_one_set_of_answers(
    server: LoopbackServer, tmp_path: Path
) -> None:
    service = BatchService(server)
    service.fail("look", 403)
    first = Ledger.open(tmp_path / "one.sqlite")
    judge = judge_of("anthropic", server.url, first)
    with pytest.raises(JudgeIncomplete, match="looked at"):
        patiently(judge)
    first.close()
    with sqlite3.connect(tmp_path / "one.sqlite") as here, sqlite3.connect(tmp_path / "two.sqlite") as there:
        here.backup(there)
    service.fail("delete", 500)
    answers = patiently(judge)
    judge.close()
    second = Ledger.open(tmp_path / "two.sqlite")
    judge = judge_of("anthropic", server.url, second)
    assert patiently(judge) == answers
    judge.close()
    second.export(tmp_path / "two.parquet")
    assert first.import_(tmp_path / "two.parquet", {"compare": choice_of}) == (0, 20, [])
    assert len(service.batches) == 1


def test_of_many_who_claim_the_same_questions_one_gets_each(place: str) -> None:
    keys = [f"{number:064x}" for number in range(700)]
    answered = "f" * 64
    Ledger.open(place).record(
        Attempt(answered, "one", "compare", "m", answer="sentence_1", returned_model="m")
    )

    def claim(number: int) -> list[str]:
        submissions = Submissions(Ledger.open(place))
        wanted = [answered, *keys[number * 50 : number * 50 + 350]]
        return submissions.claim(Submission("one", "compare", "openai", "m", owner=str(number)), wanted)

    with ThreadPoolExecutor(8) as pool:
        claimed = [key for keys_of_one in pool.map(claim, range(8)) for key in keys_of_one]
    assert sorted(claimed) == keys
    submissions = Submissions(Ledger.open(place))
    assert submissions.waiting(keys) == set(keys)
    for submission in submissions.outstanding():
        assert submissions.finish(submission.name, "void")
        assert not submissions.finish(submission.name, "collected")
    assert submissions.waiting(keys) == set()
