"""Calls are charged once on the account for which they were made, and a dead run's bill
can be taken over.
"""

from __future__ import annotations

from fake_model import attempt

from lunguage_assets.judges.ledger.bills import Bill, Charges
from lunguage_assets.judges.ledger.calls import begin, forget, record
from lunguage_assets.judges.ledger.ledger import Ledger

BILL = Bill("table/partition", "run 1")


def sent(ledger: Ledger, number: int, bill: Bill | None = BILL) -> None:
    ledger.transaction(
        lambda connection: begin(connection, attempt(number), "l" * 32, 0.5, None, bill)
    )


def charged(ledger: Ledger, bill: Bill = BILL) -> Charges:
    return ledger.bills(bill.account)[bill.run]["one"]


def test_what_a_call_brings_is_charged_with_its_record(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    for number in (1, 2, 3):
        sent(ledger, number)
    ledger.transaction(lambda connection: record(connection, attempt(1), BILL))
    ledger.transaction(
        lambda connection: record(connection, attempt(2, failure="unreadable"), BILL)
    )
    nothing = {"answer": None, "cost_usd": None, "input_tokens": 0, "output_tokens": 0}
    ledger.transaction(
        lambda connection: record(
            connection, attempt(3, failure="timeout", **nothing), BILL
        )
    )
    assert charged(ledger) == Charges(
        calls=3,
        unanswered=1,
        invalid=1,
        settled=1,
        input_tokens=20,
        output_tokens=4,
        cost_usd=0.5,
    )


def test_a_transaction_whose_word_was_lost_charges_nothing_twice(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    for _ in range(2):
        sent(ledger, 1)
    for _ in range(2):
        ledger.transaction(lambda connection: record(connection, attempt(1), BILL))
    assert charged(ledger) == Charges(1, 0, 0, 1, 10, 2, 0.25)


def test_a_call_that_was_not_sent_is_on_no_bill(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    sent(ledger, 1)
    ledger.transaction(lambda connection: forget(connection, attempt(1), BILL))
    assert charged(ledger) == Charges()


def test_calls_on_nobodys_bill_are_recorded_as_ever(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    sent(ledger, 1, None)
    ledger.transaction(lambda connection: record(connection, attempt(1)))
    assert ledger.statistics()["attempts"].tolist() == [1]
    assert ledger.bills(BILL.account) == {}


def test_unfinished_bills_are_taken_over_once_and_told_ones_are_struck(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    runs = [Bill(BILL.account, f"run {number}") for number in (1, 2, 3, 4)]
    for number, bill in enumerate(runs):
        sent(ledger, number, bill)
    for _ in range(2):
        ledger.take_over(runs[3], ["run 1"], ["run 2"])
    assert ledger.bills(BILL.account) == {
        "run 3": {"one": Charges(calls=1)},
        "run 4": {"one": Charges(calls=2)},
    }
