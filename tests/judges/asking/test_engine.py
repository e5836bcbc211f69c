"""No answer is paid twice and none is lost: not by failures, crashes, budgets or
interruptions, and a replay asks nothing.
"""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fake_model import BINDING, FakeModel, label, question, questions, read_label, reply
from forked import Forked, forked
from sdk_run import ask_fake

from lunguage_assets.errors import MethodError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.asking.limits import (
    Budget,
    BudgetExceeded,
    estimated_input_tokens,
)
from lunguage_assets.judges.asking.model_call import WrongModel
from lunguage_assets.judges.asking.progress import Meter
from lunguage_assets.judges.asking.request_batch import JudgeIncomplete
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger.attempts import (
    TRIES,
    request_key,
)
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_location import LedgerError
from lunguage_assets.judges.ledger.transfer import export_attempts
from lunguage_assets.judges.requests import FailureKind, ProviderFailure, Reply, Request

PRICE = Price(input=1.0, output=10.0, as_of=date(2026, 1, 1))
COST = (40 * 1.0 + 4 * 10.0) / 1e6
WORST = (estimated_input_tokens(question(1).prompt) * 1.0 + 10 * 10.0) / 1e6
SECRET = "the zebra-striped opacity"


def asked(
    requests: Sequence[Request], model: FakeModel, ledger: Ledger, **options: Any
) -> list[str | None]:
    limits = Limits(
        **{"in_flight": 16, "backoff_s": 0.001, **options.pop("limits", {})}
    )
    parse = options.pop("parse", read_label)
    return Asker("one", model, ledger, limits, **{"price": PRICE, **options}).ask(
        requests, parse
    )


def always(
    result: Reply | ProviderFailure,
) -> Callable[[Request, int], Reply | ProviderFailure]:
    return lambda request, occurrence: result


def counts(ledger: Ledger) -> dict[str, Any]:
    return ledger.statistics().iloc[0].to_dict()


# --- asking, replaying


def test_a_replay_makes_no_call_and_gives_the_same(ledger: Ledger) -> None:
    first = asked(questions(100), FakeModel(0.2), ledger)
    replay = FakeModel(answer=always(ProviderFailure("authentication")))
    assert asked(questions(100), replay, ledger) == first
    assert replay.calls == 0


def test_identical_requests_are_asked_once_and_replicates_each(ledger: Ledger) -> None:
    model = FakeModel()
    settled = asked(
        [question(1), question(2), question(1), question(1, replicate=1)], model, ledger
    )
    assert model.calls == 3
    assert settled[0] == settled[2]


def test_with_one_call_in_five_failing_answers_are_paid_once(
    ledger: Ledger, tmp_path: Path
) -> None:
    requests = questions(200)
    clean = asked(requests, FakeModel(), Ledger.open(tmp_path / "clean.sqlite"))
    troubled = FakeModel(0.2)
    assert asked(requests, troubled, ledger) == clean
    row = counts(ledger)
    assert troubled.calls > 1.1 * len(requests)
    assert troubled.most_in_flight == 16, "all that are allowed, and no more"
    assert (row["attempts"], row["valid"]) == (troubled.calls, troubled.replies)
    assert row["valid"] == len(requests)
    assert row["cost_usd"] == pytest.approx(COST * len(requests))


def test_an_unreadable_or_refused_answer_is_asked_for_again(ledger: Ledger) -> None:
    def third_time(request: Request, occurrence: int) -> Reply | None:
        return [reply("I would rather say neither."), reply("", refused=True), None][
            occurrence - 1
        ]

    assert asked([question(1)], FakeModel(answer=third_time), ledger) == [
        label(question(1))
    ]
    assert (counts(ledger)["attempts"], counts(ledger)["invalid"]) == (3, 2)


def test_after_five_unreadable_answers_a_question_is_invalid_for_good(
    ledger: Ledger,
) -> None:
    model = FakeModel(answer=always(reply("hmm")))
    for _ in range(2):
        assert asked([question(1)], model, ledger) == [None]
        assert model.calls == TRIES


def test_progress_counts_what_happens(ledger: Ledger) -> None:
    asked(questions(10), FakeModel(), ledger)
    meter = Meter()
    model = FakeModel(0.3)
    asked(questions(50), model, ledger, progress=meter.note)
    (seen,) = meter.totals()
    assert (seen.questions, seen.hits, seen.settled) == (50, 10, 50)
    assert (seen.calls, seen.retried, seen.failures) == (
        model.calls,
        model.calls - 40,
        0,
    )
    assert (seen.input_tokens, seen.output_tokens, seen.cost_usd) == (
        1600,
        160,
        pytest.approx(40 * COST),
    )


# --- failing for good


