"""A call costs what its tokens cost, and no call is sent that could pass the ceiling of
the run, or of the day for all that share a ledger (several processes:
`test_several_processes.py`).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from fake_model import BINDING, FakeModel, question, questions, read_label
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.configuration import VARIABLES, Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.asking.limits import (
    Budget,
    BudgetExceeded,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.judge_config import Limits, Price
from lunguage_assets.judges.ledger.attempts import Attempt, moment
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import (
    ModelBinding,
    Prompt,
    ProviderFailure,
    Reply,
    Request,
)
from lunguage_assets.workspace.home import Home

PRICE = Price(input=1.0, output=10.0, as_of=date(2026, 1, 1))
COST = (40 * 1.0 + 4 * 10.0) / 1e6
WORST = (estimated_input_tokens(question(1).prompt) * 1.0 + 10 * 10.0) / 1e6


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_an_impossible_price_or_budget_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="input"):
        Price(input=value, output=1.0, as_of=date(2026, 1, 1))
    with pytest.raises(ConfigurationError):
        Budget(value)


def test_the_estimate_of_a_prompt_is_not_below_its_tokens() -> None:
    english = (
        "There is a faint opacity in the left lower lung, which may represent atelectasis. "
        * 10
    )
    assert estimated_input_tokens(Prompt("", english)) >= len(english.split()) * 1.5
    assert estimated_input_tokens(Prompt("", "\u5de6\u4e0b" * 50)) >= 200
    assert estimated_input_tokens(Prompt("", "")) > 0


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ((("max_completion_tokens", 64), ("temperature", 1)), 64),
        ((("config", {"max_output_tokens": 1100}),), 1100),
        ((("temperature", 1),), None),
        ((("max_tokens", True),), None),
        (BINDING.parameters, 10),
    ],
)
def test_the_most_a_judge_may_write_is_read_from_its_parameters(
    parameters: tuple[tuple[str, object], ...], expected: int | None
) -> None:
    assert output_limit(ModelBinding("p", "p", "m", parameters)) == expected


@settings(deadline=None)
@given(
    st.floats(0, 20),
    st.lists(
        st.tuples(st.floats(0.001, 5), st.floats(0, 1), st.booleans()), max_size=30
    ),
)
def test_whatever_calls_cost_up_to_their_worst_case_the_ceiling_holds(
    ceiling: float, calls: list[tuple[float, float, bool]]
) -> None:
    budget = Budget(ceiling)
    out = []
    for worst, share, at_once in calls:
        try:
            reserved = budget.reserve("one", worst)
        except BudgetExceeded:
            assert budget.spent_usd + worst > ceiling
            continue
        if reserved:
            out.append((worst, worst * share))
        if at_once and out:
            budget.settle(*out.pop(0))
    for call in out:
        budget.settle(*call)
    assert budget.spent_usd <= ceiling * (1 + 1e-9)


# --- the day's


def ask_all(
    ledger: Ledger, model: FakeModel, budget: Budget, price: Price | None = PRICE
) -> None:
    limits = Limits(in_flight=4, backoff_s=0.001)
    Asker("one", model, ledger, limits, budget=budget, price=price).ask(
        questions(100), read_label
    )


def recorded(ledger: Ledger, hours: float, cost_usd: float) -> None:
    time = moment(datetime.now(UTC) - timedelta(hours=hours))
    ledger.record(
        Attempt("k" * 64, "j", "compare", "m", "A", cost_usd=cost_usd, time=time)
    )


def test_what_others_have_spent_today_counts_and_what_is_left_is_spent(
    ledger: Ledger,
) -> None:
    recorded(ledger, 25, 100.0)
    recorded(ledger, 23, 0.75)
    model = FakeModel()
    with pytest.raises(
        BudgetExceeded,
        match=r"daily budget of \$0.75.*24 hours.*LUNGUAGE_DAILY_BUDGET.*of 100",
    ):
        ask_all(ledger, model, Budget(None, 0.75 + 20 * COST + WORST))
    assert model.calls in (20, 21)
    assert ledger.statistics()["cost_usd"].sum() <= 100.75 + 20 * COST + WORST


def test_the_ceiling_of_the_run_holds_beside_it(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="spent in this run"):
        ask_all(ledger, FakeModel(), Budget(COST * 5 + WORST, 1.0))
    recorded(ledger, 1, 0.999)
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(ledger, FakeModel(), Budget(1.0, 1.0))


def test_a_call_that_was_never_sent_costs_the_run_nothing(ledger: Ledger) -> None:
    class NotConfigured(FakeModel):
        async def answer(self, request: Request) -> Reply:
            raise ConfigurationError("no key")

    budget = Budget(1.0)
    with pytest.raises(ConfigurationError, match="no key"):
        ask_all(ledger, NotConfigured(), budget)
    assert budget.spent_usd == 0.0


def test_a_broken_call_that_may_be_billed_counts_at_its_worst(
    ledger: Ledger,
) -> None:
    broken = FakeModel(answer=lambda *_: ProviderFailure("connection"))
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(ledger, broken, Budget(None, WORST * 10.5))
    model = FakeModel()
    with pytest.raises(BudgetExceeded, match="daily budget"):
        ask_all(Ledger.open(ledger.location), model, Budget(None, WORST * 10.5))
    assert model.calls == 0


@pytest.mark.parametrize("budget", [Budget(100.0), Budget(None, 5.0)])
def test_without_a_price_a_budget_refuses_before_any_call(
    ledger: Ledger, budget: Budget
) -> None:
    model = FakeModel()
    with pytest.raises(BudgetExceeded, match="no price"):
        ask_all(ledger, model, budget, price=None)
    assert model.calls == 0


def test_a_deployment_sets_the_daily_budget_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    assert Configuration.from_environment(Home(tmp_path)).judge_context().budget is None
    monkeypatch.setenv("LUNGUAGE_DAILY_BUDGET", "2")
    first, again = (
        Configuration.from_environment(Home(tmp_path)).judge_context() for _ in range(2)
    )
    assert first.budget is not None
    assert first.budget.daily_usd == 2.0
    assert first.budget is again.budget, "one for all judges of the process"
    monkeypatch.setenv("LUNGUAGE_DAILY_BUDGET", "two")
    with pytest.raises(
        ConfigurationError, match=r"LUNGUAGE_DAILY_BUDGET\): found something else"
    ):
        Configuration.from_environment(Home(tmp_path))
