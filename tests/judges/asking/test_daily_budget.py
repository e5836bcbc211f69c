"""The daily budget: one ceiling for all processes that share a ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.judges.asking.budget import Budget, BudgetExceeded
from lunguage_assets.judges.asking.daily_budget import LOOK_EVERY_S, RECORDED_WITHIN_S, DailyBudget
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.ledger.attempts import Attempt, moment
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.orchestration import resources
from lunguage_assets.orchestration.resources import VARIABLES, HomeResource

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Recorded:
    """A ledger that everybody writes to, and the time."""

    def __init__(self) -> None:
        self.costs: list[tuple[datetime, float]] = []
        self.seconds = 0.0
        self.looks = 0

    def since(self, start: datetime) -> float:
        self.looks += 1
        return sum(cost for at, cost in self.costs if at >= start)

    def budget(self, ceiling: float, run: Budget | None = None) -> DailyBudget:
        return DailyBudget(ceiling, self.since, run, clock=lambda: self.seconds, now=self.now)

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def spend(self, budget: DailyBudget, worst: float, cost: float | None) -> bool:
        """One call, reserved, settled and recorded; whether it was allowed."""
        reservation = budget.reserve("j", worst)
        if reservation is None:
            return False
        reservation.settle(cost)
        if cost is not None:
            self.costs.append((self.now(), cost))
        return True


def test_what_other_processes_have_spent_counts_and_yesterday_does_not() -> None:
    ledger = Recorded()
    ledger.costs = [(NOON - timedelta(hours=25), 100.0), (NOON - timedelta(hours=23), 0.75)]
    budget = ledger.budget(1.0)
    assert ledger.spend(budget, 0.25, 0.25)
    ledger.seconds += LOOK_EVERY_S
    with pytest.raises(
        BudgetExceeded, match=r"daily budget of \$1.00: .*last 24 hours.*LUNGUAGE_DAILY_BUDGET"
    ):
        budget.reserve("j", 0.01)
    ledger.seconds += 3600.0 + 1
    assert ledger.spend(budget, 0.5, 0.5)


def test_another_process_is_noticed_within_seconds_though_the_ledger_is_not_asked_at_every_call() -> None:
    ledger = Recorded()
    budget = ledger.budget(100.0)
    for _ in range(50):
        assert ledger.spend(budget, 0.01, 0.01)
    assert ledger.looks == 1
    ledger.costs.append((ledger.now(), 99.6))
    ledger.seconds += LOOK_EVERY_S
    with pytest.raises(BudgetExceeded):
        budget.reserve("j", 0.5)


def test_the_ceiling_of_the_run_holds_beside_it_and_a_refusal_gives_back_what_was_reserved() -> None:
    ledger, run = Recorded(), Budget(0.5)
    budget = ledger.budget(10.0, run)
    assert ledger.spend(budget, 0.25, 0.25)
    with pytest.raises(BudgetExceeded, match="spent in this run"):
        budget.reserve("j", 0.375)
    ledger.costs.append((ledger.now(), 9.625))
    ledger.seconds += LOOK_EVERY_S
    with pytest.raises(BudgetExceeded, match="daily budget"):
        budget.reserve("j", 0.25)
    assert run.reserve("j", 0.25) is not None


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from([0.1, 0.5, 1.0]),
            st.sampled_from([None, 0.0, 0.5, 1.0]),
            st.sampled_from([0.0, 0.3, 7.0]),
        ),
        max_size=60,
    )
)
def test_one_process_alone_never_passes_the_ceiling(calls: list[tuple[float, float | None, float]]) -> None:
    ledger, spent = Recorded(), 0.0
    budget = ledger.budget(3.0)
    for worst, share, pause in calls:
        ledger.seconds += pause
        cost = None if share is None else worst * share
        try:
            if ledger.spend(budget, worst, cost):
                spent += worst if cost is None else cost
        except BudgetExceeded:
            assert spent + worst > 3.0 - 1e-9, "sums differ in the last bits by their order"
    assert spent <= 3.0 + 1e-9


def test_a_call_waits_rather_than_fails_while_only_unrecorded_calls_stand_in_its_way() -> None:
    ledger = Recorded()
    budget = ledger.budget(1.0)
    first = budget.reserve("j", 0.8)
    assert first is not None
    assert budget.reserve("j", 0.5) is None
    first.settle(0.1)
    ledger.costs.append((ledger.now(), 0.1))
    ledger.seconds += RECORDED_WITHIN_S + LOOK_EVERY_S
    assert budget.reserve("j", 0.5) is not None


def test_the_ledger_adds_up_what_everybody_recorded_since_a_moment(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    for number, (age, cost) in enumerate([(30, 5.0), (23, 0.5), (1, 0.25), (1, None)]):
        attempt = Attempt(
            f"{number}" * 64,
            "j",
            "compare",
            "m",
            "A",
            cost_usd=cost,
            time=moment(NOON - timedelta(hours=age)),
        )
        Ledger.open(place).record(attempt)
    assert Ledger.open(place).spent_since(moment(NOON - timedelta(hours=24))) == 0.75


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
    Ledger.open(tmp_path / "ledger.sqlite").record(Attempt("k" * 64, "j", "compare", "m", "A", cost_usd=1.5))
    with pytest.raises(BudgetExceeded, match=r"\$1.5000 were spent"):
        budget.reserve("j", 0.6)
    with pytest.raises(ConfigurationError, match=r"LUNGUAGE_DAILY_BUDGET\): found 'two'"):
        HomeResource(root=str(tmp_path), daily_budget="two").judge("lexicon")
