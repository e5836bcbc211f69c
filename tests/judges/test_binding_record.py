"""A judge's key stands for one model in a home, from its first answer on: tables named by the key are never
of two models.
"""

from __future__ import annotations

import json
import multiprocessing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.binding_record import BindingRecord, BoundJudge
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.examination import examination
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    Interruptible,
    Judge,
)
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.slots import Limits, ModelSlot, OfflineSlot, Price

QUESTION = ComparisonQuestion("<finding> is likely.", "<finding> is possible.")
PRICE = Price(input=1, output=1, as_of=date(2026, 1, 1))


def slot(**fields: Any) -> ModelSlot:
    return ModelSlot(
        **{
            "provider": "openai",
            "model": "model-1",
            "params": {"temperature": 1.0, "max_tokens": 9},
            **fields,
        }
    )


class Mute:
    """A judge that never gets an answer."""

    key, identity = "one", "mute"

    def extract(self, questions: object) -> list[Any]:
        raise LunguageError("no answer")

    compare = extract


@pytest.fixture
def record(tmp_path: Path) -> BindingRecord:
    return BindingRecord(tmp_path / "home" / "judges.json")


def answered(record: BindingRecord, of: ModelSlot | OfflineSlot) -> list[ComparisonAnswer]:
    return BoundJudge(LexiconJudge.bundled("one"), of, record).compare([QUESTION])


@pytest.mark.parametrize(("change", "found"), [
    ({"model": "model-2"}, 'model "model-2"'), ({"mode": "enum"}, 'mode "enum"'),
    ({"provider": "gemini"}, 'provider "gemini"'),
    ({"params": {"temperature": 0.5, "max_tokens": 9}}, '"temperature": 0.5'),
])  # fmt: skip
def test_a_changed_model_under_a_key_that_answered_is_refused_with_file_both_values_and_remedy(
    record: BindingRecord, tmp_path: Path, change: dict[str, Any], found: str
) -> None:
    assert answered(record, slot()) != []
    with pytest.raises(ConfigurationError, match="Give the changed judge a new key") as refused:
        record.require("one", slot(**change))
    assert found in str(refused.value)
    assert str(tmp_path / "home" / "judges.json") in str(refused.value)
    with pytest.raises(ConfigurationError):
        BoundJudge(Mute(), slot(**change), record).extract([])  # type: ignore[arg-type]
    record.require("another key", slot(**change))


def test_what_changes_no_answer_may_change_under_the_same_key(record: BindingRecord) -> None:
    answered(record, slot())
    for changes in (
        {"aliases": ("m",)},
        {"price": PRICE},
        {"limits": Limits(in_flight=2)},
        {"base_url": "https://proxy.example/v1"},
    ):
        record.require("one", slot(**changes))
    record.require("one", slot(params={"max_tokens": 9, "temperature": 1}))


def test_a_slot_that_never_answered_may_be_mended(record: BindingRecord) -> None:
    with pytest.raises(LunguageError, match="no answer"):
        BoundJudge(Mute(), slot(model="modle-1"), record).compare([QUESTION])  # type: ignore[arg-type]
    assert answered(record, slot())


class Able(Mute):
    """A judge that can wait, and can be stopped."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def extract(self, questions: object) -> list[Any]:
        self.done.append("extract")
        return []

    def compare(self, questions: object) -> list[Any]:
        self.done.append("compare")
        return []

    def interrupt(self) -> None:
        self.done.append("interrupt")


def test_whatever_a_judge_can_do_it_can_do_behind_its_binding(record: BindingRecord) -> None:
    able = Able()
    bound = BoundJudge(able, slot(), record)  # type: ignore[arg-type]
    for ability in (Judge, Interruptible):
        assert isinstance(bound, ability)
    bound.extract([])
    bound.compare([])
    bound.compare([])
    bound.interrupt()
    assert able.done == ["extract", "compare", "compare", "interrupt"]
    plain = BoundJudge(LexiconJudge.bundled("two"), OfflineSlot(provider="lexicon"), record)
    assert plain.compare([QUESTION]) == plain.compare([QUESTION])
    assert plain.extract([]) == []
    plain.interrupt()


def test_rules_and_a_model_do_not_follow_each_other_under_one_key(record: BindingRecord) -> None:
    answered(record, OfflineSlot(provider="lexicon"))
    record.require("one", OfflineSlot(provider="lexicon", description="other words"))
    for other in (slot(), OfflineSlot(provider="cues")):
        with pytest.raises(ConfigurationError, match='"lexicon"'):
            record.require("one", other)


def _claim(file: Path, model: str, start: Any, results: Any) -> None:
    start.wait(60)
    for key in ("one", *(f"{model}-{number}" for number in range(20))):
        try:
            BindingRecord(file).claim(key, slot(model=model))
            results.put((key, model))
        except ConfigurationError:
            results.put((key, "refused"))


def test_of_processes_that_claim_a_key_at_once_one_model_wins_and_no_other_claim_is_lost(
    tmp_path: Path,
) -> None:
    context, file = multiprocessing.get_context("fork"), tmp_path / "judges.json"
    start, results = context.Event(), context.Queue()
    claimers = [
        context.Process(target=_claim, args=(file, f"model-{number}", start, results)) for number in range(4)
    ]
    for claimer in claimers:
        claimer.start()
    start.set()
    told = [results.get(timeout=60) for _ in range(4 * 21)]
    for claimer in claimers:
        claimer.join()
    for_one = sorted(who for key, who in told if key == "one")
    assert for_one[1:] == ["refused"] * 3
    kept = json.loads(file.read_text())
    assert kept["one"]["model"] == for_one[0]
    assert {key for key in kept if key != "one"} == {
        f"model-{m}-{number}" for m in range(4) for number in range(20)
    }


def test_an_unreadable_record_refuses_every_judge(record: BindingRecord, tmp_path: Path) -> None:
    answered(record, slot())
    (tmp_path / "home" / "judges.json").write_text("{")
    with pytest.raises(ConfigurationError, match="Restore it"):
        record.require("two", slot())


def test_doctor_says_which_key_stands_for_another_model(record: BindingRecord) -> None:
    answered(record, slot(model="model-0"))
    configuration = JudgesConfiguration.model_validate({
        "preset": "p", "judges": {"one": {"provider": "openai", "model": "model-1"}},
        "panels": {"p": {"members": ["one"]}},
        "presets": {"p": {"panel": "p", "extractor": "one"}},
    })  # fmt: skip
    ((severity, message),) = examination(configuration, "synthetic", date(2026, 1, 1), {}, record)
    assert severity == "refusal"
    assert "new key" in message
