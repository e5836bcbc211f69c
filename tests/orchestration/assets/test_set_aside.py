"""A row that breaks a rule costs its study, not the batch: it is set aside whole, with
the rule. A rule of the whole, or too many studies, cost the batch: nothing of it is
stored, and what others read is never poisoned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import pandas as pd
import pytest
from platform_support import contents
from small_homes import SmallHome, contradicting_itself, said_of
from stored_tables import stored_table

from lunguage_assets.cli.release_summary import print_release
from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.fitted_findings import FitTables
from lunguage_assets.orchestration.assets import corpus, explicit, implicit
from lunguage_assets.tables import TABLES

RESULT = "lunguage_plus_plus"
Studies = Collection[str]


class Step(NamedTuple):
    """What to break in a step: a function, what becomes of its answer, and the rule
    that is broken then.
    """

    module: Any
    function: str
    spoilt: Callable[[Any, Studies], Any]
    rule: str


def of(studies: Studies, frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Other values in the rows of these studies."""
    is_theirs = frame["study_id"].isin(studies)
    return frame.assign(
        **{name: frame[name].mask(is_theirs, value) for name, value in values.items()}
    )


def contradicting(studies: Studies, rows: pd.DataFrame) -> pd.DataFrame:
    is_theirs = rows["study_id"].isin(studies)
    if not is_theirs.any():
        return rows
    return pd.concat([contradicting_itself(rows[is_theirs]), rows[~is_theirs]])


STEPS = {
    "findings": Step(
        corpus, "take_in",
        lambda intake, studies: replace(intake, findings=of(studies, intake.findings, cat="!")),
        "cat is one of",
    ),
    "hedge_phrases": Step(
        explicit, "extract_hedge_phrases",
        lambda hedges, studies: of(studies, hedges, answer_state="!"),
        "answer_state is",
    ),
    "fitted_probabilities": Step(
        explicit, "fit_pairs",
        lambda fit, studies: FitTables(of(studies, fit.probabilities, p=1.0, p_high=1.0), fit.log),
        "0 < p < 1",
    ),
    "deduplicated_findings": Step(
        implicit, "deduplicate",
        lambda rows, studies: of(studies, rows, p_low=0.9, prob=0.1),
        "p_low <= prob",
    ),
    "expansions": Step(
        implicit, "expand",
        lambda made, studies: made._replace(matches=of(studies, made.matches, reason="planted words")),
        "reason is",
    ),
    RESULT: Step(
        implicit, "resolve",
        lambda made, studies: made._replace(rows=contradicting(studies, made.rows)),
        "no key has two rows",
    ),
}  # fmt: skip


def break_step(
    monkeypatch: pytest.MonkeyPatch, step: Step, studies: Studies = ()
) -> None:
    honest = getattr(step.module, step.function)

    def spoilt(*arguments: Any, **options: Any) -> Any:
        return step.spoilt(honest(*arguments, **options), studies)

    monkeypatch.setattr(step.module, step.function, spoilt)


