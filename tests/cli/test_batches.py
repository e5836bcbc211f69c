"""`lunguage batches` and `lunguage status` on a finished home."""

from __future__ import annotations

import getpass
import os
import re
from pathlib import Path

import dagster as dg
import pytest
from commands import lunguage
from finished_homes import Finished
from platform_support import contents

from lunguage_assets.judges.ledger import Attempt, Ledger
from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.workspace.home import Home


@pytest.fixture
def home(finished: Finished, tmp_path: Path) -> Path:
    return finished.copied_to(tmp_path / "home")


def partitions(home: Path, *added: str) -> list[str]:
    with dagster_instance(Home(home)) as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, added)
        return sorted(instance.get_dynamic_partitions(REPORT_BATCH.name))


@pytest.mark.lengthy
def test_status_shows_what_there_is_and_changes_nothing(home: Path) -> None:
    lunguage(home, "status")  # Dagster is told of the sources, once
    before = contents(home)
    status = lunguage(home, "status")
    for words in (
        "first  40 studies, delivered as findings",
        "second  5 studies, delivered as findings",
        "preset offline",
        "panel (lexicon, cues): 2 of 2 batches; release v2, current",
        "cues (cues): not begun",
        "everything is current",
        "spent     $0.00",
    ):
        assert words in status.stdout, status.stdout
    assert contents(home) == before


def test_status_of_a_home_that_cannot_be_written_to_says_the_rest(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    status = lunguage(home, "status")
    assert status.returncode == 0, status.stderr
    assert "stale     can't be told" in status.stdout
    assert "second  5 studies" in status.stdout


def test_status_adds_up_what_was_spent(home: Path) -> None:
    Ledger.open(home / "ledger.sqlite").record(
        Attempt(f"{1:064x}", "mine-1", "compare", "m", cost_usd=3.0)
    )
    assert "spent     $3.00" in lunguage(home, "status").stdout


@pytest.mark.parametrize(
    ("name", "content", "location"),
    [
        ("settings.toml", "[implicit]\nmerge_threshold = 'high'\n", "merge_threshold"),
        (
            "pathways.yaml",
            "diagnoses:\n  - {name: oedema, spelings: {}}\n",
            "diagnoses.0: key 'spelings' is not known. Did you mean 'spellings'",
        ),
        (
            "assertion.yaml",
            "- {id: negated.nix, category: negated, patterns: [nix],\n"
            '   examples: [{text: "Nix edema.", '
            "edema: hedged}]}\n",
            (
                "cue 'negated.nix', example 'Nix edema.': found 'edema' to be negated,"
                " expected hedged"
            ),
        ),
    ],
)
def test_status_and_doctor_name_a_wrongly_edited_file_and_its_field(
    name: str, content: str, location: str, home: Path
) -> None:
    (home / name).write_text(content)
    status = lunguage(home, "status")
    examined = lunguage(home, "doctor")
    assert (status.returncode, examined.returncode) == (0, 1)
    for printed, word in ((status.stdout, "broken"), (examined.stdout, "refusal")):
        (line,) = [line for line in printed.splitlines() if line.startswith(word)]
        assert name in line
        assert location in line


def test_what_would_go_is_said_and_nothing_goes_without_yes(home: Path) -> None:
    before = contents(home)
    done = lunguage(home, "batches", "remove", "second")
    assert done.returncode == 130
    assert "all tables of it" in done.stdout
    assert contents(home) == before


def test_a_removed_batch_is_gone_from_tables_partitions_and_the_next_release(
    home: Path,
) -> None:
    assert partitions(home, "first", "second") == ["first", "second"]
    done = lunguage(home, "batches", "remove", "second", "--yes")
    assert done.returncode == 0, done.stderr
    assert partitions(home) == ["first"]
    assert not list((home / "tables").rglob("second.parquet"))
    assert (home / "release" / "panel" / "v1").is_dir()
    removal = rf"second  removed \S+ by {getpass.getuser()}"
    assert re.search(removal, lunguage(home, "batches", "list").stdout)
    printed = lunguage(home, "status").stdout
    assert re.search(removal, printed), printed
    assert re.findall("to make: (.*), ", printed) == ["release (panel)"]
    assert "a batch or an analysis changed" in printed


def test_a_batch_on_which_a_run_works_is_not_removed(home: Path) -> None:
    with dagster_instance(Home(home)) as instance:
        tags = {"dagster/partition": "panel|second"}
        run = instance.create_run_for_job(_nothing, tags=tags)
    refused = lunguage(home, "batches", "remove", "second", "--yes")
    assert refused.returncode == 1
    assert f"run {run.run_id} is at work" in refused.stderr
    assert [batch.key for batch in Home(home).registered()] == ["first", "second"]


@dg.job
def _nothing() -> None:
    pass
