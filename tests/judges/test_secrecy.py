"""No sentence of a patient's report leaves the places where report text belongs,
whatever fails, and however much is logged.

The corpus counts as credentialed, three real SDKs speak to a server that quotes prompts
back in error messages, model names, refusals and garbage, everything that Python logs
is kept at level DEBUG, and errors burst in the middle of assets. Where text belongs is
in `planted`.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import child_process
import planted
import planted_runs
import pytest
from loopback import LoopbackServer
from platform_support import without_expectations

LOUD = {
    "OPENAI_LOG": "debug",
    "ANTHROPIC_LOG": "debug",
    "GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google",
    "PYTHONPATH": child_process.environment()["PYTHONPATH"],
}
TALKATIVE = (
    "openai",
    "anthropic",
    "google_genai",
    "google.auth",
    "httpx2",
    "httpcore2",
)
BEHAVIOURS = {
    "troubled": planted.troubled(),
    "rejecting": lambda prompt, occurrence: "400" if "sentence_1:" in prompt else "",
}
CRASHES = {
    "asset": "lunguage_assets.orchestration.assets.explicit:extract_hedge_phrases",
    "check": "lunguage_assets.orchestration.checks:examined",
}
QUOTING_FILES = {
    "corrections": (
        "corrections.csv",
        f'finding_id,phrases\nx,"There may be a nodule {planted.PLANTED}.",too,many\n',
    ),
    "settings": (
        "settings.toml",
        f'[explicit]\nreference_scale = "There may be a nodule {planted.PLANTED}."\n',
    ),
}


RATINGS = f"rater,phrase,sentence,rating\na,There may be a nodule {planted.PLANTED}.,may,40\nb,likely,x,90\n"
OWN_RULER = (
    "reference_scale = 'own'\nreference_scale_minimum = 3\nminimum_examples = 1\n"
    "repetitions = 1\norders = 2\n"
)
ANCHORS = "rater,phrase,sentence,rating\n" + "".join(
    f"{rater},{phrase},s,{rating}\n"
    for rater in "ab"
    for phrase, rating in (("probably", 80), ("cannot be excluded", 30))
)


class Runs:
    """Homes after their runs: `first` after one that went well, `second` after it and
    failures of its fit, `third` after others.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.first, self.second, self.third = (
            folder / "first",
            folder / "second",
            folder / "third",
        )
        self.logs = folder / "logs"
        self.logs.mkdir()

    def shown(self, name: str) -> str:
        return (self.logs / f"{name}.out").read_text(encoding="utf-8", errors="replace")

    def status(self, name: str) -> str:
        return (self.logs / f"{name}.status").read_text()

    def environment(self, home: Path, behaviour: str) -> dict[str, str]:
        """Variables of a run, with a ledger of its own for every behaviour of the
        server.
        """
        judges = planted.write_judges(self.folder, self.url, behaviour)
        ledger = (
            "ledger.sqlite" if behaviour == "troubled" else f"ledger-{behaviour}.sqlite"
        )
        return {
            **planted.KEYS, **LOUD, "LUNGUAGE_HOME": str(home), "LUNGUAGE_JUDGES": str(judges),
            "LUNGUAGE_LEDGER": str(home / ledger),
        }  # fmt: skip

    def scenario(
        self,
        name: str,
        home: Path,
        behaviour: str = "troubled",
        delivered: str = "delivered",
        **more: Any,
    ) -> dict[str, Any]:
        arguments = [
            "run",
            "--data",
            str(self.folder / delivered),
            "--batch",
            delivered[0],
        ]
        plain = {
            "name": name,
            "arguments": arguments,
            "environment": self.environment(home, behaviour),
        }
        return {**plain, "crash": [], "files": {}, "copy": [], **more}


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        planted.quoting(running, BEHAVIOURS)
        yield running


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, server: LoopbackServer) -> Runs:
    runs_made = Runs(tmp_path_factory.mktemp("secrecy"), server.url)
    first = runs_made.first
    second = runs_made.second
    third = runs_made.third
    assert planted.write_corpus(runs_made.folder / "delivered", 8) > 5
    shutil.copytree(runs_made.folder / "delivered", runs_made.folder / "headless")
    planted.write_rows(
        runs_made.folder / "headless",
        planted.read_rows(runs_made.folder / "delivered"),
        header=False,
    )
    for home in (first, third):
        (planted.write_home(home) / "anchor_ratings.csv").write_text(ANCHORS)
        (home / "settings.toml").write_text(
            planted.SETTINGS.replace("reference_scale = 'published'\n", OWN_RULER)
        )
    fits = second / "tables" / "fitted_probabilities" / "panel" / "d.parquet"
    scenarios = [
        runs_made.scenario("well", first),
        runs_made.scenario(
            "rejecting",
            second,
            "rejecting",
            copy=[str(first), str(second)],
            files={str(fits): "none"},
        ),  # from here on without fits, or nothing would be left to ask
        runs_made.scenario(
            "ratings", second, files={str(second / "anchor_ratings.csv"): RATINGS}
        ),
        *(
            runs_made.scenario(name, third, crash=[place])
            for name, place in CRASHES.items()
        ),
        *(
            runs_made.scenario(name, third, files={str(third / file): text})
            for name, (file, text) in QUOTING_FILES.items()
        ),
        runs_made.scenario("headless", third, delivered="headless"),
    ]
    loggers = [logging.getLogger(name) for name in TALKATIVE]
    levels = [logger.level for logger in loggers]
    for scenario in scenarios:
        for logger in loggers:
            logger.setLevel(
                logging.DEBUG
            )  # as the variables in LOUD have it in a new process
        planted_runs.run(scenario, runs_made.logs)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    return runs_made


