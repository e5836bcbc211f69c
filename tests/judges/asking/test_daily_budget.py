"""The daily budget: one ceiling for all processes that share a ledger, beside the ceiling of each run.

That several processes together keep to it is in `test_several_processes.py`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from fake_model import FakeModel, question, questions, read_label, reply

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.judges.asking.budget import Budget, BudgetExceeded, estimated_input_tokens
from lunguage_assets.judges.asking.engine import Asking, ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.ledger.attempts import Attempt, moment
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.requests import ProviderFailure
from lunguage_assets.judges.slots import Limits, Price
from lunguage_assets.orchestration import resources
from lunguage_assets.orchestration.resources import VARIABLES, HomeResource

PRICE = Price(input=1.0, output=10.0, as_of=date(2026, 1, 1))
COST = (40 * 1.0 + 4 * 10.0) / 1e6
WORST = (estimated_input_tokens(question(1).prompt) * 1.0 + 10 * 10.0) / 1e6


def ask_all(ledger: Ledger, model: FakeModel, budget: Budget, count: int = 100) -> None:
    limiter = Limiter(Limits(in_flight=4, backoff_s=0.001))
    asyncio.run(ask(questions(count), model, Asking("one", ledger, limiter, budget, PRICE), read_label))


def recorded(ledger: Ledger, hours: float, cost_usd: float) -> None:
    time = moment(datetime.now(UTC) - timedelta(hours=hours))
    ledger.record(Attempt("k" * 64, "j", "compare", "m", "A", cost_usd=cost_usd, time=time))


def test_what_others_have_spent_today_counts_and_what_is_left_is_spent(ledger: Ledger) -> None:
    recorded(ledger, 25, 100.0)
    recorded(ledger, 23, 0.75)
    model = FakeModel()
    with pytest.raises(
        BudgetExceeded, match=r"daily budget of \$0.75.*24 hours.*LUNGUAGE_DAILY_BUDGET.*of 100"
    ):
        ask_all(ledger, model, Budget(None, 0.75 + 20 * COST + WORST))
    assert model.calls in (20, 21)
    spent = ledger.statistics()["cost_usd"].sum()
    assert spent <= 100.75 + 20 * COST + WORST


def test_the_ceiling_of_the_run_holds_beside_it(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="spent in this run"):
        ask_all(ledger, FakeModel(), Budget(COST * 5 + WORST, 1.0))
    recorded(ledger, 1, 0.999)
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(ledger, FakeModel(), Budget(1.0, 1.0))


def test_a_call_that_broke_and_may_be_billed_counts_at_its_worst_for_everybody(ledger: Ledger) -> None:
    def breaks(*_: object) -> ProviderFailure:
        return ProviderFailure("connection")

    day = WORST * 10.5
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(ledger, FakeModel(answer=breaks), Budget(None, day))
    model = FakeModel()
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(Ledger.open(ledger.place), model, Budget(None, day))
    assert model.calls == 0


def test_without_a_price_a_daily_budget_refuses_before_any_call(ledger: Ledger) -> None:
    model = FakeModel(answer=lambda *_: reply("sentence_1"))
    asking = Asking("one", ledger, Limiter(), Budget(None, 5.0))
    with pytest.raises(BudgetExceeded, match="no price"):
        asyncio.run(ask(questions(3), model, asking, read_label))
    assert model.calls == 0


def test_a_deployment_sets_it_by_a_variable_and_a_wrong_value_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    given: list[Budget | None] = []
    honest = resources.open_judge

    def noting(key: str, configuration: JudgesConfiguration, surroundings: Surroundings) -> Judge:
        given.append(surroundings.budget)
        return honest(key, configuration, surroundings)

    monkeypatch.setattr(resources, "open_judge", noting)
    HomeResource.from_environment(Home(tmp_path)).judge("lexicon")
    monkeypatch.setenv("LUNGUAGE_DAILY_BUDGET", "2")
    for _ in range(2):
        HomeResource.from_environment(Home(tmp_path)).judge("lexicon")
    none, budget, again = given
    assert none is None
    assert budget is not None
    assert budget is again, "one for all judges of the process"
    assert budget.of_day_usd == 2.0
    with pytest.raises(ConfigurationError, match=r"LUNGUAGE_DAILY_BUDGET\): found 'two'"):
        HomeResource(root=str(tmp_path), daily_budget="two").judge("lexicon")
