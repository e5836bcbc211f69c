"""Every check passes on honest tables, fails on the defect that it is there for, and then says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow.parquet as pq
import pytest
from small_homes import SmallHome, store_unchecked, write_deliveries

from lunguage_assets.current.plan import STEPS_OF_JOB
from lunguage_assets.data_files import resource
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.probability import calibrate, probability
from lunguage_assets.home.store import PARTITIONED_BY, read_table, stored_record, write_table
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.orchestration.checks.groups import CHECKS, GROUPS
from lunguage_assets.orchestration.checks.look import Check, Look
from lunguage_assets.orchestration.jobs import tables_of_job
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.tables import COMPARISON_MATCHES, JUDGE_AGREEMENT, TABLES

BATCHES = ("first", "second")
RESULTS = (*tables_of_job("fit"), *tables_of_job("expand"))
KEYS = {"judge": "lexicon", "ranker": "panel", "structurer": "rules", "report_batch": "second"}

Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of eight reports that went all the way, with the published ruler."""
    root = tmp_path_factory.mktemp("through")
    with SmallHome.opened(root / "home") as small:
        small.compare(write_deliveries(root / "deliveries", reports=8, batches=BATCHES))
        for judge in ("lexicon", "cues"):
            play(root / "home", judge)
        small.make(["reference_ranking"], "panel")
        for batch in BATCHES:
            small.make(tables_of_job("fit"), {"ranker": "panel", "report_batch": batch})
            small.make(tables_of_job("expand"), {"ranker": "panel", "report_batch": batch})
    return root / "home"


def play(root: Path, judge: str) -> None:
    """Matches of an even judge, made of what the empty table was: the published ruler needs none."""
    path = look(root, "comparison_matches", judge=judge).path("comparison_matches")
    record = stored_record(COMPARISON_MATCHES, path)
    version = look(root, "hedge_vocabulary").table("hedge_vocabulary")["vocabulary_version"].iloc[0]
    rows = [
        {
            "match_id": f"{n:016x}",
            "phrase_a": "less likely",
            "phrase_b": "possible",
            "repetition": n,
            "sentence_a": "less likely <finding>",
            "sentence_b": "possible <finding>",
            "swapped": n % 4 > 1,
            "answer": f"sentence_{n % 2 + 1}",
            "winner": ("less likely", "possible")[(n % 2) ^ (n % 4 > 1)],
            "vocabulary_version": version,
        }
        for n in range(200)
    ]
    assert record is not None
    write_table(COMPARISON_MATCHES, COMPARISON_MATCHES.frame(rows), path, record.keys, record.made_of)


@pytest.fixture
def root(through: Path, tmp_path: Path) -> Path:
    shutil.copytree(through, tmp_path / "home")
    return tmp_path / "home"


def check_of(table: str, name: str) -> Check:
    (found,) = [check for check in CHECKS if (check.table, check.name) == (table, name)]
    return found


def look(root: Path, table: str, judges_file: str = "", **keys: str) -> Look:
    chosen = {dimension: (KEYS | keys)[dimension] for dimension in PARTITIONED_BY[table]}
    return Look(HomeResource(root=str(root), judges_file=judges_file), chosen)


def result(root: Path, table: str, name: str, judges_file: str = "", **keys: str) -> dg.AssetCheckResult:
    return check_of(table, name).result(look(root, table, judges_file, **keys))


def rewrite(root: Path, table: str, change: Change, batch: str = "second") -> None:
    path = look(root, table, report_batch=batch).path(table)
    store_unchecked(TABLES[table], change(read_table(TABLES[table], path)), Path(str(path)))


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