def test_only_requests_that_failed_for_good_are_asked_again(
    ledger: Ledger,
) -> None:
    lost = {request_key(BINDING, request) for request in questions(100)[::10]}

    def rejects(request: Request, occurrence: int) -> ProviderFailure | None:
        return (
            ProviderFailure("rejected", 400)
            if request_key(BINDING, request) in lost
            else None
        )

    with pytest.raises(
        JudgeIncomplete, match=r"10 of 100 questions.*\(10 x rejected \(HTTP 400\)\)"
    ):
        asked(questions(100), FakeModel(answer=rejects), ledger)
    again = FakeModel()
    assert None not in asked(questions(100), again, ledger)
    assert again.sent == Counter(lost)


@pytest.mark.parametrize(
    ("failure", "most"), [("authentication", 16), ("overloaded", 128), ("rejected", 32)]
)
def test_a_judge_that_fails_altogether_is_stopped_soon(
    ledger: Ledger, failure: FailureKind, most: int
) -> None:
    model = FakeModel(answer=always(ProviderFailure(failure)))
    with pytest.raises(JudgeIncomplete, match="200 of 200"):
        asked(questions(200), model, ledger, limits={"failures_per_request": 3})
    assert 0 < model.calls <= most


def test_after_the_deadline_nothing_is_sent(ledger: Ledger) -> None:
    limits = {"deadline_s": 0.3, "requests_per_minute": 60, "in_flight": 1}
    model = FakeModel()
    with pytest.raises(JudgeIncomplete, match=r"deadline of 0\.3 s"):
        asked(questions(200), model, ledger, limits=limits)
    assert counts(ledger)["valid"] == model.calls <= 60


def test_another_models_answer_is_recorded_unused_and_stops_the_judge(
    ledger: Ledger,
) -> None:
    model = FakeModel(answer=always(reply("sentence_1", returned_model="fake-2")))
    with pytest.raises(
        WrongModel, match="'fake-1' was requested and 'fake-2' answered"
    ):
        asked(questions(100), model, ledger)
    assert model.calls <= 16
    assert (counts(ledger)["valid"], counts(ledger)["invalid"]) == (0, model.calls)
    assert None not in asked(questions(100), FakeModel(), ledger)


def test_a_listed_alias_is_the_requested_model(ledger: Ledger) -> None:
    model = FakeModel(
        answer=always(reply("sentence_1", returned_model="fake-1-2026-01-01"))
    )
    model.binding = replace(model.binding, aliases=("fake-1-2026-01-01",))
    assert asked(questions(1), model, ledger) == ["sentence_1"]


@pytest.mark.parametrize("name", ["fake-1-2026-02-02", "fake-10", "FAKE-1", ""])
def test_every_other_name_is_another_model(ledger: Ledger, name: str) -> None:
    with pytest.raises(WrongModel, match=f"{name!r} answered"):
        asked(
            questions(1),
            FakeModel(answer=always(reply("sentence_1", returned_model=name))),
            ledger,
        )


@pytest.mark.parametrize(
    "name",
    [f"You asked: {SECRET}", "x\x1b[31m", "There is a nodule.", "x" * 200, "\u200b"],
)
def test_the_name_of_a_broken_service_is_neither_shown_nor_stored(
    ledger: Ledger, tmp_path: Path, name: str
) -> None:
    with pytest.raises(WrongModel) as caught:
        asked(
            questions(1),
            FakeModel(answer=always(reply("sentence_1", returned_model=name))),
            ledger,
        )
    export_attempts(ledger, tmp_path / "all.sqlite")
    assert name not in str(caught.value)
    stored = (tmp_path / "all.sqlite").read_bytes()
    assert name.encode() not in stored
    assert b"sentence_1" in stored


def test_a_reply_without_token_counts_costs_a_budget_its_worst_case(
    ledger: Ledger,
) -> None:
    budget = Budget(WORST * 10.5)
    silent = FakeModel(
        answer=always(
            reply("sentence_1", input_tokens=0, output_tokens=0, metered=False)
        )
    )
    with pytest.raises(BudgetExceeded):
        asked(questions(100), silent, ledger, budget=budget)
    assert silent.calls == 10
    assert (
        counts(ledger)["valid"],
        counts(ledger)["unpriced"],
        counts(ledger)["cost_usd"],
    ) == (10, 10, 0.0)
    assert budget.spent_usd == pytest.approx(10 * WORST)


def test_a_ledger_that_cannot_record_stops_the_run(
    ledger: Ledger,
) -> None:
    def break_ledger(request: Request, occurrence: int) -> None:
        with sqlite3.connect(ledger.location) as broken:
            broken.execute("DROP TABLE IF EXISTS judge_attempts")

    model = FakeModel(answer=break_ledger)
    meter = Meter()
    with pytest.raises(LedgerError, match=r"cannot be used \(OperationalError\)"):
        asked(questions(100), model, ledger, progress=meter.note)
    assert model.calls <= 16
    assert [total.settled for total in meter.totals()] == [0]


