"""How a judge has been doing is told from the ledger; nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger, LedgerError
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.quality.judge_calls import Sign, recent_calls
from lunguage_assets.settings import CheckSettings


def slot(**changes: Any) -> ModelSlot:
    return ModelSlot.model_validate(
        {"provider": "openai", "model": "model-1", "aliases": ["model-1-dated"], **changes}
    )


def attempt(number: int, **changes: Any) -> Attempt:
    values = {
        "key": f"{number:064x}",
        "judge": "judge",
        "stage": "compare",
        "model": "model-1",
        "time": f"2026-11-{number:02d}T00:00:00.000000Z",
    }
    return Attempt(**{**values, "answer": "sentence_1", "returned_model": "model-1", **changes})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Eight attempts: two failed, one was answered by another model; two are not of this judge and model."""
    place = tmp_path / "ledger.sqlite"
    Ledger.open(place).record_all(
        [
            attempt(1, answer=None, returned_model=None, failure="timeout"),
            attempt(2),
            attempt(3, failure="wrong_model", returned_model="model-2"),
            attempt(4, failure="wrong_model", returned_model="model-1-dated"),
            attempt(5, failure="unreadable"),
            attempt(6, answer=None, returned_model=None, failure="server"),
            attempt(7, judge="another", failure="server"),
            attempt(8, model="model-0", failure="server"),
        ]
    )
    return place


def told(place: Path, key: str = "judge", **limits: Any) -> list[Sign]:
    return recent_calls(key, slot(), place, CheckSettings(**limits))


def test_the_latest_calls_of_this_judge_and_model_are_counted(ledger: Path) -> None:
    failed, answered = told(ledger)
    assert failed.found == "2 of the last 6 (33.3%)"
    assert answered.found == "model-2 (1)"
    assert told(ledger, recent_calls=5)[0].found == "1 of the last 5 (20.0%)"
    assert told(ledger, "nobody") == []


def test_many_failed_calls_and_another_model_are_told_with_what_to_do(ledger: Path) -> None:
    assert all(len(sign.remedy) > 40 for sign in told(ledger))
    assert [bool(sign.remedy) for sign in told(ledger, failed_call_share=0.5)] == [False, True]
    assert [bool(sign.remedy) for sign in told(ledger, recent_calls=1)] == [True, False]


def test_looking_leaves_no_ledger_where_there_is_none_and_says_when_one_cannot_be_read(
    tmp_path: Path,
) -> None:
    assert told(tmp_path / "none.sqlite") == []
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "broken.sqlite").write_text("no database")
    with pytest.raises(LedgerError):
        told(tmp_path / "broken.sqlite")