def break_result(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    break_step(
        monkeypatch,
        STEPS[RESULT]._replace(
            spoilt=lambda made, _: made._replace(rows=spoil(made.rows))
        ),
    )


def make_from(small: SmallHome, step: str) -> list[dg.ExecuteInProcessResult]:
    """Make the batch from a step to its end, or to the first step that fails."""
    results = []
    for table in list(STEPS)[list(STEPS).index(step) :]:
        results.append(small.make(table, raise_on_error=False))
        if not results[-1].success:
            break
    return results


def stored(small: SmallHome, table: str) -> pd.DataFrame:
    return stored_table(small.home.tables, table)


def tentative(small: SmallHome, number: int) -> list[str]:
    """Studies of the batch with hedged findings."""
    return sorted(set(stored(small, "fitted_probabilities")["study_id"]))[:number]


def tables(small: SmallHome) -> dict[str, bytes]:
    return contents(Path(str(small.home.tables)))


def released(small: SmallHome) -> Path:
    """The part of the release with the rows."""
    return small.home.root / "release" / "panel" / "v3" / "restricted"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=pytest.mark.lengthy) if step != "findings" else step
        for step in STEPS
    ],
)
def test_a_study_that_breaks_a_rule_is_nowhere_downstream(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (study,) = tentative(small, 1)
    others = set(stored(small, RESULT)["study_id"]) - {study}
    break_step(monkeypatch, STEPS[step], [study])
    results = make_from(small, step)
    assert results[-1].success
    aside = stored(small, "set_aside")
    assert (set(aside["study_id"]), set(aside["step"])) == ({study}, {step})
    assert aside["rule"].str.contains(STEPS[step].rule, regex=False).any()
    assert aside["finding_ids"].explode().dropna().str.startswith(study).all()
    assert not aside["found"].str.contains("planted").any()
    for result in results:
        for event in result.get_asset_materialization_events():
            table = event.asset_key.path[-1]
            if TABLES[table].per_study and table != "accounting":
                assert study not in set(stored(small, table)["study_id"]), table
    assert set(stored(small, RESULT)["study_id"]) == others
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
    break_step(monkeypatch, STEPS["fitted_probabilities"], [study])
    make_from(small, "fitted_probabilities")
    assert small.make("release").success
    folder = released(small)
    studies = pd.read_csv(folder / "studies.csv", keep_default_na=False)
    reasons = studies.set_index("study_id")["set_aside"]
    assert "0 < p < 1" in reasons[study]
    assert (reasons.drop(study) == "").all()
    assert study in set(pd.read_csv(folder / "set_aside.csv")["study_id"])
    for name in ("labels.csv", "Lunguage_plus_plus.csv"):
        assert study not in set(pd.read_csv(folder / name)["study_id"])
    summary = pd.read_json(folder / "summary.json", typ="series")
    assert list(summary["studies_set_aside"].values()) == [1]
    print_release(small.home.release / "panel", small.home)
    rule = stored(small, "set_aside")["rule"].iloc[0]
    assert f"1 break the rule: {rule}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("strict", "number", "words"),
    [
        (False, 2, ("2 of 40 studies break a rule, more than 1%", "p_low <= prob")),
        (True, 1, ("strict",)),
    ],
)
def test_too_many_invalid_studies_end_the_run_and_in_a_strict_one_one_does(
    small: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    strict: bool,
    number: int,
    words: tuple[str, ...],
) -> None:
    small.configuration = Configuration(small.home, strict=strict)
    before = tables(small)
    step = "deduplicated_findings"
    break_step(monkeypatch, STEPS[step], tentative(small, number))
    message = said_of(make_from(small, step)[-1])
    assert [word for word in words if word not in message] == []
    assert tables(small) == before


def test_a_wrong_result_is_not_stored_and_the_last_stays(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tables(small)
    break_result(
        monkeypatch,
        lambda rows: rows.assign(ranking_version=["0", *rows["ranking_version"][1:]]),
    )
    (result,) = make_from(small, RESULT)
    assert not result.success
    assert "has one value" in said_of(result)
    assert tables(small) == before


def test_a_poisoned_batch_is_not_stored_and_no_release_waits_for_it(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a batch that came anew: nothing of its result is there. Blocking checks of
    Dagster alone would let the release read it: it looks at other partitions than the
    check.
    """
    files = list((small.home.root / "tables").rglob("panel/second.parquet"))
    reports = stored_table(small.home.tables, "reports", report_batch="second")
    studies = set(reports["study_id"])
    results = [RESULT, "resolution_log", "conflicts", "accounting", "set_aside"]
    files = [file for file in files if file.parents[1].name in results]
    assert len(files) == 5
    for file in files:
        file.unlink()
    break_result(monkeypatch, lambda rows: of(studies, rows, support=2.0))
    made = [
        small.make(RESULT, report_batch=batch, raise_on_error=False).success
        for batch in ("first", "second")
    ]
    assert made == [True, False]
    assert [file for file in files if file.exists()] == []
    (event,) = small.make("release").get_asset_materialization_events()
    assert event.materialization.metadata["batches_not_included"].value == "second"
    rows = pd.read_parquet(released(small) / "Lunguage_plus_plus.parquet")
    assert len(rows)
    assert not set(rows["study_id"]) & studies


def test_a_ranking_of_another_vocabulary_is_not_used(small: SmallHome) -> None:
    small.home.settings_file.write_text('[explicit]\nreference_scale = "published"\n')
    small.make("hedge_vocabulary")
    for table in ("reference_ranking", "fitted_probabilities"):
        result = small.make(table, raise_on_error=False)
        assert "another version of the hedge vocabulary" in said_of(result)
