"""The open part of patients' reports: no count says that something is about one, two, three or four people,
not even by subtraction.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_release import paper_tables

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.pictures.plots import probability_heights
from lunguage_assets.release.bundle.disclosure import STRUCTURE_MEASURES, Disclosure
from lunguage_assets.release.report.paper_tables import PaperTables
from lunguage_assets.release.report.published_tables import load_published_tables
from lunguage_assets.settings import load_settings
from lunguage_assets.tables import AUDITED_LABELS, PATHWAY_AUDIT, REFERENCE_RANKING, TABLES
from lunguage_assets.tables.paper import (
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_TABLE,
)

counts = st.integers(min_value=0, max_value=10_000)
thresholds = st.integers(min_value=5, max_value=25)


@given(counts, thresholds)
def test_a_shown_count_is_zero_a_bound_or_a_multiple(count: int, threshold: int) -> None:
    shown = Disclosure(threshold).count(count)
    if count == 0:
        assert shown == 0
    elif count < threshold:
        assert shown == f"<{threshold}"
    else:
        assert isinstance(shown, int)
        assert shown % threshold == 0
        assert shown >= threshold
        assert 2 * abs(shown - count) <= threshold


def possible(shown: int | str, threshold: int) -> tuple[int, int]:
    """The least and the greatest count that is shown so."""
    if isinstance(shown, str):
        return 1, threshold - 1
    return (
        (0, 0)
        if shown == 0
        else (max(shown - threshold // 2, threshold), shown - threshold // 2 + threshold - 1)
    )


@given(
    st.integers(min_value=1), st.lists(counts, min_size=1, max_size=8), st.integers(min_value=5, max_value=25)
)
def test_a_hidden_cell_does_not_follow_from_the_total_and_the_others(
    hidden: int, others: list[int], threshold: int
) -> None:
    """But where every other cell lies at one end of its rounding and the total at the opposite one."""
    hidden = 1 + hidden % (threshold - 1)
    told = Disclosure(threshold)
    ranges = [possible(told.count(other), threshold) for other in others]
    low, high = possible(told.count(hidden + sum(others)), threshold)
    left = range(
        max(1, low - sum(most for _, most in ranges)),
        min(threshold - 1, high - sum(least for least, _ in ranges)) + 1,
    )
    assert hidden in left
    total = hidden + sum(others)
    ends = zip(others, ranges, strict=True)
    lowest = all(other == least for other, (least, _) in ends) and total == high
    highest = all(other == most for other, (_, most) in zip(others, ranges, strict=True)) and total == low
    assert len(left) >= 2 or lowest or highest


def test_the_audit_of_the_pathways_says_nothing_of_a_few_studies() -> None:
    columns = dict.fromkeys(PATHWAY_AUDIT.names, 0)
    texts = {"diagnosis": "pneumonia", "sub_finding": "opacity", "place": "", "expected": "present"}
    few = (
        columns
        | texts
        | {
            "pathway_id": "few",
            "studies": 42,
            "mentioned": 4,
            "as_implied": 1,
            "share": 0.25,
            "share_low": 0.05,
            "share_high": 0.7,
            "against_experts": "below",
            "experts": 0.8,
        }
    )
    many = few | {
        "pathway_id": "many",
        "mentioned": 21,
        "as_implied": 16,
        "share": 16 / 21,
        "share_high": 0.9,
    }
    labels = [
        {"label": label, "implied": n, "unmeasured": 2, "p": 0.8123, "p_measured": 0.7, "fall_below_half": 0}
        for label, n in (("edema", 3), ("fracture", 30))
    ]
    exact = {
        "pathway_audit": PATHWAY_AUDIT.frame([few, many]),
        "audited_labels": AUDITED_LABELS.frame(labels),
    }
    shown = Disclosure(5).analyses(exact)
    audit, of_labels = shown["pathway_audit"], shown["audited_labels"]
    assert audit["mentioned"].tolist() == ["<5", 20]
    assert audit["studies"].tolist() == [40, 40]
    assert audit["share"].isna().tolist() == [True, False]
    assert audit["share"].iloc[1] == 0.76
    assert audit["against_experts"].tolist() == ["not measured", "below"]
    assert of_labels["implied"].tolist() == ["<5", 30]
    assert of_labels["p"].isna().tolist() == [True, False]
    assert Disclosure(1).analyses(exact)["pathway_audit"].equals(exact["pathway_audit"])


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=60), thresholds)
def test_no_bar_of_a_histogram_stands_for_a_few_findings(values: list[float], threshold: int) -> None:
    exact = probability_heights(pd.Series(values, dtype="float64"))
    assert exact.sum() == len(values)
    drawn = Disclosure(threshold).heights(exact)
    assert all(height % threshold == 0 for height in drawn)
    assert not drawn[exact < threshold].any()
    assert Disclosure(1).heights(exact).tolist() == exact.tolist()


def certainty(**counts: int) -> dict[str, object]:
    columns = (
        "definitive_positive",
        "tentative_positive",
        "tentative_negative",
        "definitive_negative",
        "no_information",
    )
    return {
        "diagnosis": "pneumonia",
        **{name: counts.get(name, 0) for name in columns},
        "total": sum(counts.get(name, 0) for name in columns[:4]),
        **{f"percent_{name}": 33.3 for name in columns[:4]},
        "p_mean": 0.4321,
        "p_sd": 0.1,
        "p_min": 0.3,
        "p_max": 0.5,
    }


FITS = {"measure": "mu", "n": 7, "mean": 22.123, "sd": 1.234, "minimum": 3.2, "maximum": 40.1}


def tables(certain: dict[str, object]) -> PaperTables:
    expansion = {column.name: 3 for column in EXPANSION_TABLE.columns} | {"diagnosis": "pneumonia"}
    expansion |= {name: None for name in expansion if str(name).startswith("published")}
    conflict = {
        "conflict_type": "polarity",
        "source": "original-original",
        "conflicts": 12,
        "suppressed": 1,
        "published": 10.0,
        "merged": 0,
        "removed": 2,
    }
    figures = [
        {"measure": name, "value": value, "published": None, "note": ""}
        for name, value in (("patients", 3.0), ("variants", 3.0), ("conflicts per row", 0.12345))
    ]
    return PaperTables(
        CERTAINTY_TABLE.frame([certain]),
        FIT_TABLE.frame([dict.fromkeys(FIT_TABLE.names) | FITS]),
        EXPANSION_TABLE.frame([expansion]),
        CONFLICT_TABLE.frame([conflict]),
        CORPUS_FIGURES.frame(figures),
    )


def test_tables_of_patients_hide_small_cells_and_keep_what_is_about_the_pathways() -> None:
    shown = Disclosure(5).tables(tables(certainty(tentative_positive=4, definitive_positive=13)))
    assert shown.certainty.loc[
        0, ["definitive_positive", "tentative_positive", "tentative_negative"]
    ].tolist() == [15, "<5", 0]
    assert shown.certainty.loc[0, ["p_mean", "p_sd", "p_min", "p_max"]].isna().all(), (
        "statistics of four findings are about these four"
    )
    assert shown.expansion.loc[0, ["variants", "pathways", "stated", "added"]].tolist() == [3, 3, "<5", "<5"]
    assert shown.conflicts.loc[0, ["conflicts", "suppressed", "merged", "removed", "published"]].tolist() == [
        10,
        "<5",
        0,
        "<5",
        10.0,
    ]
    assert shown.figures["value"].tolist() == ["<5", 3, 0.12]


def test_statistics_need_enough_findings_with_information_and_have_two_decimals() -> None:
    enough = Disclosure(5).tables(tables(certainty(tentative_positive=3, tentative_negative=2)))
    assert enough.certainty.loc[0, ["p_mean", "p_sd"]].tolist() == [0.43, 0.1]
    assert enough.certainty.loc[0, ["p_min", "p_max"]].isna().all(), (
        "the least and the greatest p are of one finding each"
    )
    without = Disclosure(5).tables(
        tables(certainty(tentative_positive=3, tentative_negative=2, no_information=1))
    )
    assert pd.isna(without.certainty.loc[0, "p_mean"])


def test_percents_are_those_of_the_counts_that_are_shown() -> None:
    shown = Disclosure(5).tables(
        tables(certainty(definitive_positive=13, tentative_positive=4, definitive_negative=5))
    )
    line = shown.certainty.iloc[0]
    assert (line["total"], line["definitive_positive"], line["percent_definitive_positive"]) == (20, 15, 75.0)
    assert pd.isna(line["percent_tentative_positive"]), "it would tell the four"
    assert line["percent_tentative_negative"] == 0.0
    assert shown.expansion[["percent_expanded", "percent_added"]].isna().all(axis=None)


def test_of_the_fits_of_patients_neither_few_nor_single_ones_are_told() -> None:
    shown = Disclosure(5).tables(tables(certainty())).fit.iloc[0]
    assert (shown["n"], shown["mean"], shown["sd"]) == (5, 22.12, 1.23)
    assert shown[["minimum", "maximum"]].isna().all()
    few = Disclosure(10).tables(tables(certainty())).fit.iloc[0]
    assert (few["n"], pd.isna(few["mean"])) == ("<10", True)


def test_of_invented_reports_everything_is_shown_exactly() -> None:
    exact = tables(certainty(tentative_positive=1))
    assert Disclosure(1).tables(exact) is exact
    assert Disclosure(1).count(1) == 1


def test_the_figures_about_the_pathway_file_are_named_as_the_figures_are() -> None:
    frames = {name: table.frame() for name, table in TABLES.items()}
    structure = [DiagnosisStatistics("pneumonia", 1, 1, 1, 1)]
    figures = paper_tables(frames, structure, load_published_tables()).figures
    assert tuple(figures["measure"][: len(STRUCTURE_MEASURES)]) == STRUCTURE_MEASURES
    assert figures["measure"][len(STRUCTURE_MEASURES)] == "studies"


@pytest.mark.parametrize(("ruler", "phrase", "examples", "shown"), [
    ("own", "may be", 12, "may be"),
    ("own", "may be", 4, "(a phrase of fewer than 5 findings)"),
    ("own", "in this patient of ours we suspect", 30, "(a phrase of 7 words)"),
    ("published", "less likely", 0, "less likely"),
])  # fmt: skip
def test_a_phrase_of_few_findings_or_of_too_many_words_is_not_spelled_out(
    ruler: str, phrase: str, examples: int, shown: str
) -> None:
    values = {"string": "x", "int": 0, "float": 0.5, "bool": True, "strings": ["j"]}
    row = {column.name: values[column.type] for column in REFERENCE_RANKING.columns} | {
        "phrase": phrase,
        "ruler": ruler,
    }
    ranking = REFERENCE_RANKING.frame([row])
    assert Disclosure(5).phrases(ranking, pd.Series({phrase: examples}))["phrase"].tolist() == [shown]
    assert Disclosure(1).phrases(ranking, pd.Series({phrase: examples}))["phrase"].tolist() == [phrase]


def test_a_threshold_under_which_cells_follow_from_each_other_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[release]\nsmall_cells = 4\n")
    with pytest.raises(ConfigurationError, match=r"release\.small_cells.*found 4; expected 5 or more"):
        load_settings(file)