def test_the_search_finds_the_words_in_whatever_form_they_are_written(
    tmp_path: Path,
) -> None:
    text = f"There may be a nodule {planted.PLANTED}."
    contents = [
        text.encode(),
        json.dumps(text).encode(),
        repr(text.upper()).encode(),
        text.lower().encode("utf-16"),
    ]
    contents += [base64.b64encode(b"x" * shift + text.encode()) for shift in range(3)]
    assert planted.traces(tmp_path, *contents) == [
        f"shown {number}" for number in range(len(contents))
    ]
    assert planted.traces(tmp_path, b"There may be a nodule near the rim.") == []
    with sqlite3.connect(tmp_path / "events.db") as connection:
        connection.execute("CREATE TABLE logs (id INTEGER, event TEXT)")
        connection.execute("INSERT INTO logs VALUES (1, ?)", ["x" * 4070 + text])
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t").write_text(text)
    assert "events.db: logs.event" in planted.traces(tmp_path)
    assert not [path for path in planted.traces(tmp_path) if path.startswith("tables")]


@pytest.mark.lengthy
def test_the_words_reach_only_what_needs_them(
    runs: Runs, server: LoopbackServer
) -> None:
    assert "rows accounted for" in runs.shown("well"), runs.shown("well")[-3000:]
    models_asked = {call.model for call in server.calls if planted.WORD in call.user}
    assert models_asked == {"tester-1", "tester-2", "tester-3"}
    for folder in (
        "tables/findings/d.parquet",
        "tables/rejected/d.parquet",
        "release/panel/v1/restricted/Lunguage_plus_plus.csv",
        "ledger.sqlite",
    ):
        assert (runs.first / folder).exists()
    assert (
        planted.WORD
        in (
            runs.first / "release/panel/v1/restricted/Lunguage_plus_plus.csv"
        ).read_text()
    )
    with sqlite3.connect(runs.first / "ledger.sqlite") as ledger:
        quoted = ledger.execute(
            "SELECT failure, count(*) FROM judge_calls_made WHERE answer LIKE '%zanzibar%' GROUP BY failure"
        ).fetchall()
        failures = {
            failure
            for (failure,) in ledger.execute(
                "SELECT DISTINCT failure FROM judge_calls_made"
            )
        }
    assert {failure for failure, _ in quoted} >= {"unreadable"}
    assert failures >= {
        None,
        "rate_limited",
        "server",
        "overloaded",
        "malformed",
        "refused",
        "unreadable",
    }
    assert planted.traces(runs.first, runs.shown("well").encode()) == []


@pytest.mark.lengthy
@pytest.mark.parametrize(("name", "message"), [
    ("rejecting", "rejected (HTTP 400, "), ("headless", "header line"),
    ("asset", "unexpected ValueError in "), ("check", "unexpected"),
    ("corrections", "corrections.csv, row 1"), ("ratings", "(a phrase of"), ("settings", "settings.toml"),
])  # fmt: skip
def test_whatever_fails_the_reason_is_told_without_the_words(
    runs: Runs, name: str, message: str
) -> None:
    assert runs.status(name) == "1", runs.shown(name)[-3000:]
    assert message in runs.shown(name)
    assert planted.traces(runs.folder / "nothing", runs.shown(name).encode()) == []


@pytest.mark.lengthy
def test_after_failures_no_database_holds_the_words(
    runs: Runs,
) -> None:
    # Wrong settings and a table without a header stop before there is a run.
    for home, failures in ((runs.second, 2), (runs.third, len(CRASHES) + 1)):
        assert planted.traces(home) == []
        with sqlite3.connect(home / "dagster" / "history" / "runs.db") as index:
            (failed,) = index.execute(
                "SELECT count(*) FROM runs WHERE status = 'FAILURE'"
            ).fetchone()
        assert failed == failures


@pytest.mark.lengthy  # two processes
def test_runs_of_plain_dagster_tell_and_store_nothing_of_the_words(
    runs: Runs, server: LoopbackServer
) -> None:
    home = runs.folder / "served"
    without_expectations(shutil.copytree(runs.first, home))
    ours = ("LUNGUAGE", "DAGSTER")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(ours)},
        **runs.environment(home, "troubled"),
        "LUNGUAGE_LEDGER": str(home / "ledger-ui.sqlite"),
        "DAGSTER_HOME": str(home / "dagster"),
    }
    calls_before = len(server.calls)
    processes = []
    for asset, partition in (
        ("hedge_phrases", "one|d"),
        ("deduplicated_findings", "panel|d"),
    ):
        command = [
            sys.executable,
            "-m",
            "dagster",
            "asset",
            "materialize",
            "-m",
            "planted_definitions",
        ]
        command += ["--select", asset, "--partition", partition]
        processes.append(
            subprocess.run(command, env=environment, capture_output=True, check=False)
        )
    assert [process.returncode for process in processes] == [0, 1], processes
    assert len(server.calls) > calls_before
    assert b"its message is withheld" in processes[1].stderr
    assert (
        planted.traces(
            home,
            *(
                text
                for process in processes
                for text in (process.stdout, process.stderr)
            ),
        )
        == []
    )
