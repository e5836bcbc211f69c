"""Checks of the explicit half: each passes on honest tables and fails, with a remedy, on the defect that it
is there for.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, read_table, write_table
from lunguage_assets.orchestration.assets import explicit
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.tables import TABLES

PARTITIONS = {
    "hedge_phrases": ("lexicon", "first"),
    "comparison_matches": ("cues",),
    "fitted_probabilities": ("panel", "first"),
}


@pytest.fixture
def home(finished_home: Path, tmp_path: Path) -> Home:
    shutil.copytree(finished_home, tmp_path / "home")
    return Home(tmp_path / "home")


def check(home: Home, table: str, name: str) -> dg.AssetCheckEvaluation:
    """The check's verdict on the stored partition."""
    selection = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(table), name))
    definitions = dg.Definitions.merge(
        build_defs(home), dg.Definitions(jobs=[dg.define_asset_job("one_check", selection)])
    )
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["first"])
        tags = {"dagster/partition": "|".join(PARTITIONS[table])}
        result = definitions.resolve_job_def("one_check").execute_in_process(
            instance=instance, tags=tags, raise_on_error=False
        )
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def rewrite(home: Home, table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    path = partition_path(home.tables, table, *PARTITIONS[table])
    write_table(TABLES[table], change(read_table(TABLES[table], path)), path)


def always_first(frame: pd.DataFrame) -> pd.DataFrame:
    """A judge that always answers sentence_1."""
    return frame.assign(
        answer="sentence_1", winner=frame["phrase_b"].where(frame["swapped"], frame["phrase_a"])
    )


def mostly_silent(frame: pd.DataFrame) -> pd.DataFrame:
    silent = frame.index % 10 == 0
    return frame.assign(
        answer=frame["answer"].mask(silent, "invalid"), winner=frame["winner"].mask(silent, None)
    )


def without_ground(frame: pd.DataFrame) -> pd.DataFrame:
    first = frame.index == 0
    nothing = {name: frame[name].mask(first) for name in ("mu", "sigma", "rank", "mu_centre", "mu_sd")}
    return frame.assign(
        **nothing,
        p=frame["p"].mask(first, 0.5),
        p_low=frame["p_low"].mask(first, 0.0),
        p_high=frame["p_high"].mask(first, 1.0),
        p_source=frame["p_source"].mask(first, "none"),
    )


def all_reviewed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(corrected=True, needs_review=False)


@pytest.mark.parametrize(
    ("table", "name", "honest", "defect"),
    [
        ("hedge_phrases", "pairs_reviewed", all_reviewed, None),
        ("comparison_matches", "position_bias", None, always_first),
        ("comparison_matches", "answers_valid", None, mostly_silent),
        ("fitted_probabilities", "pairs_informed", None, without_ground),
    ],
)
def test_a_check_passes_on_honest_tables_and_warns_of_its_defect_with_a_remedy(
    home: Home,
    table: str,
    name: str,
    honest: Callable[[pd.DataFrame], pd.DataFrame] | None,
    defect: Callable[[pd.DataFrame], pd.DataFrame] | None,
) -> None:
    if defect is None:  # the defect is there from the start: the sample has pairs that nobody has reviewed
        failing = check(home, table, name)
    if honest is not None:
        rewrite(home, table, honest)
    passing = check(home, table, name)
    if defect is not None:
        rewrite(home, table, defect)
        failing = check(home, table, name)
    assert passing.passed
    assert "remedy" not in passing.metadata
    assert not failing.passed
    assert failing.severity is dg.AssetCheckSeverity.WARN
    assert len(str(failing.metadata["remedy"].value)) > 40
    assert failing.metadata["partition"].value == "|".join(PARTITIONS[table])


def test_a_ranking_that_its_matches_do_not_give_fails_the_comparison_with_the_package(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ranked() -> dg.AssetCheckEvaluation:
        with dg.DagsterInstance.ephemeral() as instance:
            job = build_defs(home).resolve_job_def("rank")
            result = job.execute_in_process(instance=instance, partition_key="panel", raise_on_error=False)
        return next(
            e for e in result.get_asset_check_evaluations() if e.check_name == "equals_trueskill_package"
        )

    assert ranked().passed
    honest = explicit.rank_phrases

    def shifted(*arguments: object) -> pd.DataFrame:
        frame: pd.DataFrame = honest(*arguments)  # type: ignore[arg-type]
        return frame.assign(mu=frame["mu"] + 1e-6)

    monkeypatch.setattr(explicit, "rank_phrases", shifted)
    failing = ranked()
    assert not failing.passed
    assert failing.severity is dg.AssetCheckSeverity.ERROR
    assert "remedy" in failing.metadata
