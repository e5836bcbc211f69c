"""Whether a judge will answer next time is told from its entry, the date, the environment and the ledger;
nothing is sent.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import schedule
from lunguage_assets.judges.ledger.attempts import Attempt, request_key
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.prompts import comparison_request, load_prompts
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.quality.judge_health import (
    Circumstances,
    RecentCalls,
    Sign,
    recent_calls,
    open_comparisons,
    signs_of,
)
from lunguage_assets.settings import CheckSettings, ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

TODAY = date(2026, 11, 21)
SETTINGS = ExplicitSettings(minimum_examples=1, repetitions=1, ruler_minimum=2)


def slot(**changes: Any) -> ModelSlot:
    return ModelSlot.model_validate(
        {"provider": "openai", "model": "model-1", "aliases": ["model-1-dated"], **changes}
    )


def signs(
    model: ModelSlot, open_questions: int | None = 0, environ: dict[str, str] | None = None, **around: Any
) -> list[Sign]:
    found = Circumstances(
        "synthetic", around.pop("today", TODAY), environ or {}, open_questions, around.pop("recent", None)
    )
    return signs_of("judge", model, found, CheckSettings(**around))


def wrong(found: list[Sign]) -> list[str]:
    assert all(len(sign.remedy) > 40 for sign in found if not sign.well)
    return [sign.looked_at for sign in found if not sign.well]


def test_a_judge_that_is_served_and_fully_recorded_is_well_without_any_key() -> None:
    assert wrong(signs(slot(retires_on="2027-11-21"))) == []
    assert wrong(signs(slot())) == []


@pytest.mark.parametrize(
    ("last_day", "well"),
    [("2026-11-20", False), ("2026-11-21", False), ("2026-12-21", False), ("2026-12-22", True)],
)
def test_a_model_that_is_retired_or_will_be_within_a_month_is_told_also_where_everything_is_recorded(
    last_day: str, well: bool
) -> None:
    assert wrong(signs(slot(retires_on=last_day))) == ([] if well else ["the model's last day"])


def test_a_missing_key_matters_only_while_questions_are_open() -> None:
    assert wrong(signs(slot(), open_questions=3)) == ["key, address and SDK"]
    assert wrong(signs(slot(), open_questions=3, environ={"OPENAI_API_KEY": "invented"})) == []
    assert wrong(signs(slot(), open_questions=None)) == []


def test_a_judge_that_may_not_receive_the_corpus_is_told_while_questions_are_open() -> None:
    found = signs_of(
        "judge",
        slot(),
        Circumstances("credentialed", TODAY, {"OPENAI_API_KEY": "invented"}, 1, None),
        CheckSettings(),
    )
    assert wrong(found) == ["leave to be asked"]


def test_many_failed_calls_and_another_model_are_told() -> None:
    assert wrong(signs(slot(), recent=RecentCalls(10, 2, {}))) == []
    assert wrong(signs(slot(), recent=RecentCalls(10, 3, {}))) == ["failed calls"]
    assert wrong(signs(slot(), recent=RecentCalls(10, 3, {}), failed_call_share=0.5)) == []
    assert wrong(signs(slot(), recent=RecentCalls(10, 0, {"other-model": 1}))) == ["models that answered"]
    assert wrong(signs(slot(), recent=RecentCalls(0, 0, {}))) == []


def attempt(number: int, **changes: Any) -> Attempt:
    values = {
        "key": f"{number:064x}",
        "judge": "judge",
        "stage": "compare",
        "model": "model-1",
        "time": f"2026-11-{number:02d}T00:00:00.000000Z",
    }
    return Attempt(**{**values, "answer": "sentence_1", "returned_model": "model-1", **changes})


def test_the_latest_calls_of_this_judge_and_model_are_counted(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    assert LedgerReader.at(place) is None
    assert not place.exists()
    ledger = Ledger.open(place)
    ledger.record_all(
        [
            attempt(1, answer=None, returned_model=None, failure="timeout"),
            attempt(2),
            attempt(3, failure="wrong_model", returned_model="model-2"),
            attempt(4, failure="wrong_model", returned_model="model-1-dated"),
            attempt(5, failure="unreadable"),
            attempt(6, answer=None, returned_model=None, failure="server"),
            attempt(7, judge="another"),
            attempt(8, model="model-0"),
        ]
    )
    watched = LedgerReader.at(place)
    assert watched is not None
    assert recent_calls(watched, "judge", slot(), 1000) == RecentCalls(6, 2, {"model-2": 1})
    assert recent_calls(watched, "judge", slot(), 5) == RecentCalls(5, 1, {"model-2": 1})
    assert recent_calls(watched, "nobody", slot(), 5) == RecentCalls(0, 0, {})


def vocabulary() -> pd.DataFrame:
    row = {
        "study_id": "s00000001",
        "ent": "finding",
        "dropped": [],
        "answer_state": "valid",
        "corrected": False,
        "needs_review": False,
    }
    rows = [
        {
            **row,
            "finding_id": f"s00000001:{n}",
            "sent": f"{phrase} x",
            "masked_sentence": f"{phrase} <finding>",
            "phrases": [phrase],
            "review_reason": "",
        }
        for n, phrase in enumerate(["may be", "likely", "possible"])
    ]
    return hedge_vocabulary(HEDGE_PHRASES.frame(rows), SETTINGS)


def test_comparisons_without_an_answer_in_the_ledger_are_counted_and_recorded_ones_are_not(
    tmp_path: Path,
) -> None:
    model, prompts, phrases = slot(), load_prompts(), vocabulary()
    assert open_comparisons(phrases, "judge", model, prompts, None, SETTINGS) == 3
    questions = schedule(phrases, SETTINGS).questions()
    keys = [
        request_key(model.binding, comparison_request(prompts.comparison(q), model.mode, q.replicate))
        for q in questions
    ]
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.record_all([attempt(number + 1, key=key) for number, key in enumerate(keys[:2])])
    watched = LedgerReader.at(tmp_path / "ledger.sqlite")
    assert open_comparisons(phrases, "judge", model, prompts, watched, SETTINGS) == 1
