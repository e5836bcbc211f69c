"""A call costs what its tokens cost, and no call is sent that could pass the ceiling."""

from __future__ import annotations

import threading
from datetime import date

import pytest
from fake_model import BINDING
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.budget import (
    Budget,
    BudgetExceeded,
    Reservation,
    estimated_input_tokens,
    output_limit,
)
from lunguage_assets.judges.requests import ModelBinding, Prompt
from lunguage_assets.judges.slots import Price

GPT_4O = Price(input=2.75, output=11.0, as_of=date(2025, 6, 1))  # the paper's


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_an_impossible_price_or_budget_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="input"):
        Price(input=value, output=1.0, as_of=date(2026, 1, 1))
    with pytest.raises(ConfigurationError):
        Budget(value)


def test_the_estimate_of_a_prompt_is_not_below_what_tokenizers_make_of_such_text() -> None:
    english = "There is a faint opacity in the left lower lung, which may represent atelectasis. " * 10
    assert estimated_input_tokens(Prompt("", english)) >= len(english.split()) * 1.5
    assert estimated_input_tokens(Prompt("", "\u5de6\u4e0b" * 50)) >= 200
    assert estimated_input_tokens(Prompt("", "")) > 0


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ((("max_tokens", 100),), 100),
        ((("max_completion_tokens", 64), ("temperature", 1)), 64),
        ((("config", {"max_output_tokens": 1100}),), 1100),
        ((("temperature", 1),), None),
        ((("max_tokens", True),), None),
    ],
)
def test_the_most_a_judge_may_write_is_read_from_its_parameters(
    parameters: tuple[tuple[str, object], ...], expected: int | None
) -> None:
    assert output_limit(ModelBinding("p", "p", "m", parameters)) == expected
    assert output_limit(BINDING) == 10


def reserved(budget: Budget, worst: float) -> Reservation:
    reservation = budget.reserve("one", worst)
    assert reservation is not None
    return reservation


@settings(deadline=None)
@given(
    st.floats(0, 20), st.lists(st.tuples(st.floats(0.001, 5), st.floats(0, 1), st.booleans()), max_size=30)
)
def test_whatever_calls_cost_up_to_their_worst_case_the_ceiling_holds(
    ceiling: float, calls: list[tuple[float, float, bool]]
) -> None:
    budget, out = Budget(ceiling), []
    for worst, share, at_once in calls:
        try:
            reservation = budget.reserve("one", worst)
        except BudgetExceeded:
            assert budget.spent_usd + worst > ceiling
            continue
        if reservation is not None:
            out.append((reservation, worst * share))
        if at_once and out:
            first, amount = out.pop(0)
            first.settle(amount)
    for reservation, amount in out:
        reservation.settle(amount)
    assert budget.spent_usd <= ceiling * (1 + 1e-9)


def test_a_call_whose_cost_is_unknown_counts_with_its_worst_case_and_only_once() -> None:
    budget = Budget(1.0)
    call = reserved(budget, 0.75)
    call.settle(None)
    call.settle(0.1)
    assert budget.spent_usd == 0.75
    with pytest.raises(BudgetExceeded):
        budget.reserve("one", 0.5)


def test_without_a_price_a_budget_refuses() -> None:
    with pytest.raises(BudgetExceeded, match="no price"):
        Budget(100.0).reserve("one", None)


def test_judges_in_several_threads_share_one_ceiling() -> None:
    budget = Budget(10.0)

    def spend() -> None:
        for _ in range(200):
            try:
                reservation = budget.reserve("one", 0.125)
            except BudgetExceeded:
                return
            if reservation is not None:
                reservation.settle(0.125)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_usd == 10.0
