"""Every check passes on honest tables, fails on the defect that it is there for, and then says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from small_homes import SmallHome, store_unchecked, write_deliveries

from lunguage_assets.explicit.fit.probability import calibrate, load_anchors, probability
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, read_table
from lunguage_assets.orchestration.checks.tables import JOB_OF
from lunguage_assets.orchestration.jobs import STAGES
from lunguage_assets.tables import JUDGE_AGREEMENT, TABLES

BATCHES = ("first", "second")
OF_PANEL = ("fitted_probabilities", "fit_log", "deduplicated_findings", "pathway_matches", "expansions")
RESOLVED = ("lunguage_plus_plus", "resolution_log", "conflicts", "accounting")
KEYS = {"judge": "lexicon", "ranker": "panel", "report_batch": "second"}

Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of eight reports that went all the way, with the published ruler."""
    root = tmp_path_factory.mktemp("through")
    with SmallHome.opened(root / "home") as small:
        small.rank(write_deliveries(root / "deliveries", reports=8, batches=BATCHES))
        for batch in BATCHES:
            small.make([*OF_PANEL, *RESOLVED], {"ranker": "panel", "report_batch": batch})
    return root / "home"


@pytest.fixture
def small(through: Path, tmp_path: Path) -> Iterator[SmallHome]:
    shutil.copytree(through, tmp_path / "home")
    with SmallHome.opened(tmp_path / "home") as opened:
        yield opened


def place(small: SmallHome, table: str, batch: str = "second") -> Path:
    keys = {**KEYS, "report_batch": batch}
    return Path(
        str(
            partition_path(
                small.home.tables, table, *(keys[dimension] for dimension in PARTITIONED_BY[table])
            )
        )
    )


def rewrite(small: SmallHome, table: str, change: Change, batch: str = "second") -> None:
    path = place(small, table, batch)
    store_unchecked(TABLES[table], change(read_table(TABLES[table], path)), path)


def check(small: SmallHome, table: str, name: str) -> dg.AssetCheckEvaluation:
    return small.check(table, name, "|".join(KEYS[dimension] for dimension in PARTITIONED_BY[table]))