def test_neither_a_foreign_exception_nor_any_message_shows_the_prompt(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    def bursts(request: Request, occurrence: int) -> Reply:
        raise ValueError(f"request was {request.prompt.user}")

    secret = question(1, prompt=type(question(1).prompt)(SECRET, SECRET, "v1"))
    with pytest.raises(MethodError, match="ValueError") as caught:
        asked([secret], FakeModel(answer=bursts), ledger)
    assert SECRET not in str(caught.value) + caplog.text + repr(secret)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert counts(ledger)["failures"] == 1


def test_a_recorded_answer_that_cannot_be_read_is_not_paid_again(
    ledger: Ledger,
) -> None:
    asked([question(1)], FakeModel(), ledger)
    model = FakeModel()
    with pytest.raises(MethodError, match="version"):
        asked([question(1)], model, ledger, parse=lambda text: None)
    assert model.calls == 0


# --- money


def test_a_budget_stops_before_passing_and_a_higher_one_goes_on(
    ledger: Ledger,
) -> None:
    budget = Budget(COST * 20 + WORST)
    model = FakeModel()
    with pytest.raises(
        BudgetExceeded,
        match=r"higher budget.*of 100 questions of judge 'one' have no answer yet",
    ):
        asked(questions(100), model, ledger, budget=budget)
    assert budget.spent_usd <= budget.ceiling_usd
    assert (
        model.calls == counts(ledger)["valid"] == pytest.approx(budget.spent_usd / COST)
    )
    assert model.calls in (20, 21)
    second_model = FakeModel()
    assert None not in asked(questions(100), second_model, ledger, budget=Budget(1.0))
    assert second_model.calls == 100 - model.calls
    assert not set(second_model.sent) & set(model.sent)


# --- interruption


def test_interrupting_one_keeps_what_it_was_answered_and_leaves_the_others_alone(
    ledger: Ledger,
) -> None:
    slow = FakeModel(latency=0.05)
    interrupted = Asker("one", slow, ledger, Limits(in_flight=4))
    ended: list[str] = []

    def work() -> None:
        try:
            interrupted.ask(questions(500), read_label)
        except CancelledError:
            ended.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    while slow.calls < 4:
        time.sleep(0.005)
    interrupted.interrupt()
    thread.join(20)
    assert ended == ["cancelled"]
    assert int(ledger.statistics()["valid"].sum()) == slow.calls < 500
    assert len(asked(questions(20), FakeModel(), ledger)) == 20


def begun(
    ledger_file: Path, log: Path, count: int, in_flight: int, sent: int
) -> Forked:
    """A process that has sent so many of its calls."""
    run = forked(ask_fake, ledger_file, log, count, in_flight)
    deadline = time.monotonic() + 60
    while (
        not (log.exists() and log.stat().st_size > 65 * sent)
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    assert run.process.is_alive(), "it should still be running"
    return run


def test_ctrl_c_records_the_calls_in_flight_and_ends_promptly(tmp_path: Path) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    log = tmp_path / "sent"
    run = begun(ledger_file, log, 4000, 16, 20)
    run.signal(signal.SIGINT)
    run.process.join(60)
    assert run.process.exitcode == 1
    sent = len(log.read_text().split())
    assert 20 <= sent < 4000
    row = counts(Ledger.open(ledger_file))
    assert (row["attempts"], row["lost"], Ledger.open(ledger_file).in_flight()) == (
        sent,
        0,
        0,
    )


def test_a_killed_run_resumes_without_asking_again_what_was_recorded(
    tmp_path: Path,
) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    log = tmp_path / "sent"
    count = 300
    in_flight = 32
    begun(ledger_file, log, count, in_flight, 100).signal(signal.SIGKILL)
    sent = Counter(log.read_text().split())
    assert 100 <= sent.total() < count
    ledger = Ledger.open(ledger_file)
    before = ledger.answers(list(sent))
    unanswered = sent.total() - counts(ledger)["attempts"]
    assert 0 <= unanswered <= in_flight
    resumed = FakeModel(0.1)
    settled = asked(questions(count), resumed, ledger)
    assert settled == [label(request) for request in questions(count)]
    assert not set(resumed.sent) & set(before)
    assert counts(ledger)["valid"] == count
    assert unanswered <= counts(ledger)["lost"] <= in_flight, (
        "claimed, and perhaps not sent yet"
    )
    assert (
        counts(ledger)["attempts"]
        == sent.total() - unanswered + counts(ledger)["lost"] + resumed.calls
    )