def certain(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(p=1.0, p_high=1.0)


def overconfident(frame: pd.DataFrame) -> pd.DataFrame:
    tentative = frame["status"].isin(["tp", "tn"]) & (frame["source"] == "original")
    return frame.assign(prob=frame["prob"].mask(tentative, 1.0), p_high=frame["p_high"].mask(tentative, 1.0))


def unbalanced(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(balanced=frame.index != 0).drop(index=1)


def twice(frame: pd.DataFrame) -> pd.DataFrame:
    again = frame.iloc[[0]].assign(finding_id=frame["finding_id"].iloc[0] + "0", idx=999)
    return pd.concat([frame, again], ignore_index=True)


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
    return frame.assign(p_source=frame["p_source"].mask(frame.index == 0, "none"))


def waiting(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(needs_review=True, review_reason="invalid answer")


def two_rankings(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(ranking_version=["0ther", *frame["ranking_version"][1:]])


def run_away(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(mu=frame["mu"].mask(frame.index == 0, 80.0))


ERROR, WARN = dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN
DRIFTS = {"p_drift": [], "expansion_drift": [], "intake_drift": ["findings"]}


@pytest.mark.parametrize(
    ("table", "name", "severity", "defect", "named"),
    [
        ("rejected", "intake_accepted", WARN, all_rejected, "Correct the status."),
        ("reports", "intake_drift", WARN, without_views, "studies without known views"),
        ("hedge_phrases", "pairs_reviewed", WARN, waiting, "invalid answer"),
        ("comparison_matches", "position_bias", WARN, always_first, "sentence_1 chosen"),
        ("comparison_matches", "answers_valid", WARN, mostly_silent, ""),
        ("fitted_probabilities", "pairs_informed", WARN, without_ground, "none"),
        ("fitted_probabilities", "p_drift", WARN, surer, "this batch"),
        ("pathway_matches", "expansion_drift", WARN, never_matching, "expands where it could"),
        ("fitted_probabilities", "p_in_range", ERROR, certain, "never certain"),
        ("lunguage_plus_plus", "p_in_range", ERROR, overconfident, "never certain"),
        ("lunguage_plus_plus", "conflict_free", ERROR, twice, "no key has two rows"),
        ("accounting", "accounts_balance", ERROR, unbalanced, "not listed"),
        ("accounting", "expectations", ERROR, unbalanced, "balanced is one of"),
        ("lunguage_plus_plus", "expectations", ERROR, two_rankings, "ranking_version has one value"),
        ("reference_ranking", "expectations", ERROR, run_away, r"mu \\<= 65.0"),
    ],
)
def test_a_check_passes_on_honest_tables_and_fails_on_its_defect_with_a_remedy(
    root: Path, table: str, name: str, severity: dg.AssetCheckSeverity, defect: Change, named: str
) -> None:
    if name in DRIFTS:  # enough earlier studies to compare with
        for read in (table, *DRIFTS[name]):
            rewrite(root, read, many, "first")
    if name == "pairs_reviewed":
        rewrite(root, table, lambda frame: frame.assign(needs_review=False))
    passing = result(root, table, name)
    assert passing.passed, passing.metadata
    assert "remedy" not in passing.metadata
    rewrite(root, table, defect)
    failing = result(root, table, name)
    assert not failing.passed
    assert failing.severity is severity
    assert named in repr(failing.metadata)
    assert len(str(failing.metadata["remedy"].value)) > 40
    assert failing.metadata["table"].value == str(look(root, table).path(table))
    assert "planted words" not in repr(failing.metadata)


def test_the_rules_of_a_schema_are_counted_as_asserted_and_great_expectations_runs_what_is_left(
    root: Path,
) -> None:
    of_schema = result(root, "accounting", "expectations").metadata
    assert of_schema["rules_asserted_when_written"].value == 17
    assert of_schema["rules_run_by_great_expectations"].value == 0
    assert "Asserted when written: 17 rules." in str(of_schema["report"].value)
    by_hand = result(root, "comparison_matches", "expectations").metadata
    assert by_hand["rules_run_by_great_expectations"].value == 1


def test_a_file_that_was_exchanged_fails_its_rules_though_its_rows_break_none(root: Path) -> None:
    rewrite(root, "terms", lambda frame: frame)
    found = result(root, "terms", "expectations")
    assert not found.passed
    assert "as it was stored" in str(found.metadata["report"].value)
    assert "`ingest`" in str(found.metadata["remedy"].value)


def test_a_first_batch_is_compared_with_nothing_and_says_so(root: Path) -> None:
    for table, name in (
        ("reports", "intake_drift"),
        ("pathway_matches", "expansion_drift"),
        ("fitted_probabilities", "p_drift"),
    ):
        found = result(root, table, name, report_batch="first")
        assert found.passed
        assert "no earlier batch" in str(found.metadata["note"].value)


def test_fits_of_another_ranking_are_not_compared(root: Path) -> None:
    rewrite(root, "fitted_probabilities", lambda frame: many(frame).assign(ranking_version="0ther"), "first")
    rewrite(root, "fitted_probabilities", surer)
    assert result(root, "fitted_probabilities", "p_drift").passed
    rewrite(root, "fitted_probabilities", lambda frame: frame.assign(ranking_version="0ther"))
    found = result(root, "fitted_probabilities", "p_in_range")
    assert found.passed
    assert "fits_current" in str(found.metadata["note"].value)


def test_many_places_beyond_the_rated_phrases_warn_and_are_no_error(root: Path) -> None:
    ranking = look(root, "reference_ranking").table("reference_ranking")
    line = calibrate(ranking, published_anchors())

    def beyond(frame: pd.DataFrame) -> pd.DataFrame:
        fitted = frame["p_source"] == "fitted"
        p, low, high = (values[0] for values in probability([60.0], [1.0], line))
        places = {"mu": 60.0, "p": p, "p_low": low, "p_high": high}
        return frame.assign(**{name: frame[name].mask(fitted, value) for name, value in places.items()})

    rewrite(root, "fitted_probabilities", beyond)
    found = result(root, "fitted_probabilities", "p_in_range")
    assert not found.passed
    assert found.severity is WARN
    assert "anchor_ratings.csv" in str(found.metadata["remedy"].value)


@pytest.mark.parametrize(("value", "passed"), [(0.87, True), (0.5, False), (1.0, False)])
def test_agreement_outside_the_usual_band_warns(root: Path, value: float, passed: bool) -> None:
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
    store_unchecked(JUDGE_AGREEMENT, frame, Path(str(look(root, "judge_agreement").path("judge_agreement"))))
    found = result(root, "judge_agreement", "agreement_usual")
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
    ("retires_on", "failed", "wrong"),
    [("2199-01-01", 0, ""), ("2199-01-01", 1, "failed calls"), ("2020-01-01", 0, "retired")],
)
def test_a_language_model_is_alive_as_long_as_it_is_served_and_its_calls_come_through(
    root: Path, tmp_path: Path, retires_on: str, failed: int, wrong: str
) -> None:
    (tmp_path / "judges.toml").write_text(MODEL.format(retires_on=retires_on))
    if failed:
        attempt = Attempt(
            key="a" * 64, judge="model", stage="compare", model="model-1",
            time="2026-11-20T00:00:00.000000Z", failure="server",
        )  # fmt: skip
        Ledger.open(root / "ledger.sqlite").record_all([attempt])
    for table in ("hedge_phrases", "comparison_matches"):
        found = result(root, table, "judge_alive", str(tmp_path / "judges.toml"), judge="model")
        assert found.passed == (not wrong)
        assert wrong in str(found.metadata["report"].value)
    assert (root / "ledger.sqlite").exists() == bool(failed), "looking leaves nothing"


def test_a_rule_based_judge_is_always_alive(root: Path) -> None:
    found = result(root, "comparison_matches", "judge_alive")
    assert found.passed
    assert "Rule-based" in str(found.metadata["note"].value)


def test_a_setting_that_was_changed_makes_batches_stale_and_the_ranking_says_so(root: Path) -> None:
    assert result(root, "reference_ranking", "fits_current").passed
    (root / "settings.toml").write_text("[implicit]\nmerge_threshold = 0.8\n")
    found = result(root, "reference_ranking", "fits_current")
    assert not found.passed
    assert found.severity is WARN
    assert found.metadata["stale"].value == 2
    assert "second" in str(found.metadata["report"].value)


def test_a_judge_outside_the_panel_that_has_played_could_join(root: Path, tmp_path: Path) -> None:
    written = resource("judges.toml").read_text(encoding="utf-8")
    alone = written.replace('members = ["lexicon", "cues"]', 'members = ["lexicon"]')
    candidate = alone.replace("[presets.offline]", '[presets.offline]\ncandidates = ["cues"]')
    (tmp_path / "judges.toml").write_text(candidate)
    assert result(root, "reference_ranking", "panel_complete").passed
    found = result(root, "reference_ranking", "panel_complete", str(tmp_path / "judges.toml"))
    assert (found.passed, found.metadata["could_join"].value) == (False, "cues")
    assert "[panels...]" in str(found.metadata["remedy"].value)
    look(root, "comparison_matches", judge="cues").path("comparison_matches").unlink()
    assert result(root, "reference_ranking", "panel_complete", str(tmp_path / "judges.toml")).passed


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.table}-{check.name}")
def test_a_check_of_what_is_not_stored_says_what_to_launch_first(tmp_path: Path, check: Check) -> None:
    found = check.result(look(tmp_path, check.table))
    if check.name in ("judge_alive", "fits_current", "panel_complete"):  # they read no table of the partition
        assert found.passed
        return
    assert not found.passed
    assert found.severity is WARN
    assert f"{check.table} (" in str(found.metadata["note"].value)
    assert "Launch the job `" in str(found.metadata["remedy"].value)


def test_a_table_of_another_version_fails_its_checks_and_names_the_job(root: Path) -> None:
    path = Path(str(look(root, "terms").path("terms")))
    pq.write_table(pq.read_table(path).drop_columns(["subcategory"]), path)
    found = result(root, "terms", "expectations")
    assert (found.passed, found.severity) == (False, ERROR)
    assert "another schema" in str(found.metadata["note"].value)
    assert "`ingest`" in str(found.metadata["remedy"].value)


def test_every_table_has_rules_and_belongs_to_one_step() -> None:
    tables = [table for group in GROUPS.values() for table in group]
    assert sorted(tables) == sorted(TABLES)
    assert {check.table for check in CHECKS if check.name == "expectations"} == set(TABLES)
    assert {check.name for check in CHECKS if check.blocking} == {
        "conflict_free",
        "accounts_balance",
        "spans_quote_reports",
        "sentences_accounted",
    }
    assert set(GROUPS) == {f"check_{job}" for job in STEPS_OF_JOB if job not in ("refit", "release")}