def many(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows for ten times as many studies."""
    copies = [frame.assign(study_id="s" + str(n) + frame["study_id"].str[2:]) for n in range(10)]
    return pd.concat(copies, ignore_index=True)


def surer(frame: pd.DataFrame) -> pd.DataFrame:
    return many(frame).assign(p=0.95, p_low=0.9, p_high=0.99)


def never_matching(frame: pd.DataFrame) -> pd.DataFrame:
    return many(frame.assign(reason=frame["reason"].mask(frame["reason"] == "matched", "unknown view")))


def without_views(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(view_source="unknown")


def all_rejected(frame: pd.DataFrame) -> pd.DataFrame:
    row = {
        "file": "Lunguage.csv",
        "study_id": "",
        "column": "dx_status",
        "found": "planted words",
        "expected": "positive or negative",
    }
    told = {**row, "remedy": "Correct the status.", "reason": "dx-status", "content": "planted words"}
    return TABLES["rejected"].frame([{**told, "line": line} for line in range(1, 40)])


def shifted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        p=frame["p"].mask(frame["p_source"] == "fitted", (frame["p_low"] + frame["p_high"]) / 2)
    )


def overconfident(frame: pd.DataFrame) -> pd.DataFrame:
    tentative = frame["status"].isin(["tp", "tn"]) & (frame["source"] == "original")
    return frame.assign(prob=frame["prob"].mask(tentative, 1.0), p_high=frame["p_high"].mask(tentative, 1.0))


def unbalanced(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(balanced=frame.index != 0).drop(index=1)


def twice(frame: pd.DataFrame) -> pd.DataFrame:
    again = frame.iloc[[0]].assign(finding_id=frame["finding_id"].iloc[0] + "0", idx=999)
    return pd.concat([frame, again], ignore_index=True)


ERROR, WARN = dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN


@pytest.mark.parametrize(
    ("table", "name", "severity", "defect", "named"),
    [
        ("rejected", "intake_accepted", WARN, all_rejected, "Correct the status."),
        ("reports", "intake_drift", WARN, without_views, "studies without known views"),
        ("fitted_probabilities", "p_drift", WARN, surer, "this batch"),
        ("pathway_matches", "expansion_drift", WARN, never_matching, "expands where it could"),
        ("fitted_probabilities", "p_in_range", ERROR, shifted, "what the place on the ranking"),
        ("lunguage_plus_plus", "p_in_range", ERROR, overconfident, "never certain"),
        ("lunguage_plus_plus", "conflict_free", ERROR, twice, "no key has two rows"),
        ("accounting", "accounts_balance", ERROR, unbalanced, "not listed"),
        ("accounting", "expectations", ERROR, unbalanced, "`expand`"),
    ],
)
def test_a_check_passes_on_honest_tables_and_fails_on_its_defect_with_a_remedy(
    small: SmallHome, table: str, name: str, severity: dg.AssetCheckSeverity, defect: Change, named: str
) -> None:
    if name in ("p_drift", "expansion_drift", "intake_drift"):  # enough earlier studies to compare with
        for read in (table, *(["findings"] if table == "reports" else [])):
            rewrite(small, read, many, "first")
    passing = check(small, table, name)
    assert passing.passed
    assert "remedy" not in passing.metadata
    rewrite(small, table, defect)
    failing = check(small, table, name)
    assert not failing.passed
    assert failing.severity is severity
    assert named in str(failing.metadata["report"].value)
    assert len(str(failing.metadata["remedy"].value)) > 40
    assert failing.metadata["table"].value == str(place(small, table))
    assert "planted words" not in repr(failing.metadata)


def test_a_first_batch_is_compared_with_nothing_and_says_so(small: SmallHome) -> None:
    for table, name in (
        ("reports", "intake_drift"),
        ("pathway_matches", "expansion_drift"),
        ("fitted_probabilities", "p_drift"),
    ):
        found = small.check(table, name, "first" if table == "reports" else "panel|first")
        assert found.passed
        assert "no earlier batch" in str(found.metadata["note"].value)


def test_fits_of_another_ranking_are_not_compared(small: SmallHome) -> None:
    rewrite(small, "fitted_probabilities", lambda frame: many(frame).assign(ranking_version="0ther"), "first")
    rewrite(small, "fitted_probabilities", surer)
    assert check(small, "fitted_probabilities", "p_drift").passed
    rewrite(small, "fitted_probabilities", lambda frame: frame.assign(ranking_version="0ther"))
    found = check(small, "fitted_probabilities", "p_in_range")
    assert found.passed
    assert "ranking_current" in str(found.metadata["note"].value)


def test_many_places_beyond_the_rated_phrases_warn_and_are_no_error(small: SmallHome) -> None:
    ranking = read_table(TABLES["reference_ranking"], place(small, "reference_ranking"))
    line = calibrate(ranking, load_anchors())

    def beyond(frame: pd.DataFrame) -> pd.DataFrame:
        fitted = frame["p_source"] == "fitted"
        p, low, high = (values[0] for values in probability([60.0], [1.0], line))
        places = {"mu": 60.0, "p": p, "p_low": low, "p_high": high}
        return frame.assign(**{name: frame[name].mask(fitted, value) for name, value in places.items()})

    rewrite(small, "fitted_probabilities", beyond)
    found = check(small, "fitted_probabilities", "p_in_range")
    assert not found.passed
    assert found.severity is WARN
    assert "anchor_ratings.csv" in str(found.metadata["remedy"].value)


@pytest.mark.parametrize(("value", "passed"), [(0.87, True), (0.5, False), (1.0, False)])
def test_agreement_outside_the_usual_band_warns(small: SmallHome, value: float, passed: bool) -> None:
    row = {
        "measure": "pairwise agreement",
        "coding": "none",
        "first": "cues",
        "second": "lexicon",
        "value": value,
        "low": value,
        "high": value,
    }
    frame = JUDGE_AGREEMENT.frame([{**row, "p_value": None, "n": 900, "left_out": 0, "reasons": ""}])
    store_unchecked(JUDGE_AGREEMENT, frame, place(small, "judge_agreement"))
    found = check(small, "judge_agreement", "agreement_usual")
    assert found.passed == passed
    assert "0.861 to 0.870" in str(found.metadata["report"].value)
    assert ("remedy" in found.metadata) != passed


MODEL = """
preset = "one"
presets.one = {{ panel = "one", extractor = "model" }}
panels.one = {{ members = ["model"] }}
judges.model = {{ provider = "openai", model = "model-1", retires_on = {retires_on} }}
"""


@pytest.mark.parametrize(
    ("retires_on", "key", "wrong"),
    [
        ("2199-01-01", "invented", ""),
        ("2199-01-01", "", "OPENAI_API_KEY"),
        ("2020-01-01", "invented", "retired"),
    ],
)
def test_a_language_model_is_alive_as_long_as_it_is_served_and_open_questions_can_be_asked(
    small: SmallHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retires_on: str, key: str, wrong: str
) -> None:
    (tmp_path / "judges.toml").write_text(MODEL.format(retires_on=retires_on))
    monkeypatch.setenv("LUNGUAGE_JUDGES", str(tmp_path / "judges.toml"))
    monkeypatch.setenv("OPENAI_API_KEY", key) if key else monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    source = place(small, "hedge_phrases")
    target = source.parents[1] / "model" / "second.parquet"
    target.parent.mkdir()
    shutil.copyfile(source, target)
    found = small.check("hedge_phrases", "judge_alive", "model|second")
    assert found.passed == (not wrong)
    assert wrong in str(found.metadata["report"].value)
    assert not (small.home.root / "ledger.sqlite").exists(), "looking leaves nothing"


def test_a_rule_based_judge_is_always_alive(small: SmallHome) -> None:
    found = check(small, "comparison_matches", "judge_alive")
    assert found.passed
    assert "Rule-based" in str(found.metadata["note"].value)


def test_every_table_has_a_job_that_remedies_can_name() -> None:
    assert set(JOB_OF) >= set(TABLES)
    assert set(JOB_OF.values()) <= set(STAGES)
