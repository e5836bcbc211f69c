"""Every check is made by its asset before the table is stored, passes on honest tables,
fails on the defect that it is there for, and then says what to do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from small_homes import SmallHome

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.assets import explicit
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.checks import (
    conflict_free,
    intake_accepted,
)
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.packaged_data import expectation
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

PANEL_SECOND = {"ranker": "panel", "report_batch": "second"}
WARN = dg.AssetCheckSeverity.WARN
ERROR = dg.AssetCheckSeverity.ERROR

Evaluations = dict[tuple[str, str], dg.AssetCheckEvaluation]


def evaluations(result: dg.ExecuteInProcessResult) -> Evaluations:
    return {
        (evaluation.asset_key.path[-1], evaluation.check_name): evaluation
        for evaluation in result.get_asset_check_evaluations()
    }


def frames(finished: Finished, *tables: str) -> dict[str, pd.DataFrame]:
    """Tables of the second batch."""
    by_batch = ("rejected", "reports")
    frames_by_table = {}
    for name in tables:
        keys = ["second"] if name in by_batch else ["panel", "second"]
        path = partition_path(finished.home / "tables", name, *keys)
        frames_by_table[name] = read_table(TABLES[name], path)
    return frames_by_table


CHECKS_OF_A_BATCH = {
    "findings": {"intake_accepted", "in_english"},
    "fitted_probabilities": {"expectations"},
    "deduplicated_findings": {"expectations"},
    "expansions": {"expectations"},
    "lunguage_plus_plus": {"conflict_free", "expectations", "none_set_aside"},
}


@pytest.fixture(scope="module")
def checked(
    finished: Finished, tmp_path_factory: pytest.TempPathFactory
) -> Evaluations:
    """What the checks said while the second batch was made again, with suites."""
    home = tmp_path_factory.mktemp("checked") / "home"
    shutil.copytree(finished.home, home)
    outcomes: Evaluations = {}
    with SmallHome.opened(home, expectations=True) as small:
        for job, partition in (
            ("ingest", "second"),
            ("fit", PANEL_SECOND),
            ("expand", PANEL_SECOND),
        ):
            outcomes |= evaluations(small.make(JOBS[job].steps, partition))
    return outcomes


def test_every_check_of_a_batch_is_made_for_its_partition(checked: Evaluations) -> None:
    by_asset: dict[str, set[str]] = {}
    for asset, check in checked:
        by_asset.setdefault(asset, set()).add(check)
    assert by_asset == CHECKS_OF_A_BATCH
    partitions = {evaluation.partition for evaluation in checked.values()}
    assert partitions == {"second", "panel|second"}


def test_no_honest_table_fails_a_check(checked: Evaluations) -> None:
    failed = [
        key
        for key, evaluation in checked.items()
        if not evaluation.passed and evaluation.severity is ERROR
    ]
    assert failed == []


def test_only_conflict_free_blocks(checked: Evaluations) -> None:
    blocking = [key for key, evaluation in checked.items() if evaluation.blocking]
    assert blocking == [("lunguage_plus_plus", "conflict_free")]


def test_checks_say_what_they_looked_at(checked: Evaluations) -> None:
    resolved = checked["lunguage_plus_plus", "conflict_free"].metadata
    assert "All guarantees hold" in str(resolved["report"].value)
    suite = checked["fitted_probabilities", "expectations"].metadata
    assert suite["expectations"].value == 4
    assert str(suite["file"].value).endswith("fitted_probabilities.yaml")


def test_no_check_shows_a_sentence(checked: Evaluations, finished: Finished) -> None:
    rows = frames(finished, "lunguage_plus_plus")["lunguage_plus_plus"]
    sentences = {sentence for sentence in rows["sent"] if sentence}
    metadata = repr([evaluation.metadata for evaluation in checked.values()])
    assert sentences
    assert not [sentence for sentence in sentences if sentence in metadata]


def test_every_file_of_expectations_is_a_check_of_its_asset(tmp_path: Path) -> None:
    graph = build_defs(Configuration(Home(tmp_path))).resolve_asset_graph()
    suites = {
        check.asset_key.path[-1]
        for check in graph.asset_check_keys
        if check.name == "expectations"
    }
    # The accounts of sentences are held against theirs by the step that reads reports.
    named = {file.stem for file in expectation().iterdir()} - {"sentence_accounts"}
    assert suites == named | {"structured_findings"}


RESOLVED = ("lunguage_plus_plus", "conflicts", "accounting")


def doubled(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([rows, rows.head(1)], ignore_index=True)


def unbalanced(accounts: pd.DataFrame) -> pd.DataFrame:
    return accounts.assign(merged=accounts["merged"] + 1)


@pytest.mark.parametrize(
    ("table", "spoil"),
    [("lunguage_plus_plus", doubled), ("accounting", unbalanced)],
    ids=["a row that stands twice", "accounts that do not balance"],
)
def test_conflict_free_passes_on_what_a_run_made_and_fails_on(
    table: str,
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    finished: Finished,
    tmp_path: Path,
) -> None:
    configuration = Configuration(Home(tmp_path))
    tables = frames(finished, *RESOLVED)
    assert conflict_free(configuration, tables).passed
    tables[table] = spoil(tables[table])
    failing = conflict_free(configuration, tables)
    assert (failing.passed, failing.severity) == (False, ERROR)
    assert "violations" in str(failing.metadata["note"].value)
    assert "remedy" in failing.metadata


def test_a_suite_that_was_edited_wrongly_warns_and_the_table_is_stored(
    small: SmallHome,
) -> None:
    suite_file = small.home.root / "expectations" / "expansions.yaml"
    suite_file.parent.mkdir()
    suite_file.write_text(
        "expectations:\n  - {type: expect_column_to_exist, column: p}\n"
    )
    path = partition_path(small.home.tables, "expansions", "panel", "second")
    path.unlink()
    outcomes = evaluations(small.make(["expansions"], PANEL_SECOND))
    failing = outcomes["expansions", "expectations"]
    assert (failing.passed, failing.severity) == (False, WARN)
    assert "expansions.yaml" in str(failing.metadata["note"].value)
    assert path.exists()


def rejected(frame: pd.DataFrame) -> pd.DataFrame:
    row = {
        "file": "Lunguage.csv", "study_id": "", "column": "dx_status", "found": "planted words",
        "expected": "positive or negative", "remedy": "Correct the status.", "reason": "dx-status",
        "content": "planted words",
    }  # fmt: skip
    return TABLES["rejected"].frame([{**row, "line": line} for line in range(1, 40)])


def test_many_rejected_rows_warn_with_their_reasons_and_without_their_content(
    finished: Finished,
) -> None:
    resource = Configuration(Home(finished.home))
    tables = frames(finished, "rejected", "reports")
    assert intake_accepted(resource, tables["rejected"], tables["reports"]).passed
    many_rejected = rejected(tables["rejected"])
    failing = intake_accepted(resource, many_rejected, tables["reports"])
    assert (failing.passed, failing.severity) == (False, WARN)
    assert "Correct the status." in repr(failing.metadata)
    assert "Lunguage.csv:1" in str(failing.metadata["examples"].value)
    assert "planted words" not in repr(failing.metadata)


@pytest.mark.parametrize(("delivered_otherwise", "passes"), [(19, True), (18, False)])
def test_rejected_rows_without_a_study_count_as_delivered(
    tmp_path: Path, delivered_otherwise: int, passes: bool
) -> None:
    """One of twenty rows is allowed, one of nineteen is not."""
    configuration = Configuration(Home(tmp_path))
    assert configuration.settings.checks.rejected_share == 0.05
    one_row = rejected(TABLES["rejected"].frame()).head(1)
    reports = pd.DataFrame({"rows_delivered": [delivered_otherwise]})
    outcome = intake_accepted(configuration, one_row, reports)
    assert outcome.passed is passes
    assert outcome.metadata["rows_delivered"].value == delivered_otherwise + 1


def test_a_ranking_unlike_its_matches_fails_the_comparison_with_the_package(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ranked() -> dg.AssetCheckEvaluation:
        return evaluations(small.make(["reference_ranking"], "panel"))[
            "reference_ranking", "equals_trueskill_package"
        ]

    assert ranked().passed
    honest = explicit.ranked_phrases

    def moved(*arguments: Any) -> pd.DataFrame:
        frame = honest(*arguments)
        return frame.assign(mu=frame["mu"] + 1e-6)

    monkeypatch.setattr(explicit, "ranked_phrases", moved)
    failing = ranked()
    assert not failing.passed
    assert failing.severity is ERROR
    assert "remedy" in failing.metadata
