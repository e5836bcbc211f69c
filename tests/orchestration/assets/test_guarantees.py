"""Write, audit, publish: what is wrong is not stored, is reported by key, and is not read further."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from platform_support import contents
from small_homes import SmallHome, store_unchecked

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.home.store import partition_path, read_table, stored_record, write_table
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import implicit
from lunguage_assets.tables import ACCOUNTING, LUNGUAGE_PLUS_PLUS

BATCH = {"ranker": "panel", "report_batch": "first"}


RESULT = RECIPES["resolution"].tables


def twice_the_same(rows: pd.DataFrame) -> pd.DataFrame:
    """A valid table in which one study says one thing twice, once denying it."""
    first, second = rows.index[rows["study_id"] == rows["study_id"].iloc[0]][:2]
    changed = rows.copy()
    for column in ("name", "currency"):
        changed.loc[second, column] = changed.loc[first, column]
    changed.at[second, "location_parts"] = changed.at[first, "location_parts"]
    changed.loc[second, "status"] = "dn" if changed.loc[first, "status"] != "dn" else "dp"
    return changed


def poison(small: SmallHome) -> pd.DataFrame:
    """A result that breaks a guarantee, with a sound record: as code with a fault could store it."""
    path = partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first")
    record = stored_record(LUNGUAGE_PLUS_PLUS, path)
    assert record is not None
    rows = twice_the_same(read_table(LUNGUAGE_PLUS_PLUS, path))
    write_table(LUNGUAGE_PLUS_PLUS, rows, path, record.keys, record.made_of)
    return rows


def resolve(small: SmallHome) -> dg.ExecuteInProcessResult:
    return small.make(RESULT, BATCH, raise_on_error=False)


def test_a_result_that_breaks_a_guarantee_is_not_stored(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(Path(str(small.home.tables)))
    honest = implicit.resolve

    def broken(*arguments: object, **options: object) -> Resolution:
        resolution = honest(*arguments, **options)  # type: ignore[arg-type]
        return Resolution(twice_the_same(resolution.rows), resolution.log, resolution.conflicts)

    monkeypatch.setattr(implicit, "resolve", broken)
    assert not resolve(small).success
    after = contents(Path(str(small.home.tables)))
    for table in ("lunguage_plus_plus", "resolution_log", "conflicts", "accounting"):
        assert {k: v for k, v in after.items() if k.startswith(table)} == {
            k: v for k, v in before.items() if k.startswith(table)
        }


def test_accounts_that_do_not_balance_are_not_stored(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = implicit.account
    monkeypatch.setattr(implicit, "account", lambda *arguments: honest(*arguments).assign(balanced=False))
    partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first").unlink()
    assert not resolve(small).success
    assert not partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first").exists()


def test_the_conflict_free_check_names_the_failing_rows(small: SmallHome) -> None:
    rows = poison(small)
    found = small.check("lunguage_plus_plus", "conflict_free", "panel|first")
    assert not found.passed
    assert found.blocking
    report = str(found.metadata["report"].value)
    assert rows["study_id"].iloc[0] in report
    assert rows["finding_id"].iloc[0] in report
    assert found.metadata["partition"].value == "panel|first"


def test_the_accounts_check_names_the_study(small: SmallHome) -> None:
    path = partition_path(small.home.tables, "accounting", "panel", "first")
    accounts = read_table(ACCOUNTING, path)
    accounts.loc[0, "balanced"] = False
    store_unchecked(ACCOUNTING, accounts.drop(index=1), Path(str(path)))
    names = ("accounts_balance", "expectations")
    failed = {name: small.check("accounting", name, "panel|first") for name in names}
    assert not any(evaluation.passed for evaluation in failed.values())
    report = str(failed["accounts_balance"].metadata["report"].value)
    assert accounts["study_id"].iloc[0] in report
    assert accounts["study_id"].iloc[1] in report
    assert accounts["study_id"].iloc[0] in str(failed["expectations"].metadata["report"].value)


def test_the_release_does_not_read_a_poisoned_partition(small: SmallHome) -> None:
    before = contents(small.home.release)
    poison(small)
    assert not small.make(["release"], "panel", raise_on_error=False).success
    assert contents(small.home.release) == before


def test_a_ranking_of_another_vocabulary_is_not_used(small: SmallHome) -> None:
    (small.home.root / "settings.toml").write_text('[explicit]\nruler = "published"\n')
    small.make(["hedge_vocabulary"], "lexicon")
    for tables, partition in ((["reference_ranking"], "panel"), (RECIPES["fitting"].tables, BATCH)):
        result = small.make(tables, partition, raise_on_error=False)
        assert not result.success
        failures = [event.step_failure_data for event in result.all_events if event.is_step_failure]
        assert any(
            "another version of the hedge vocabulary"
            in str(f.user_failure_data and f.user_failure_data.description)
            for f in failures
        )


def test_no_check_metadata_carries_report_text(small: SmallHome) -> None:
    sentences = {s for s in poison(small)["sent"] if len(s) > 20}
    assert sentences
    names = ("conflict_free", "expectations")
    shown = repr([small.check("lunguage_plus_plus", name, "panel|first").metadata for name in names])
    assert not [sentence for sentence in sentences if sentence in shown]
