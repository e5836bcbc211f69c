"""No sentence of a patient's report leaves the places where report text belongs,
whatever services do, and however much is logged.

The corpus counts as credentialed, three real SDKs speak to a server that quotes prompts
back in error messages, model names, refusals and garbage, and everything that Python
logs is kept at level DEBUG. Where text belongs is in `planted`; what bursts in the
middle of assets, in tests/orchestration/test_text_secrecy.py.
"""

from __future__ import annotations

import base64
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import child_process
import planted
import planted_runs
import pytest
from loopback import LoopbackServer

LOUD = {
    "OPENAI_LOG": "debug",
    "ANTHROPIC_LOG": "debug",
    "GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google",
    "PYTHONPATH": child_process.environment()["PYTHONPATH"],
}
TALKATIVE = ("openai", "anthropic", "google_genai", "google.auth", "httpx2")
BEHAVIOURS = {
    "troubled": planted.troubled(),
    "rejecting": lambda prompt, occurrence: "400" if "sentence_1:" in prompt else "",
}
OWN_RULER = (
    "reference_scale = 'own'\nreference_scale_minimum = 3\nminimum_examples = 1\n"
    "repetitions = 1\norders = 2\n"
)
ANCHORS = "rater,phrase,sentence,rating\n" + "".join(
    f"{rater},{phrase},s,{rating}\n"
    for rater in "ab"
    for phrase, rating in (("probably", 80), ("cannot be excluded", 30))
)


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        planted.quoting(running, BEHAVIOURS)
        yield running


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, server: LoopbackServer) -> Path:
    """A folder with two homes: `first` after a run that went well, `second` after it
    and a fit whose questions were rejected.
    """
    folder = tmp_path_factory.mktemp("secrecy")
    first = planted.write_home(folder / "first")
    (folder / "logs").mkdir()
    assert planted.write_corpus(folder / "delivered", 8) > 5
    (first / "anchor_ratings.csv").write_text(ANCHORS)
    own = planted.SETTINGS.replace("reference_scale = 'published'\n", OWN_RULER)
    (first / "settings.toml").write_text(own)
    fits = folder / "second" / "tables/fitted_probabilities/panel/d.parquet"
    copied = [str(first), str(folder / "second")]

    def scenario(name: str, home: str, behaviour: str, **more: Any) -> dict[str, Any]:
        judges = planted.write_judges(folder, server.url, behaviour)
        environment = {
            **planted.KEYS, **LOUD, "LUNGUAGE_HOME": str(folder / home),
            "LUNGUAGE_JUDGES": str(judges),
            "LUNGUAGE_LEDGER": str(folder / home / f"ledger-{behaviour}.sqlite"),
        }  # fmt: skip
        arguments = ["run", "--data", str(folder / "delivered"), "--batch", "d"]
        plain = {"name": name, "arguments": arguments, "environment": environment}
        return {**plain, "crash": [], "files": {}, "copy": [], **more}

    loggers = [logging.getLogger(name) for name in TALKATIVE]
    levels = [logger.level for logger in loggers]
    for step in (
        scenario("well", "first", "troubled"),
        # Without fits, or nothing would be left to ask.
        scenario(
            "rejecting", "second", "rejecting", copy=copied, files={str(fits): "none"}
        ),
    ):
        for logger in loggers:
            # As the variables in LOUD have it in a new process.
            logger.setLevel(logging.DEBUG)
        planted_runs.run(step, folder / "logs")
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    return folder


def shown(runs: Path, name: str) -> str:
    text = (runs / "logs" / f"{name}.out").read_bytes()
    return text.decode("utf-8", errors="replace")


def test_the_search_finds_the_words_in_whatever_form_they_are_written(
    tmp_path: Path,
) -> None:
    text = f"There may be a nodule {planted.PLANTED}."
    contents = [
        text.encode(), json.dumps(text).encode(), repr(text.upper()).encode(),
        text.lower().encode("utf-16"),
    ]  # fmt: skip
    contents += [base64.b64encode(b"x" * shift + text.encode()) for shift in range(3)]
    found = planted.traces(tmp_path, *contents)
    assert found == [f"shown {number}" for number in range(len(contents))]
    assert planted.traces(tmp_path, b"There may be a nodule near the rim.") == []
    with sqlite3.connect(tmp_path / "events.db") as connection:
        connection.execute("CREATE TABLE logs (id INTEGER, event TEXT)")
        connection.execute("INSERT INTO logs VALUES (1, ?)", ["x" * 4070 + text])
    assert "events.db: logs.event" in planted.traces(tmp_path)


@pytest.mark.lengthy
def test_the_words_reach_only_what_needs_them(
    runs: Path, server: LoopbackServer
) -> None:
    home = runs / "first"
    assert "rows accounted for" in shown(runs, "well"), shown(runs, "well")[-3000:]
    models_asked = {call.model for call in server.calls if planted.WORD in call.user}
    assert models_asked == {"tester-1", "tester-2", "tester-3"}
    released = home / "release/panel/v1/restricted/Lunguage_plus_plus.csv"
    assert planted.WORD in released.read_text()
    with sqlite3.connect(home / "ledger-troubled.sqlite") as ledger:
        quoted = "SELECT DISTINCT failure FROM judge_calls_made"
        answers = f"{quoted} WHERE answer LIKE '%zanzibar%'"
        assert ("unreadable",) in ledger.execute(answers).fetchall()
        failures = {failure for (failure,) in ledger.execute(quoted)}
    assert failures >= {
        None, "rate_limited", "server", "malformed", "refused",
        "unreadable",
    }  # fmt: skip
    assert planted.traces(home, shown(runs, "well").encode()) == []


@pytest.mark.lengthy
def test_a_failure_is_told_and_stored_without_the_words(runs: Path) -> None:
    assert (runs / "logs" / "rejecting.status").read_text() == "1"
    assert "rejected (HTTP 400, " in shown(runs, "rejecting")
    home = runs / "second"
    assert planted.traces(home, shown(runs, "rejecting").encode()) == []
    with sqlite3.connect(home / "dagster" / "history" / "runs.db") as index:
        query = "SELECT count(*) FROM runs WHERE status = 'FAILURE'"
        assert index.execute(query).fetchone() == (1,)
