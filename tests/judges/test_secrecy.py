"""No sentence of a patient's report leaves the places where report text belongs,
whatever services do, and however much is logged.

The corpus counts as credentialed, three real SDKs speak to a server that quotes prompts
back in error messages, refusals and garbage, and everything that Python logs is kept at
level DEBUG. Where text belongs is in `planted`; what bursts in the middle of assets, in
tests/orchestration/test_text_secrecy.py.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import logging
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import planted
import pytest
from loopback import Act, Call, Kind, LoopbackServer

from lunguage_assets.sample.files import write_sample

LOUD = {
    "OPENAI_LOG": "debug",
    "ANTHROPIC_LOG": "debug",
    "GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google",
    "ANTHROPIC_API_KEY": "k-a",
    "GEMINI_API_KEY": "k-g",
}
TALKATIVE = ("openai", "anthropic", "google_genai", "google.auth", "httpx2")
OWN_RULER = (
    "reference_scale = 'own'\nreference_scale_minimum = 3\nminimum_examples = 1\n"
    "repetitions = 1\norders = 2\n"
)
ANCHORS = "rater,phrase,sentence,rating\n" + "".join(
    f"{rater},probably,s,80\n{rater},cannot be excluded,s,30\n" for rater in "ab"
)
PRESET = """
preset = "p"
[panels.all]
members = ["openai-compatible", "anthropic", "gemini"]
[presets.p]
panel = "all"
extractor = "openai-compatible"
"""
JUDGE = """
[judges.{provider}]
provider = "{provider}"
model = "tester-{provider}"
base_url = "{url}"
params = {{ {tokens} = 100 }}
allowed_data = ["credentialed"]
zero_retention_attested_on = 2026-01-01
zero_retention_attested_by = "A test"
{limits}
"""
TOKENS = {
    "openai-compatible": "max_tokens",
    "anthropic": "max_tokens",
    "gemini": "max_output_tokens",
}
QUOTING: tuple[Kind, ...] = (
    "rate_limited", "server_error", "overloaded", "garbage", "refusal", "answer", "wrong_shape",
)  # fmt: skip


def quoted_from(call: Call) -> str:
    """The end of a prompt, where the sentences are: long messages are cut."""
    return call.user[-300:]


def troubled() -> Callable[[Call], Act]:
    """Every other call is quoted back, in all ways in turn, up to the third call of a
    prompt; of one prompt in five all calls are.
    """
    turn = itertools.cycle(QUOTING)
    is_quoted = itertools.cycle([True, False])
    seen = Counter[str]()

    def decide(call: Call) -> Act:
        seen[call.prompt] += 1
        if hashlib.sha256(call.user.encode()).digest()[0] % 5 == 0:
            return Act(text=quoted_from(call))
        if seen[call.prompt] < 4 and next(is_quoted):
            return Act(next(turn), text=quoted_from(call))
        return Act()

    return decide


def rejecting(call: Call) -> Act:
    has_words = "sentence_1:" in call.user and planted.WORD in call.user
    return Act("bad_request", text=quoted_from(call)) if has_words else Act()


class Run(NamedTuple):
    """A home, and what became of a run in it."""

    home: Path
    status: int
    shown: bytes
    calls: list[Call]


def run(home: Path, delivery: Path, decide: Callable[[Call], Act]) -> Run:
    judges = home.parent / "judges.toml"
    with LoopbackServer(decide=decide) as server:
        text = PRESET
        for provider, tokens in TOKENS.items():
            url = server.openai_url if provider.startswith("openai") else server.url
            values = {"provider": provider, "tokens": tokens, "url": url}
            text += JUDGE.format(**values, limits=planted.LIMITS)
        judges.write_text(text)
        for name in TALKATIVE:
            # As the variables in LOUD have it in a new process.
            logging.getLogger(name).setLevel(logging.DEBUG)
        arguments = ("run", "--data", delivery, "--batch", "d")
        status, shown = planted.shown_by(
            home, *arguments, LUNGUAGE_JUDGES=str(judges), **LOUD
        )
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.NOTSET)
        return Run(home, status, shown, server.calls)


@pytest.fixture(scope="module")
def quoted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that went well although the server quotes."""
    folder = tmp_path_factory.mktemp("secrecy")
    write_sample(folder / "delivered", reports=8, seed=3)
    planted.plant(folder / "delivered")
    home = planted.write_home(folder / "home")
    (home / "anchor_ratings.csv").write_text(ANCHORS)
    own = planted.SETTINGS.replace("reference_scale = 'published'\n", OWN_RULER)
    (home / "settings.toml").write_text(own)
    return run(home, folder / "delivered", troubled())


def test_the_search_finds_the_words_in_whatever_form_they_are_written(
    tmp_path: Path,
) -> None:
    text = f"There may be a nodule {planted.PLANTED}."
    contents = [
        text.encode(), json.dumps(text).encode(), repr(text.upper()).encode(),
        text.lower().encode("utf-16"),
    ]  # fmt: skip
    contents += [base64.b64encode(b"x" * shift + text.encode()) for shift in range(3)]
    assert all(map(planted.has_words, contents))
    assert not planted.has_words(b"There may be a nodule near the rim.")
    (tmp_path / "log").write_bytes(contents[0])
    with sqlite3.connect(tmp_path / "events.db") as connection:
        connection.execute("CREATE TABLE logs (id INTEGER, event TEXT)")
        connection.execute("INSERT INTO logs VALUES (1, ?)", ["x" * 4070 + text])
    assert {"log", "events.db: logs.event"} <= set(planted.traces(tmp_path))


@pytest.mark.lengthy
def test_the_words_reach_only_what_needs_them(quoted: Run) -> None:
    home = quoted.home
    assert b"rows accounted for" in quoted.shown, quoted.shown[-3000:]
    asked = {call.model for call in quoted.calls if planted.WORD in call.user}
    assert asked == {f"tester-{provider}" for provider in TOKENS}
    released = home / "release/panel/v1/restricted/Lunguage_plus_plus.csv"
    assert planted.WORD in released.read_text()
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        failures = "SELECT DISTINCT failure FROM judge_calls_made"
        answers = f"{failures} WHERE answer LIKE '%zanzibar%'"
        assert ("unreadable",) in ledger.execute(answers).fetchall()
        kinds = {failure for (failure,) in ledger.execute(failures)}
    assert kinds >= {None, "rate_limited", "server", "malformed", "unreadable"}
    assert planted.traces(home) == []
    assert not planted.has_words(quoted.shown)


@pytest.mark.lengthy
def test_a_failure_is_told_and_stored_without_the_words(
    quoted: Run, tmp_path: Path
) -> None:
    home = shutil.copytree(quoted.home, tmp_path / "home")
    (home / "ledger.sqlite").unlink()
    # Without fits, or nothing would be left to ask.
    (home / "tables/fitted_probabilities/panel/d.parquet").unlink()
    failed = run(home, quoted.home.parent / "delivered", rejecting)
    assert failed.status == 1
    assert b"rejected (HTTP 400, " in failed.shown, failed.shown[-3000:]
    assert planted.traces(home) == []
    assert not planted.has_words(failed.shown)
    with sqlite3.connect(home / "dagster" / "history" / "runs.db") as index:
        query = "SELECT count(*) FROM runs WHERE status = 'FAILURE'"
        assert index.execute(query).fetchone() == (1,)
