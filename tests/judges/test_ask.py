"""No answer is paid twice and none that was recorded is lost: not by failures, kills,
budgets or interruptions, and a replay asks nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from fake_model import CONFIG, FakeModel, label, question, questions, read_label, reply

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.judges.ask import Asker, JudgeIncomplete
from lunguage_assets.judges.budget import Budget, BudgetExceeded, estimated_input_tokens
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger import TRIES, Attempt, Ledger, moment
from lunguage_assets.judges.progress import Meter, Progress
from lunguage_assets.judges.requests import FailureKind, ProviderFailure, Reply, Request
from lunguage_assets.workspace.home import Home

PRICE = Price(input=1.0, output=10.0, as_of=date(2026, 1, 1))
COST = (40 * 1.0 + 4 * 10.0) / 1e6
WORST = (estimated_input_tokens(question(1)) * 1.0 + 10 * 10.0) / 1e6
SECRET = "the zebra-striped opacity"


def asked(
    requests: Sequence[Request], model: FakeModel, ledger: Ledger, **options: Any
) -> list[str | None]:
    limits = {"in_flight": 16, "backoff_s": 0.001, **options.pop("limits", {})}
    changes = {"price": options.pop("price", PRICE), "limits": Limits(**limits)}
    config = CONFIG.model_copy(update=changes)
    parse = options.pop("parse", read_label)
    asker = Asker("one", config, lambda: model, ledger, **options)
    return [settled.answer for settled in asker.ask(requests, parse)]


def always(
    result: Reply | ProviderFailure,
) -> Callable[[Request, int], Reply | ProviderFailure]:
    return lambda request, occurrence: result


def counts(ledger: Ledger) -> dict[str, Any]:
    return ledger.statistics().iloc[0].to_dict()


# --- asking, replaying


def test_with_one_call_in_five_failing_answers_are_paid_once_and_replayed(
    ledger: Ledger, tmp_path: Path
) -> None:
    requests = [*questions(150), question(1), question(1, replicate=1)]
    clean = asked(requests, FakeModel(), Ledger.open(tmp_path / "clean.sqlite"))
    troubled = FakeModel(0.2)
    meter = Meter()
    assert asked(requests, troubled, ledger, progress=meter.note) == clean
    row = counts(ledger)
    assert troubled.calls > 1.1 * 151
    assert troubled.most_in_flight == 16, "all that are allowed, and no more"
    assert (row["attempts"], row["valid"]) == (troubled.calls, 151)
    (seen,) = meter.values()
    assert (seen.questions, seen.settled, seen.calls) == (151, 151, troubled.calls)
    assert seen.failures == troubled.calls - 151
    replay = FakeModel(answer=always(ProviderFailure("authentication")))
    assert asked(requests, replay, ledger) == clean
    assert replay.calls == 0


def test_an_unreadable_or_withheld_answer_is_asked_for_again(ledger: Ledger) -> None:
    def third_time(request: Request, occurrence: int) -> Reply | None:
        replies = [reply("I would rather say neither."), reply(""), None]
        return replies[occurrence - 1]

    answers = asked([question(1)], FakeModel(answer=third_time), ledger)
    assert answers == [label(question(1))]
    assert (counts(ledger)["attempts"], counts(ledger)["invalid"]) == (3, 2)


def test_after_five_unreadable_answers_a_question_is_invalid_for_good(
    ledger: Ledger,
) -> None:
    model = FakeModel(answer=always(reply("hmm")))
    for _ in range(2):
        assert asked([question(1)], model, ledger) == [None]
        assert model.calls == TRIES


# --- failing for good


def test_only_requests_that_failed_for_good_are_asked_again(ledger: Ledger) -> None:
    lost = {CONFIG.key_of(request) for request in questions(100)[::10]}

    def rejects(request: Request, occurrence: int) -> ProviderFailure | None:
        is_lost = CONFIG.key_of(request) in lost
        return ProviderFailure("rejected", 400) if is_lost else None

    message = r"10 of 100 questions.*\(10 x rejected \(HTTP 400\)"
    with pytest.raises(JudgeIncomplete, match=message):
        asked(questions(100), FakeModel(answer=rejects), ledger)
    again = FakeModel()
    assert None not in asked(questions(100), again, ledger)
    assert again.sent == Counter(lost)


@pytest.mark.parametrize(
    ("failure", "most"),
    [("authentication", 16), ("server", 64), ("rejected", 40), ("connection", 64)],
)
def test_a_judge_that_fails_altogether_is_stopped_soon(
    ledger: Ledger, failure: FailureKind, most: int
) -> None:
    model = FakeModel(answer=always(ProviderFailure(failure)))
    limits = {"failures_per_request": 3 if failure == "server" else 10}
    with pytest.raises(JudgeIncomplete, match=rf"200 of 200.*its service.*{failure}"):
        asked(questions(200), model, ledger, limits=limits)
    assert 0 < model.calls <= most


def test_neither_a_foreign_exception_nor_any_message_shows_the_prompt(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    def bursts(request: Request, occurrence: int) -> Reply:
        raise ValueError(f"request was {request.user}")

    secret = question(1, system=SECRET, user=SECRET)
    with pytest.raises(MethodError, match="ValueError") as caught:
        asked([secret], FakeModel(answer=bursts), ledger)
    assert SECRET not in str(caught.value) + caplog.text + repr(secret)
    assert caught.value.__cause__ is None


# --- money


def test_a_budget_stops_and_a_higher_one_goes_on(ledger: Ledger) -> None:
    budget = Budget(COST * 20 + WORST)
    model = FakeModel(latency=0.002)
    message = r"'one': \d+ of 100 questions of this .*flight add \$0\.0\d+ at most"
    with pytest.raises(BudgetExceeded, match=message):
        asked(questions(100), model, ledger, budget=budget)
    # What is in flight when the money is gone passes it, by as much as was said.
    assert budget.spent_usd <= COST * 20 + WORST * 16
    assert 20 <= model.calls == counts(ledger)["valid"] <= 37
    second_model = FakeModel()
    assert None not in asked(questions(100), second_model, ledger, budget=Budget(1.0))
    assert second_model.calls == 100 - model.calls
    assert not set(second_model.sent) & set(model.sent)


def test_what_others_have_spent_today_counts(ledger: Ledger) -> None:
    for hours, cost_usd in ((25, 100.0), (23, 0.75)):
        time = moment(datetime.now(UTC) - timedelta(hours=hours))
        spent = Attempt("k", "j", "compare", "m", cost_usd=cost_usd, time=time)
        ledger.record(spent)
    model = FakeModel()
    budget = Budget(None, 0.75 + 20 * COST + WORST)
    limits = {"in_flight": 2}
    with pytest.raises(BudgetExceeded, match=r"daily budget of \$0\.75.*24 hours"):
        asked(questions(100), model, ledger, budget=budget, limits=limits)
    assert 20 <= model.calls <= 23


def test_a_call_of_unknown_cost_counts_at_its_worst(ledger: Ledger) -> None:
    silent = reply("sentence_1", input_tokens=0, output_tokens=0)
    limits = {"in_flight": 1, "failures_per_request": 20}
    for result in (silent, ProviderFailure("malformed")):
        budget = Budget(WORST * 10.5)
        model = FakeModel(answer=always(result))
        with pytest.raises(BudgetExceeded):
            asked(questions(100), model, ledger, budget=budget, limits=limits)
        assert model.calls == 10
        assert budget.spent_usd == pytest.approx(10 * WORST)


def test_a_call_that_was_never_sent_costs_nothing(ledger: Ledger) -> None:
    class NotConfigured(FakeModel):
        async def answer(self, request: Request) -> Reply:
            raise ConfigurationError("no key")

    budget = Budget(1.0)
    with pytest.raises(ConfigurationError, match="no key"):
        asked(questions(100), NotConfigured(), ledger, budget=budget)
    assert budget.spent_usd == 0.0
    assert ledger.statistics().empty


@pytest.mark.parametrize("budget", [Budget(100.0), Budget(None, 5.0)])
def test_without_a_price_a_budget_refuses_before_any_call(
    ledger: Ledger, budget: Budget
) -> None:
    model = FakeModel()
    with pytest.raises(BudgetExceeded, match="no price"):
        asked(questions(9), model, ledger, budget=budget, price=None)
    assert model.calls == 0


def test_a_deployment_sets_the_daily_budget_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUNGUAGE_DAILY_BUDGET", "2")
    first, again = (Configuration(Home(tmp_path)).judge_context() for _ in range(2))
    assert first.budget.daily_usd == 2.0
    assert first.budget is again.budget, "one for all judges of the process"


# --- places and pauses


def test_a_pause_that_a_service_asks_for_holds_for_all_calls(ledger: Ledger) -> None:
    sent_at: list[float] = []

    def busy_once(request: Request, occurrence: int) -> ProviderFailure | None:
        sent_at.append(time.monotonic())
        is_first = len(sent_at) == 1
        return ProviderFailure("rate_limited", 429, 0.3) if is_first else None

    model = FakeModel(answer=busy_once)
    assert None not in asked(questions(20), model, ledger, limits={"in_flight": 4})
    assert min(sent_at[4:]) - sent_at[0] >= 0.3


def test_concurrency_falls_where_answers_time_out_before_questions_fail(
    ledger: Ledger,
) -> None:
    class OnePlace(FakeModel):
        """Answers one call at a time; whoever waits for it is timed out."""

        async def answer(self, request: Request) -> Reply:
            if self.in_flight:
                await asyncio.sleep(0.02)
                self.sent["timed out"] += 1
                raise ProviderFailure("timeout")
            return await super().answer(request)

    model = OnePlace(latency=0.01)
    limits = {"in_flight": 8, "failures_per_request": 4}
    assert None not in asked(questions(30), model, ledger, limits=limits)
    assert model.sent["timed out"] < 60


# --- interruption


def _ask_fake(ledger_file: Path, log: Path, has_recorded: Event) -> None:
    model = FakeModel(0.1, latency=0.02, log=log)
    limits = Limits(in_flight=16, backoff_s=0.001)
    config = CONFIG.model_copy(update={"limits": limits})
    meter = Meter()

    def note(progress: Progress) -> None:
        meter.note(progress)
        if meter["one"].calls > 60:
            has_recorded.set()

    ledger = Ledger.open(ledger_file)
    asker = Asker("one", config, lambda: model, ledger, progress=note)
    asker.ask(questions(300), read_label)


@pytest.mark.parametrize("sent_signal", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_ended_resumes_without_asking_again_what_was_recorded(
    tmp_path: Path, sent_signal: signal.Signals
) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    log = tmp_path / "sent"
    context = multiprocessing.get_context("fork")
    has_recorded = context.Event()
    run = context.Process(target=_ask_fake, args=(ledger_file, log, has_recorded))
    run.start()
    assert has_recorded.wait(600)
    assert run.pid is not None
    os.kill(run.pid, sent_signal)
    run.join(600)
    sent = Counter(log.read_text().split())
    ledger = Ledger.open(ledger_file)
    before = ledger.settled(list(sent))
    unanswered = sent.total() - counts(ledger)["attempts"]
    # A kill loses the answers in flight; a person who interrupts loses none.
    assert 0 <= unanswered <= (16 if sent_signal == signal.SIGKILL else 0)
    resumed = FakeModel(0.1)
    settled = asked(questions(300), resumed, ledger)
    assert settled == [label(request) for request in questions(300)]
    assert not set(resumed.sent) & set(before)
    assert counts(ledger)["valid"] == 300
