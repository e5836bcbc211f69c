"""Every check is made by its asset before the table is stored, passes on honest tables, fails on the defect
that it is there for, and then says what to do.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from finished_homes import Finished
from small_homes import SmallHome
from stored_tables import store_table

from lunguage_assets.configuration import Configuration
from lunguage_assets.lineage.recipes import STEP_OF, STEPS_OF_JOB
from lunguage_assets.orchestration import checks
from lunguage_assets.orchestration.assets import explicit
from lunguage_assets.orchestration.checks import (
    CHECKS,
    CheckContext,
    drift_of_p,
    earlier_fits,
)
from lunguage_assets.tables import FITTED_PROBABILITIES, REPORTS, TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

PANEL_SECOND = {"ranker": "panel", "report_batch": "second"}
WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR

Evaluations = dict[tuple[str, str], dg.AssetCheckEvaluation]


@pytest.fixture
def small(finished: Finished, tmp_path: Path) -> Iterator[SmallHome]:
    shutil.copytree(finished.home, tmp_path / "home")
    with SmallHome.opened(tmp_path / "home") as opened:
        yield opened


def evaluations(result: dg.ExecuteInProcessResult) -> Evaluations:
    found = result.get_asset_check_evaluations()
    return {(one.asset_key.path[-1], one.check_name): one for one in found}


def frames(
    finished: Finished, *tables: str, batch: str = "second"
) -> dict[str, pd.DataFrame]:
    keys = {"rejected": [batch], "reports": [batch]}
    return {
        name: read_table(
            TABLES[name],
            partition_path(
                finished.home / "tables", name, *keys.get(name, ["panel", batch])
            ),
        )
        for name in tables
    }


def result(
    root: Path, name: str, tables: Mapping[str, pd.DataFrame]
) -> dg.AssetCheckResult:
    context = CheckContext(Configuration(Home(root)), PANEL_SECOND, tables)
    (found,) = [one for one in checks.check_results(context) if one.check_name == name]
    return found


def test_the_checks_of_a_batch_are_made_with_its_tables_and_say_what_they_looked_at(
    finished: Finished, tmp_path: Path
) -> None:
    shutil.copytree(finished.home, tmp_path / "home")
    with SmallHome.opened(tmp_path / "home", expectations=True) as small:
        found: Evaluations = {}
        for job, partition in (
            ("ingest", "second"),
            ("fit", PANEL_SECOND),
            ("expand", PANEL_SECOND),
        ):
            made = small.make(STEPS_OF_JOB[job], partition)
            new = evaluations(made)
            assert set(new) == {
                (STEP_OF[c.table], c.name)
                for c in CHECKS
                if STEP_OF[c.table] in STEPS_OF_JOB[job]
            }
            found |= new
    assert {one.partition for one in found.values()} == {"second", "panel|second"}
    assert [
        key for key, one in found.items() if not one.passed and one.severity is ERROR
    ] == []
    blocking = [key for key, one in found.items() if one.blocking]
    assert blocking == [("lunguage_plus_plus", "conflict_free")]
    resolved = found["lunguage_plus_plus", "conflict_free"]
    assert "All guarantees hold" in str(resolved.metadata["report"].value)
    of_suite = found["fitted_probabilities", "expectations"].metadata
    assert of_suite["expectations"].value == 4
    assert str(of_suite["file"].value).endswith("fitted_probabilities.yaml")
    sentences = {
        one
        for one in frames(finished, "lunguage_plus_plus")["lunguage_plus_plus"]["sent"]
        if one
    }
    shown = repr([one.metadata for one in found.values()])
    assert sentences
    assert not [sentence for sentence in sentences if sentence in shown]


RESOLVED = ("lunguage_plus_plus", "conflicts", "accounting")


def test_conflict_free_passes_on_what_a_run_made(
    finished: Finished, tmp_path: Path
) -> None:
    assert result(tmp_path, "conflict_free", frames(finished, *RESOLVED)).passed


def test_conflict_free_fails_on_a_row_that_stands_twice(
    finished: Finished, tmp_path: Path
) -> None:
    tables = frames(finished, *RESOLVED)
    rows = tables["lunguage_plus_plus"]
    doubled = pd.concat([rows, rows.head(1)], ignore_index=True)
    found = result(tmp_path, "conflict_free", tables | {"lunguage_plus_plus": doubled})
    assert (found.passed, found.severity) == (False, ERROR)
    assert "violations" in str(found.metadata["note"].value)
    assert not checks.may_be_stored([found])


def test_conflict_free_fails_on_accounts_that_do_not_balance(
    finished: Finished, tmp_path: Path
) -> None:
    tables = frames(finished, *RESOLVED)
    accounts = tables["accounting"].assign(merged=tables["accounting"]["merged"] + 1)
    assert not result(
        tmp_path, "conflict_free", tables | {"accounting": accounts}
    ).passed


def test_a_suite_that_was_edited_wrongly_warns_and_the_table_is_stored(
    small: SmallHome,
) -> None:
    own = small.home.root / "expectations" / "expansions.yaml"
    own.parent.mkdir()
    own.write_text("expectations:\n  - {type: expect_column_to_exist, column: p}\n")
    path = partition_path(small.home.tables, "expansions", "panel", "second")
    path.unlink()
    found = evaluations(small.make(["pathway_matches", "expansions"], PANEL_SECOND))
    failing = found["expansions", "expectations"]
    assert (failing.passed, failing.severity) == (False, WARN)
    assert "expansions.yaml" in str(failing.metadata["note"].value)
    assert path.exists()


def rejected(frame: pd.DataFrame) -> pd.DataFrame:
    told = {
        "file": "Lunguage.csv", "study_id": "", "column": "dx_status", "found": "planted words",
        "expected": "positive or negative", "remedy": "Correct the status.", "reason": "dx-status",
        "content": "planted words",
    }  # fmt: skip
    return TABLES["rejected"].frame([{**told, "line": line} for line in range(1, 40)])


def test_many_rejected_rows_warn_with_their_reasons_and_without_their_content(
    finished: Finished,
) -> None:
    tables = frames(finished, "rejected", "reports")
    assert result(finished.home, "intake_accepted", tables).passed
    tables["rejected"] = rejected(tables["rejected"])
    failing = result(finished.home, "intake_accepted", tables)
    assert (failing.passed, failing.severity) == (False, WARN)
    assert "Correct the status." in repr(failing.metadata)
    assert "Lunguage.csv:1" in str(failing.metadata["examples"].value)
    assert "planted words" not in repr(failing.metadata)


def test_a_ranking_that_its_matches_do_not_give_fails_the_comparison_with_the_package(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ranked() -> dg.AssetCheckEvaluation:
        return evaluations(small.make(["reference_ranking"], "panel"))[
            "reference_ranking", "equals_trueskill_package"
        ]

    assert ranked().passed
    honest = explicit.rank_phrases

    def moved(*given: Any) -> pd.DataFrame:
        frame = honest(*given)
        return frame.assign(mu=frame["mu"] + 1e-6)

    monkeypatch.setattr(explicit, "rank_phrases", moved)
    failing = ranked()
    assert not failing.passed
    assert failing.severity is ERROR
    assert "remedy" in failing.metadata


ALLOWED = 0.1


def fits(
    n: int, centre: float, seed: int, study: str = "s", ranking: str = "r"
) -> pd.DataFrame:
    """Pairs of one study each, with p around a centre."""
    p = np.random.default_rng(seed).normal(centre, 0.15, n).clip(0.01, 0.99)
    frame = pd.DataFrame(
        {"study_id": [f"{study}{number}" for number in range(n)], "p": p}
    )
    return frame.assign(p_source="fitted", ranking_version=ranking)


@pytest.mark.parametrize(
    ("n", "centre", "drifted"),
    [
        pytest.param(300, 0.5, False, id="the same distribution"),
        pytest.param(300, 0.6, True, id="another one"),
        pytest.param(40_000, 0.51, False, id="no chance, but too small to matter"),
        pytest.param(4, 0.7, False, id="too few to say"),
    ],
)
def test_a_drift_is_no_chance_and_matters(n: int, centre: float, drifted: bool) -> None:
    found = drift_of_p(
        fits(n, centre, 1),
        [fits(900, 0.5, 2, "t"), fits(max(n, 900), 0.5, 3, "u")],
        ALLOWED,
    )
    assert (found["drifted"], found["pairs"]) == (drifted, n)


def test_what_cannot_be_compared_is_left_out() -> None:
    new = fits(300, 0.6, 1)
    assert drift_of_p(new, [], ALLOWED) == {}
    assert (
        drift_of_p(new.assign(p_source="none"), [fits(300, 0.5, 2, "t")], ALLOWED) == {}
    )
    assert drift_of_p(new, [fits(300, 0.5, 2, "t", ranking="of before")], ALLOWED) == {}
    assert drift_of_p(new, [fits(300, 0.5, 2)], ALLOWED) == {}, "the same studies again"


def test_earlier_batches_are_those_registered_before_and_stored_in_this_form(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    for batch in ("one", "two", "three", "four"):
        delivery = tmp_path / batch
        delivery.mkdir()
        (delivery / "Lunguage.csv").write_text(f"study_id,sent\n{batch},x\n")
        home.register(delivery, batch)
    for batch, table in (
        ("one", REPORTS),
        ("three", FITTED_PROBABILITIES),
        ("four", FITTED_PROBABILITIES),
    ):
        path = partition_path(home.tables, "fitted_probabilities", "panel", batch)
        store_table(table, table.frame(), path)
    assert list(earlier_fits(home, "panel", "four")) == ["three"]
    assert (
        earlier_fits(home, "panel", "one")
        == earlier_fits(home, "panel", "unknown")
        == {}
    )
