"""The ledger keeps every call, finds it by everything that decides an answer, and never
changes an answer that was used.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from fake_model import CONFIG, question
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import Attempt, Ledger, LedgerError
from lunguage_assets.judges.requests import NO_REPLY, Reply, Request

KEY = "ab" * 32
OTHER = "cd" * 32
SECRET = "the zebra-striped opacity"


def attempt(key: str = KEY, **changes: Any) -> Attempt:
    reply = {"returned_model": "fake-1", "input_tokens": 10, "output_tokens": 2}
    reply |= {"text": changes.pop("answer", "sentence_1")}
    for name in ("input_tokens", "margin"):
        if name in changes:
            reply[name] = changes.pop(name)
    fields = {"judge": "one", "stage": "compare", "model": "fake-1", "cost_usd": 0.5}
    return Attempt(key, **{**fields, "reply": Reply(**reply), **changes})


def answers(ledger: Ledger, *keys: str) -> dict[str, str | None]:
    settled = ledger.settled(keys)
    return {key: question.answer for key, question in settled.items()}


# --- keys


def test_a_key_tells_apart_everything_that_decides_an_answer() -> None:
    def key(request: Request | None = None, **changes: Any) -> str:
        return CONFIG.model_copy(update=changes).key_of(request or question(1))

    same = [
        key(params=dict(reversed(CONFIG.params.items()))),
        key(params={"max_tokens": 10.0, "temperature": 1.0}),
    ]
    assert {key(), *same} == {key()}
    others = [
        key(provider="x"), key(model="x"), key(params={}),
        key(question(1, stage="extract")), key(question(1, mode="enum")),
        key(question(1, labels=("a", "b"))), key(question(1, replicate=1)),
        key(question(1, schema="{}")),
        *(key(question(1, **{name: "x"}))
          for name in ("system", "user", "template_version")),
        *(key(params={"top_p": value}) for value in (1, True, "1", None, [1])),
    ]  # fmt: skip
    assert len({key(), *others}) == 1 + len(others)


def test_questions_of_the_method_keep_their_golden_keys() -> None:
    """Golden: a changed key would have every answer in every ledger paid again."""
    parameters = {"max_tokens": 10, "temperature": 1.0}
    config = LLMJudgeConfig(provider="openai", model="gpt-x", params=parameters)
    compared = Request(
        "compare", "s", "u", "v", "enum", ("sentence_1", "sentence_2"), 3
    )
    extracted = Request("extract", "s", "u", "v")
    assert [config.key_of(compared), config.key_of(extracted)] == [
        "fb1599ace0bf94aa387db0394ca86be8596bb221e31b7c0ef55c6db3da5e4573",
        "990814bc298c7b1a2e5c12326fd45fd6809f29de920658ec8e6d789c61cb512d",
    ]


# --- recording and finding


def test_a_recorded_answer_is_found_by_another_ledger_object(
    ledger_location: str,
) -> None:
    settled = Ledger.open(ledger_location).record(attempt(margin=-0.25))
    assert settled is not None
    assert (settled.answer, settled.margin) == ("sentence_1", -0.25)
    assert Ledger.open(ledger_location).settled([KEY, OTHER]) == {KEY: settled}


def test_a_paid_answer_is_recorded_whatever_characters_it_holds(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(answer="nul \x00 surrogate \ud800 plain \u00e9 \U0001f600"))
    stored = answers(ledger, KEY)[KEY]
    assert stored is not None
    assert stored.startswith("nul \ufffd surrogate ")
    assert stored.endswith(" plain \u00e9 \U0001f600")


@given(
    st.lists(st.sampled_from([None, "unreadable", "refused"]), min_size=1, max_size=12)
)
@examples(20)
def test_what_is_recorded_after_a_question_is_settled_never_changes_it(
    tmp_path_factory: pytest.TempPathFactory, flaws: list[Any]
) -> None:
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    # Asking ends where a question is settled: what follows comes of another process.
    states = [
        ledger.record(attempt(answer=f"answer {number}", failure=flaw))
        for number, flaw in enumerate(flaws)
    ]
    ledger.close()
    assert len({state for state in states if state is not None}) <= 1


def test_a_refusal_uses_up_a_try_as_what_cannot_be_read_does(ledger: Ledger) -> None:
    # Older ledgers tell them apart.
    for key, flaw in ((KEY, "unreadable"), (OTHER, "refused")):
        for _ in range(5):
            ledger.record(attempt(key, answer="hmm", failure=flaw))
    assert answers(ledger, KEY, OTHER) == {KEY: None, OTHER: None}


def _write_many(ledger_location: str, writer: int, keys: list[str]) -> None:
    ledger = Ledger.open(ledger_location)
    for key in keys:
        ledger.record(attempt(key, answer=f"writer {writer}", judge=f"judge {writer}"))


def test_processes_that_write_at_once_lose_nothing(ledger_location: str) -> None:
    keys = [f"{number:064x}" for number in range(30)]
    Ledger.open(ledger_location).close()
    context = multiprocessing.get_context("fork")
    orders = [keys, keys[::-1], keys[15:] + keys[:15]]
    writers = [
        context.Process(target=_write_many, args=(ledger_location, *order))
        for order in enumerate(orders)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    ledger = Ledger.open(ledger_location)
    assert int(ledger.statistics()["attempts"].sum()) == 3 * len(keys)
    assert len(answers(ledger, *keys)) == len(keys)


# --- what is kept private


def test_ledger_and_log_are_for_the_owner_alone(tmp_path: Path) -> None:
    ledger_file = tmp_path / "sub" / "ledger.sqlite"
    before = os.umask(0)
    try:
        ledger = Ledger.open(ledger_file)
        ledger.record(attempt())
        files = list(ledger_file.parent.iterdir())
        modes = {stat.S_IMODE(file.stat().st_mode) for file in files}
    finally:
        os.umask(before)
    assert len(files) >= 2
    assert modes == {0o600}
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open(ledger_file / "below.sqlite")


def test_no_log_of_the_database_at_any_level_shows_an_answer(
    ledger_location: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("sqlalchemy", "sqlalchemy.engine", "sqlalchemy.engine.Engine"):
        caplog.set_level(logging.DEBUG, logger=name)
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(answer=SECRET))
    assert answers(ledger, KEY) == {KEY: SECRET}
    assert SECRET not in caplog.text


def test_no_error_and_no_repr_shows_an_answer_or_a_password(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("DROP TABLE judge_calls_made")
    message = r"cannot be used \(OperationalError"
    with pytest.raises(LedgerError, match=message) as caught:
        ledger.record(attempt(answer=SECRET))
    assert SECRET not in str(caught.value) + repr(attempt(answer=SECRET))
    assert caught.value.__suppress_context__
    with pytest.raises(LedgerError) as refused:
        Ledger.open("postgresql+psycopg9://me:hunter2@localhost/db?password=hunter3")
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize("where", ["sqlite://", "mysql://localhost/db", "://"])
def test_a_ledger_that_would_not_last_is_refused(where: str) -> None:
    with pytest.raises(LedgerError):
        Ledger.open(where)


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("invented notes, by no means a database " * 50)
    before = notes.read_bytes()
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open(notes)
    assert notes.read_bytes() == before


# --- statistics


def test_statistics_count_every_call_once_as_valid_invalid_or_failure(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    assert ledger.statistics().empty
    for made in (
        attempt(time="2026-01-01T00:00:00.000000Z"),
        # Of unknown length, not free.
        attempt("ef" * 32, input_tokens=0, cost_usd=0.0),
        attempt(OTHER, answer="hmm", failure="refused"),
        attempt(OTHER, failure="server", reply=NO_REPLY, cost_usd=0.0),
        attempt(OTHER, failure="timeout", reply=NO_REPLY, cost_usd=None),
        attempt(OTHER, stage="extract", judge="another"),
    ):
        ledger.record(made)
    frame = ledger.statistics().set_index("judge")
    assert list(frame.index) == ["another", "one"]
    columns = ["questions", "attempts", "valid", "invalid", "failures", "unpriced"]
    assert frame.loc["one", columns].tolist() == [3, 5, 2, 1, 2, 1]
    assert frame.loc["one", ["metered", "input_tokens"]].tolist() == [2, 20]
    assert frame.loc["one", "cost_usd"] == 1.0
    assert frame.loc["one", "first"] == "2026-01-01T00:00:00.000000Z"
    assert ledger.statistics("2026-02-01T00:00:00.000000Z")["attempts"].sum() == 5


def test_looking_for_a_ledger_makes_none(tmp_path: Path) -> None:
    ledger_file = tmp_path / "ledger.sqlite"
    assert Ledger.find(ledger_file) is None
    assert not list(tmp_path.iterdir())
    Ledger.open(ledger_file).record(attempt())
    found = Ledger.find(ledger_file)
    assert found is not None
    assert KEY in answers(found, KEY)
