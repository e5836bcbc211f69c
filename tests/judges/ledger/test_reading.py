"""A ledger is read without a trace: its answers, and how a judge has behaved so far, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger, ledger_url
from lunguage_assets.judges.ledger.reading import Experience, LedgerReader

ONE, TWO, THREE = "a" * 64, "b" * 64, "c" * 64


def attempt(key: str, answer: str | None = "sentence_1", **changes: object) -> Attempt:
    values = {
        "judge": "j",
        "stage": "compare",
        "model": "m",
        "input_tokens": 400,
        "output_tokens": 6,
        "latency_s": 2.0,
        **changes,
    }
    return Attempt(key, answer=answer, **values)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_where_no_ledger_is_none_is_made(place: str, tmp_path: Path) -> None:
    assert LedgerReader.at(place) is None
    assert not list(tmp_path.iterdir())
    if place.startswith("postgresql"):
        assert inspect(create_engine(ledger_url(place))).get_table_names() == []


def test_it_finds_what_a_writer_has_recorded_while_the_writer_is_still_there(place: str) -> None:
    writer = Ledger.open(place)
    writer.record(attempt(ONE))
    reader = LedgerReader.at(place)
    assert reader is not None
    writer.record(attempt(TWO, answer="sentence_2"))
    settled = reader.answers([ONE, TWO, THREE])
    assert {key: entry.answer for key, entry in settled.items()} == {ONE: "sentence_1", TWO: "sentence_2"}
    writer.close()


def test_experience_is_of_one_judge_task_and_model_and_counts_what_was_repeated(place: str) -> None:
    writer = Ledger.open(place)
    assert LedgerReader.at(place).experience("j", "compare", "m") is None  # type: ignore[union-attr]
    writer.record(attempt(ONE, answer="?", failure="unreadable", output_tokens=10, latency_s=4.0))
    writer.record(attempt(ONE))
    writer.record(attempt(TWO, answer=None, failure="timeout", input_tokens=0, output_tokens=0))
    writer.record(attempt(THREE, stage="extract", input_tokens=700))
    writer.record(attempt(THREE, model="another"))
    writer.close()
    reader = LedgerReader.at(place)
    assert reader is not None
    assert reader.experience("j", "compare", "m") == Experience(
        2, calls=1.5, paid_calls=1.0, input_tokens=400, output_tokens=8, latency_s=3.0
    )
    assert reader.experience("j", "extract", "m") == Experience(
        1, calls=1.0, paid_calls=1.0, input_tokens=700, output_tokens=6, latency_s=2.0
    )
    assert reader.experience("k", "compare", "m") is None


def test_replies_of_unknown_length_do_not_make_calls_look_free(place: str) -> None:
    writer = Ledger.open(place)
    writer.record(attempt(ONE, input_tokens=0, output_tokens=0))
    assert LedgerReader.at(place).experience("j", "compare", "m") is None  # type: ignore[union-attr]
    writer.record(attempt(TWO))
    writer.close()
    found = LedgerReader.at(place)
    assert found is not None
    assert found.experience("j", "compare", "m") == Experience(
        1, calls=1.0, paid_calls=1.0, input_tokens=400, output_tokens=6, latency_s=2.0
    )


def test_a_file_that_nobody_writes_to_stays_as_it_is_to_the_byte(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    writer = Ledger.open(place)
    writer.record(attempt(ONE))
    writer.close()
    before = contents(tmp_path)
    reader = LedgerReader.at(place)
    assert reader is not None
    assert reader.answers([ONE])[ONE].answer == "sentence_1"
    assert contents(tmp_path) == before


def test_something_else_than_a_ledger_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    place.write_text("this is no database, and is long enough to be looked at as one" * 40)
    before = contents(tmp_path)
    with pytest.raises(LunguageError, match="cannot be used"):
        LedgerReader.at(place)
    assert contents(tmp_path) == before
