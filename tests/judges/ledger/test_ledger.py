"""The ledger keeps every attempt, finds it by everything that decides an answer, and
never changes an answer that was used.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import postgres_server
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, inspect

from lunguage_assets.judges.ledger.attempts import (
    Attempt,
    Flaw,
    RecordedReply,
    SettledQuestion,
    moment,
    settle,
)
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_location import LedgerError, ledger_url
from lunguage_assets.judges.ledger.transfer import export_attempts, import_attempts
from lunguage_assets.judges.model_judge import choice_of, parse_phrase_list

PARSERS = {"extract": parse_phrase_list, "compare": choice_of}
KEY = "ab" * 32
OTHER = "cd" * 32
SECRET = "the zebra-striped opacity"


def attempt(key: str = KEY, **changes: Any) -> Attempt:
    reply = {
        "answer": "sentence_1",
        "returned_model": "fake-1",
        "input_tokens": 10,
        "output_tokens": 2,
    }
    values = {
        "judge": "one",
        "stage": "compare",
        "model": "fake-1",
        "cost_usd": 0.5,
        "latency_s": 0.1,
    }
    return Attempt(key, **{**reply, **values, **changes})


def unreadable(key: str = KEY, **changes: Any) -> Attempt:
    return attempt(key, **{"answer": "hmm", "failure": "unreadable", **changes})


def failed(key: str = KEY, **changes: Any) -> Attempt:
    nothing = {
        "answer": None,
        "returned_model": None,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": 0.0,
    }
    return attempt(key, **{**nothing, "failure": "overloaded", **changes})


def recorded(ledger: Ledger, *attempts: Attempt) -> None:
    for attempt in attempts:
        ledger.record(attempt)


def ahead(hours: float) -> str:
    """A time of the ledger, so many hours from now."""
    return moment(datetime.now(UTC) + timedelta(hours=hours))


# --- recording and finding


def test_a_recorded_answer_is_found_by_another_ledger_object(
    ledger_location: str,
) -> None:
    assert Ledger.open(ledger_location).record(attempt()) == {KEY: "sentence_1"}
    assert Ledger.open(ledger_location).answers([KEY, OTHER]) == {KEY: "sentence_1"}


def test_recording_one_attempt_twice_stores_it_once(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    once = unreadable()
    for _ in range(2):
        ledger.record(once)
    assert ledger.statistics()["attempts"].tolist() == [1]


def test_a_paid_answer_is_recorded_whatever_characters_it_holds(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(answer="nul \x00 surrogate \ud800 plain \u00e9 \U0001f600"))
    stored = ledger.answers([KEY])[KEY]
    assert stored is not None
    assert stored.startswith("nul \ufffd surrogate ")
    assert stored.endswith(" plain \u00e9 \U0001f600")


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([None, "unreadable", "refused", "wrong_model"]), max_size=12
    ),
    st.data(),
)
def test_what_is_recorded_after_a_question_is_settled_never_changes_it(
    flaws: list[str | None], data: st.DataObject
) -> None:
    replies = [
        RecordedReply(f"answer {number}", flaw) for number, flaw in enumerate(flaws)
    ]
    settled: SettledQuestion | None = None
    for end in range(len(replies) + 1):
        question = settle(replies[:end])
        if settled is not None:
            assert question is not None
            assert question.answer == settled.answer
        settled = question
    shuffled_tail = data.draw(st.permutations(replies))
    if settled is not None:
        later = settle(replies + shuffled_tail)
        assert later is not None
        assert later.answer == settled.answer


def test_another_models_reply_uses_up_no_try_and_a_refusal_does() -> None:
    def settled(flaw: Flaw) -> bool:
        return settle([RecordedReply("hmm", flaw)] * 5) is not None

    assert [settled(flaw) for flaw in get_args(Flaw)] == [True, True, False]


# --- several writers


def _write_many(ledger_location: str, writer: int, keys: list[str]) -> None:
    ledger = Ledger.open(ledger_location)
    for key in keys:
        ledger.record(attempt(key, answer=f"writer {writer}", judge=f"judge {writer}"))


def test_processes_that_write_at_once_lose_nothing(
    ledger_location: str,
) -> None:
    keys = [f"{number:064x}" for number in range(70)]
    context = multiprocessing.get_context("fork")
    orders = [keys, keys[::-1], keys[35:] + keys[:35]]
    writers = [
        context.Process(target=_write_many, args=(ledger_location, *order))
        for order in enumerate(orders)
    ]
    for writer in writers:
        writer.start()
    ledger = Ledger.open(
        ledger_location
    )  # all of them also create the ledger at the same time
    while any(writer.is_alive() for writer in writers):
        first = ledger.answers(keys)
        assert all(
            ledger.answers(list(first))[key] == entry for key, entry in first.items()
        )
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert int(ledger.statistics()["attempts"].sum()) == 3 * len(keys)
    assert len(ledger.answers(keys)) == len(keys)


def test_a_forked_process_does_not_disturb_its_parents_connection(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt())
    child = multiprocessing.get_context("fork").Process(
        target=lambda: ledger.record(attempt(OTHER))
    )
    child.start()
    child.join()
    assert child.exitcode == 0
    assert set(ledger.answers([KEY, OTHER])) == {KEY, OTHER}


# --- what is kept private


def test_ledger_and_log_are_for_the_owner_alone(
    tmp_path: Path,
) -> None:
    ledger_file = tmp_path / "sub" / "ledger.sqlite"
    before = os.umask(0)
    try:
        ledger = Ledger.open(ledger_file)
        ledger.record(attempt())
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in ledger_file.parent.iterdir()
        }
    finally:
        os.umask(before)
    assert len(modes) >= 2
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(ledger_file.parent.stat().st_mode) == 0o700


def test_a_link_in_the_ledgers_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "ledger.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="owner alone"):
        Ledger.open(tmp_path / "ledger.sqlite")


def test_no_log_of_the_database_at_any_level_shows_an_answer(
    ledger_location: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (
        "sqlalchemy",
        "sqlalchemy.engine",
        "sqlalchemy.engine.Engine",
        "sqlalchemy.pool",
    ):
        caplog.set_level(logging.DEBUG, logger=name)
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(answer=SECRET))
    assert ledger.answers([KEY]) == {KEY: SECRET}
    assert any(record.name.startswith("sqlalchemy") for record in caplog.records)
    assert SECRET not in caplog.text


def test_no_error_and_no_repr_shows_an_answer_or_a_password(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("DROP TABLE judge_attempts")
    with pytest.raises(LedgerError) as caught:
        ledger.record(attempt(answer=SECRET))
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert SECRET not in repr(attempt(answer=SECRET))
    with pytest.raises(LedgerError) as refused:
        Ledger.open("postgresql+psycopg9://me:hunter2@localhost/db?password=hunter3")
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize(
    "where", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/db", "://"]
)
def test_a_ledger_that_would_not_last_is_refused(where: str) -> None:
    with pytest.raises(LedgerError):
        Ledger.open(where)


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(
    tmp_path: Path, ledger: Ledger
) -> None:
    notes = tmp_path / "notes.txt"
    empty = tmp_path / "empty.sqlite"
    notes.write_text("invented notes, by no means a database " * 50)
    empty.touch()
    before = notes.read_bytes()
    for opened in (
        Ledger.open,
        Ledger.open_read_only,
        lambda path: import_attempts(ledger, path, PARSERS),
    ):
        with pytest.raises(LedgerError, match="cannot be used"):
            opened(notes)
    for path in (empty, tmp_path / "none.sqlite"):
        with pytest.raises(LedgerError, match="no ledger"):
            import_attempts(ledger, path, PARSERS)
    assert notes.read_bytes() == before


def test_an_sqlite_ledger_is_forced_to_disk_at_every_commit(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    with ledger.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_postgresql_ledger_is_forced_to_disk_whatever_the_servers_default(
    postgres: str,
) -> None:
    url = postgres_server.create_database(postgres, "careless")
    with create_engine(
        ledger_url(url), isolation_level="AUTOCOMMIT"
    ).connect() as connection:
        connection.exec_driver_sql(
            "ALTER DATABASE careless SET synchronous_commit = off"
        )
    with Ledger.open(url).reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


# --- exchange and statistics


def test_an_exported_ledger_imports_elsewhere_without_doubling(
    ledger_location: str, tmp_path: Path
) -> None:
    mine = Ledger.open(ledger_location)
    file = tmp_path / "mine.sqlite"
    recorded(
        mine,
        unreadable(),
        failed(),
        attempt(),
        attempt(OTHER, judge="two", cost_usd=None),
    )
    assert export_attempts(mine, file) == export_attempts(mine, file) == 4
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    yours = Ledger.open(tmp_path / "yours.sqlite")
    assert import_attempts(yours, file, PARSERS) == (4, 0, [])
    assert import_attempts(yours, file, PARSERS) == (0, 4, [])
    assert yours.answers([KEY, OTHER]) == mine.answers([KEY, OTHER])
    assert yours.statistics().equals(mine.statistics())


def test_an_import_never_changes_an_answer_that_is_here(
    ledger_location: str, tmp_path: Path
) -> None:
    yours = Ledger.open(tmp_path / "yours.sqlite")
    recorded(yours, attempt(answer="sentence_2"), attempt(OTHER))
    mine = Ledger.open(ledger_location)
    mine.record(attempt(answer="sentence_1"))
    assert import_attempts(mine, tmp_path / "yours.sqlite", PARSERS) == (2, 0, [])
    assert mine.answers([KEY]) == {KEY: "sentence_1"}
    assert OTHER in mine.answers([OTHER])


POISON: list[tuple[str, object]] = [
    ("key", "not a key"), ("failure", "refuse"), ("failure", "timeout"), ("time", "yesterday"),
    ("time", "9999-99-99T99:99:99.000000Z"), ("time", "2026-02-30T00:00:00.000000Z"), ("time", ahead(25)),
    ("judge", "j" * 1_000_000), ("judge", "\x1b[31mj"),
    ("model", "m\nm"), ("model", "m" * 1_001), ("returned_model", "m" * 1_001),
    ("answer", "sentence_1" + " " * 4_000_000),
    ("receipt", "x"), ("stage", "other"), ("stage", "extract"), ("answer", f"perhaps {SECRET}"),
    ("answer", None), ("cost_usd", float("inf")), ("latency_s", -1.0), ("input_tokens", 2**62),
    ("input_tokens", SECRET),
]  # fmt: skip


def test_imported_rows_that_would_poison_the_ledger_are_left_out(
    tmp_path: Path,
) -> None:
    bad_file = tmp_path / "bad.sqlite"
    ledger = Ledger.open(bad_file)
    keys = [f"{number:064x}" for number in range(len(POISON))]
    recorded(ledger, attempt(), unreadable("ef" * 32), *map(attempt, keys))
    ledger.close()
    with sqlite3.connect(bad_file) as connection:
        for key, (column, value) in zip(keys, POISON, strict=True):
            connection.execute(
                f"UPDATE judge_attempts SET {column} = ? WHERE key = ?", (value, key)
            )
    other_ledger = Ledger.open(tmp_path / "other.sqlite")
    added, already_there, errors = import_attempts(other_ledger, bad_file, PARSERS)
    assert (added, already_there, len(errors)) == (2, 0, len(POISON))
    assert SECRET not in str(errors)
    assert list(other_ledger.answers([KEY, *keys])) == [KEY]
    assert other_ledger.statistics()["cost_usd"].tolist() == [1.0]


def test_a_row_of_a_clock_that_is_some_hours_ahead_is_taken(
    tmp_path: Path, ledger: Ledger
) -> None:
    other_ledger = Ledger.open(tmp_path / "other.sqlite")
    other_ledger.record(attempt(time=ahead(23)))
    assert import_attempts(ledger, tmp_path / "other.sqlite", PARSERS) == (1, 0, [])


def test_statistics_count_every_attempt_once_as_valid_invalid_or_failure(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    recorded(
        ledger,
        attempt(time="2026-01-01T00:00:00.000000Z"),
        attempt(
            "ef" * 32, input_tokens=0, latency_s=9.0, cost_usd=0.0
        ),  # of unknown length, not free
        unreadable(OTHER, failure="wrong_model", reasoning_tokens=1),
        failed(OTHER, time="2026-03-01T00:00:00.000000Z"),
        failed(
            OTHER, failure="timeout", cost_usd=None, time="2026-02-01T00:00:00.000000Z"
        ),
        attempt(OTHER, stage="extract", judge="another"),
    )
    frame = ledger.statistics().set_index("judge")
    assert list(frame.index) == ["another", "one"]
    counts = [
        "questions",
        "attempts",
        "valid",
        "invalid",
        "failures",
        "unpriced",
        "metered",
        "input_tokens",
    ]
    assert frame.loc["one", counts].tolist() == [3, 5, 2, 1, 2, 1, 2, 20]
    assert frame.loc["one", ["reasoning_tokens", "seconds"]].tolist() == [
        1,
        pytest.approx(0.2),
    ]
    assert frame.loc["one", "cost_usd"] == 1.0
    assert frame.loc["one", "first"] == "2026-01-01T00:00:00.000000Z"
    assert ledger.statistics("2026-02-01T00:00:00.000000Z")["attempts"].sum() == 5


# --- reading without a trace


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_where_no_ledger_is_none_is_made(ledger_location: str, tmp_path: Path) -> None:
    assert Ledger.open_read_only(ledger_location) is None
    assert not list(tmp_path.iterdir())
    if ledger_location.startswith("postgresql"):
        assert (
            inspect(create_engine(ledger_url(ledger_location))).get_table_names() == []
        )


def test_reading_a_ledger_changes_no_byte_of_it(
    tmp_path: Path,
) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    writer = Ledger.open(ledger_file)
    writer.record(attempt())
    assert KEY in Ledger.open_read_only(ledger_file).answers([KEY]), (
        "also while the writer is there"
    )  # type: ignore[union-attr]
    writer.close()
    before = contents(tmp_path)
    assert KEY in Ledger.open_read_only(ledger_file).answers([KEY])  # type: ignore[union-attr]
    assert contents(tmp_path) == before


CODE = """
import atexit, os, sys
atexit.register(os._exit, 0)  # as the command ends (cli.main.process)
from sqlalchemy import text
from lunguage_assets.judges.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
ledger.transaction(lambda connection: connection.execute(text("CREATE TABLE kept (number INTEGER)")))
"""


def test_a_command_that_ends_leaves_no_log_beside_the_file(
    tmp_path: Path,
) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    subprocess.run([sys.executable, "-c", CODE, str(ledger_file)], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert b"CREATE TABLE kept" in ledger_file.read_bytes()


def test_a_ledger_of_another_layout_is_refused_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ledger.sqlite"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE judge_attempts (key VARCHAR(64) PRIMARY KEY)")
    for open_ledger in (Ledger.open, Ledger.open_read_only):
        with pytest.raises(LedgerError, match="found no judge_attempts"):
            open_ledger(file)
    with sqlite3.connect(file) as other:
        tables = other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert tables.fetchall() == [("judge_attempts",)]
