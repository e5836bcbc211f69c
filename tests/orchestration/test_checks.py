"""Every check is made by its asset before the table is stored, passes on honest tables,
fails on the defect that it is there for, and then says what to do.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from small_homes import SmallHome
from stored_tables import stored_table

from lunguage_assets.configuration import Configuration
from lunguage_assets.implicit.resolution import guarantees
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.checks import (
    conflict_free,
    expectations,
    intake_accepted,
)
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.packaged_data import expectation
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home

WARN = dg.AssetCheckSeverity.WARN
ERROR = dg.AssetCheckSeverity.ERROR

Evaluations = dict[tuple[str, str], dg.AssetCheckEvaluation]


def evaluations(result: dg.ExecuteInProcessResult) -> Evaluations:
    return {
        (evaluation.asset_key.path[-1], evaluation.check_name): evaluation
        for evaluation in result.get_asset_check_evaluations()
    }


def frames(
    finished: Finished, *tables: str, batch: str = "second"
) -> dict[str, pd.DataFrame]:
    """Tables of a batch."""
    folder = finished.home / "tables"
    return {name: stored_table(folder, name, report_batch=batch) for name in tables}


@pytest.fixture(scope="module")
def checked(
    finished: Finished, tmp_path_factory: pytest.TempPathFactory
) -> Evaluations:
    """What the checks said while the second batch was made again, with suites."""
    home = tmp_path_factory.mktemp("checked") / "home"
    shutil.copytree(finished.home, home)
    outcomes: Evaluations = {}
    with SmallHome.opened(home, expectations=True) as small:
        for job in ("ingest", "refit"):
            made = small.make(*JOBS[job], report_batch="second")
            outcomes |= evaluations(made)
    return outcomes


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
    assert suite["expectations"].value == 5
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
    assert suites == {file.stem for file in expectation().iterdir()}


RESOLVED = (
    "lunguage_plus_plus", "conflicts", "accounting", "resolution_log", "set_aside",
)  # fmt: skip
RESOLVED_FROM = (
    "reports", "rejected", "deduplicated_findings", "pathway_matches", "expansions",
)  # fmt: skip


def first(column: str, value: Any, where: str = "index == index") -> Any:
    """Another value in a column of the first row that a condition chooses."""

    def spoil(frame: pd.DataFrame) -> pd.DataFrame:
        spoilt = frame.copy()
        spoilt[column] = spoilt[column].astype(object)
        spoilt.at[frame.query(where, engine="python").index[0], column] = value
        return spoilt.astype(frame.dtypes)

    return spoil


def without_first(where: str) -> Any:
    return lambda frame: frame.drop(index=frame.query(where, engine="python").index[0])


def again(**values: Any) -> Any:
    """The first stated row a second time, under another id and number."""

    def spoil(frame: pd.DataFrame) -> pd.DataFrame:
        stated = frame[frame["status"] == "dp"].head(1)
        row = {"finding_id": stated["finding_id"] + "x", "idx": 999, **values}
        row["root_id"] = row["finding_id"]
        return pd.concat([frame, stated.assign(**row)], ignore_index=True)

    return spoil


def denied_child(frame: pd.DataFrame) -> pd.DataFrame:
    """The first implied row, and a stated one that denies it at every place."""
    child = frame[frame["source"] == "expansion"].head(1)
    denial = {"source": "original", "parent_id": None, "root_id": child["root_id"]}
    denial |= {"finding_id": child["root_id"] + "9", "support": 1.0, "idx": 0, **DENIAL}
    denial |= {"p_source": "definitive", "prob_is_bound": False}
    denied = child.assign(**denial, location_parts=[()])
    return pd.concat([frame, denied], ignore_index=True)


def without_first_study(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["study_id"] != frame["study_id"].iloc[0]]


Tables = dict[str, pd.DataFrame]
ROWS = "lunguage_plus_plus"
STATED, IMPLIED = "source == 'original'", "source == 'expansion'"
DENIAL = {"status": "dn", "prob": 0.0, "p_low": 0.0, "p_high": 0.0}
BROKEN = [
    (ROWS, first("prob", 1.7), "p_high"),
    (ROWS, first("prob", 0.0, "status == 'dp'"), "a definite finding is certain"),
    (ROWS, first("p_low", 0.9, "p_high < 0.9"), "p_low <= prob"),
    (ROWS, first("status", "dp", "status == 'dn'"), "a definite finding is certain"),
    (ROWS, without_first(STATED), guarantees.ACCOUNTED),
    (ROWS, again(), guarantees.ONE_ROW_PER_KEY),
    (ROWS, again(**DENIAL), guarantees.NO_CLASH),
    (ROWS, first("parent_id", "s00000000-1", IMPLIED), guarantees.LIVING_PARENT),
    (ROWS, first("support", 1.0, f"{IMPLIED} and support < 0.9"), guarantees.NO_SURER),
    (ROWS, first("evidence", ["s00000000-1"]), guarantees.WHOLE_REFERENCES),
    (ROWS, denied_child, guarantees.NOT_AGAINST),
    (ROWS, without_first_study, guarantees.STUDY_PRESENT),
    (ROWS, lambda rows: pd.concat([rows, rows.head(1)]), "is unique"),
    ("conflicts", lambda rows: rows.head(0), guarantees.CONFLICTS_LISTED),
    ("conflicts", lambda rows: rows[~rows["suppressed"]], guarantees.CONFLICTS_LISTED),
    ("accounting", first("merged", 99), "the accounts"),
    ("accounting", without_first_study, guarantees.ACCOUNTED),
]
"""Table, what is broken in it, and the rule that says so."""


@pytest.fixture(scope="module")
def resolved(finished: Finished) -> tuple[Tables, Tables]:
    """What resolution read of a batch, and what it made of that."""
    inputs = frames(finished, *RESOLVED_FROM, batch="first")
    return inputs, frames(finished, *RESOLVED, batch="first")


@pytest.mark.parametrize(("table", "spoil", "rule"), BROKEN)
def test_conflict_free_recomputes_and_fails_on(
    table: str,
    spoil: Any,
    rule: str,
    resolved: tuple[Tables, Tables],
    finished: Finished,
) -> None:
    inputs, tables = resolved
    broken = tables | {table: spoil(tables[table])}
    failing = conflict_free(Configuration(Home(finished.home)), inputs | broken)
    assert (failing.passed, failing.severity) == (False, ERROR)
    assert rule in str(failing.description)
    assert "remedy" in failing.metadata


def test_each_guarantee_is_broken_above() -> None:
    assert {*guarantees.GUARANTEES} <= {rule for _, _, rule in BROKEN}


def test_a_suite_that_was_edited_wrongly_warns(tmp_path: Path) -> None:
    suite_file = tmp_path / "expectations" / "expansions.yaml"
    suite_file.parent.mkdir()
    suite_file.write_text(
        "expectations:\n  - {type: expect_column_to_exist, column: p}\n"
    )
    frame = TABLES["expansions"].frame()
    failing = expectations(Configuration(Home(tmp_path)), "expansions", frame)
    assert (failing.passed, failing.severity) == (False, WARN)
    assert "expansions.yaml" in str(failing.description)


def test_a_warning_says_what_to_do_and_where_in_words(tmp_path: Path) -> None:
    table = TABLES["hedge_phrases"]
    frame = table.frame().reindex([0]).assign(needs_review=True, answer_state="valid")
    warning = expectations(Configuration(Home(tmp_path)), table.name, frame)
    reason = str(warning.description)
    assert "Few pairs wait for a person: not so in 1 of 1 rows" in reason
    assert "corrections.csv" in reason
    assert "review/" in reason
    assert "expect_" not in reason


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
