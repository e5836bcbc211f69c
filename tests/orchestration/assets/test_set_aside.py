"""A row that breaks a rule costs its study, not the batch: it is set aside whole, with
the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from platform_support import contents
from small_homes import SmallHome, contradicting_itself, said_of

from lunguage_assets.cli.release_summary import print_release
from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.fitted_findings import FitTables
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import corpus, explicit, implicit
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import partition_path, read_table
from lunguage_assets.workspace.versions import current_version

KEYS = {"ranker": "panel", "report_batch": "first", "judge": "lexicon"}
STEPS = (
    "findings",
    "hedge_phrases",
    "fitted_probabilities",
    "deduplicated_findings",
    "expansions",
    "lunguage_plus_plus",
)
Spoil = Callable[[pd.DataFrame], pd.DataFrame]


def of(studies: Iterable[str], **values: Any) -> Spoil:
    """Other values in the rows of these studies."""

    def spoil(frame: pd.DataFrame) -> pd.DataFrame:
        theirs = frame["study_id"].isin(studies)
        return frame.assign(
            **{name: frame[name].mask(theirs, value) for name, value in values.items()}
        )

    return spoil


def contradiction_in(study: str) -> Spoil:
    def spoil(rows: pd.DataFrame) -> pd.DataFrame:
        theirs = rows["study_id"] == study
        return (
            pd.concat([contradicting_itself(rows[theirs]), rows[~theirs]])
            if theirs.any()
            else rows
        )

    return spoil


def in_resolved(spoil: Spoil) -> Callable[[Resolution], Resolution]:
    return lambda resolution: resolution._replace(rows=spoil(resolution.rows))


def planted(
    step: str, studies: Sequence[str]
) -> tuple[Any, str, Callable[[Any], Any], str]:
    """What to break: module, function, how its answer changes, and the rule that is
    broken then.
    """
    sure = of(studies, p=1.0, p_high=1.0)
    unknown = of(studies, reason="planted words")
    wrong_category = of(studies, cat="!")
    return {
        "findings": (
            corpus, "take_in", lambda result: replace(result, findings=wrong_category(result.findings)),
            "cat is one of",
        ),
        "hedge_phrases": (
            explicit, "extract_hedge_phrases", of(studies, answer_state="!"), "answer_state is",
        ),
        "fitted_probabilities": (
            explicit, "fit_pairs", lambda result: FitTables(sure(result.probabilities), result.log), "0 < p < 1",
        ),
        "deduplicated_findings": (implicit, "deduplicate", of(studies, p_low=0.9, prob=0.1), "p_low <= prob"),
        "expansions": (
            implicit, "expand", lambda result: result._replace(matches=unknown(result.matches)), "reason is",
        ),
        "lunguage_plus_plus": (
            implicit, "resolve", in_resolved(contradiction_in(studies[0])), "no key has two rows",
        ),
    }[step]  # fmt: skip


def break_step(
    monkeypatch: pytest.MonkeyPatch, step: str, studies: Sequence[str]
) -> str:
    """Let a function of a step break the rows of these studies; the rule that they
    break.
    """
    module, name, changed, rule = planted(step, studies)
    honest = getattr(module, name)
    monkeypatch.setattr(
        module,
        name,
        lambda *arguments, **options: changed(honest(*arguments, **options)),
    )
    return rule


def make_from(small: SmallHome, step: str) -> list[dg.ExecuteInProcessResult]:
    """Make the batch from a step to its end, or to the first step that fails."""
    results = []
    for table in STEPS[STEPS.index(step) :]:
        keys = {name: KEYS[name] for name in TABLES[table].partitioned_by}
        partition = keys if len(keys) > 1 else KEYS["report_batch"]
        results.append(small.make([table], partition, raise_on_error=False))
        if not results[-1].success:
            break
    return results


def made_by(results: list[dg.ExecuteInProcessResult]) -> set[str]:
    """The tables that runs made."""
    return {
        event.asset_key.path[-1]
        for result in results
        for event in result.get_asset_materialization_events()
        if event.asset_key is not None
    }


def stored(small: SmallHome, table: str) -> pd.DataFrame:
    keys = [KEYS[dimension] for dimension in TABLES[table].partitioned_by]
    return read_table(TABLES[table], partition_path(small.home.tables, table, *keys))


def tentative(small: SmallHome, number: int) -> list[str]:
    """Studies of the batch with hedged findings."""
    return sorted(set(stored(small, "fitted_probabilities")["study_id"]))[:number]


@pytest.mark.parametrize(
    "step",
    [STEPS[0], *(pytest.param(step, marks=pytest.mark.lengthy) for step in STEPS[1:])],
)
def test_a_study_that_breaks_a_rule_is_nowhere_downstream(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (study,) = tentative(small, 1)
    remaining_studies = set(stored(small, "lunguage_plus_plus")["study_id"]) - {study}
    rule = break_step(monkeypatch, step, [study])
    results = make_from(small, step)
    assert results[-1].success
    aside = stored(small, "set_aside")
    assert set(aside["study_id"]) == {study}
    assert set(aside["step"]) == {step}
    assert any(rule in broken_rule for broken_rule in aside["rule"])
    assert all(
        finding_id.startswith(study)
        for ids in aside["finding_ids"]
        for finding_id in ids
    )
    assert not aside["found"].str.contains("planted").any()
    for table in made_by(results) - {"accounting"}:
        if TABLES[table].per_study:
            assert study not in set(stored(small, table)["study_id"]), table
    assert set(stored(small, "lunguage_plus_plus")["study_id"]) == remaining_studies
    accounts = stored(small, "accounting").set_index("study_id")
    assert accounts["balanced"].all()
    assert accounts.loc[study, "set_aside"] == accounts.loc[study, "rows_in"] > 0
    assert (accounts.drop(index=study)["set_aside"] == 0).all()


@pytest.mark.lengthy
def test_the_release_lists_an_invalid_study_with_its_rule_alone(
    small: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (study,) = tentative(small, 1)
    rule = break_step(monkeypatch, "fitted_probabilities", [study])
    resolved = make_from(small, "fitted_probabilities")[-1]
    assert small.make(["release"], "panel").success
    version = current_version(small.home.release / "panel")
    assert version is not None
    folder = version / "restricted"
    studies = pd.read_csv(folder / "studies.csv", keep_default_na=False).set_index(
        "study_id"
    )
    assert rule in studies.loc[study, "set_aside"]
    assert (studies.drop(index=study)["set_aside"] == "").all()
    assert study in set(pd.read_csv(folder / "set_aside.csv")["study_id"])
    for name in ("labels.csv", "Lunguage_plus_plus.csv"):
        assert study not in set(pd.read_csv(folder / name)["study_id"])
    summary = pd.read_json(folder / "summary.json", typ="series")
    assert [studies for rule, studies in summary["studies_set_aside"].items()] == [1]
    print_release(small.home.release / "panel", small.home)
    assert f"1 break the rule: {aside_rule(small)}" in capsys.readouterr().out
    evaluation = {
        check.check_name: check for check in resolved.get_asset_check_evaluations()
    }["none_set_aside"]
    assert not evaluation.passed
    assert evaluation.severity is dg.AssetCheckSeverity.WARN
    assert study in str(evaluation.metadata["report"].value)


def aside_rule(small: SmallHome) -> str:
    return str(stored(small, "set_aside")["rule"].iloc[0])


@pytest.mark.lengthy
def test_too_many_invalid_studies_end_the_run(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(Path(str(small.home.tables)))
    break_step(monkeypatch, "fitted_probabilities", tentative(small, 2))
    message = said_of(make_from(small, "fitted_probabilities")[-1])
    assert "2 of 40 studies break a rule, more than 1%" in message
    assert "0 < p < 1" in message
    assert contents(Path(str(small.home.tables))) == before


def test_strict_ends_the_run_with_one_study(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.configuration = Configuration(small.home, strict=True)
    before = contents(Path(str(small.home.tables)))
    break_step(monkeypatch, "deduplicated_findings", tentative(small, 1))
    assert "strict" in said_of(make_from(small, "deduplicated_findings")[-1])
    assert contents(Path(str(small.home.tables))) == before
