"""The paper's tables on any corpus: counted from the stored tables, each count named,
published values beside the published corpus only.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import StatedFinding, dictionary, frames, run, stated
from profiles import examples
from small_release import paper_tables

from lunguage_assets.release import paper_tables as counting
from lunguage_assets.release.published_values import published_values
from lunguage_assets.tables.released import PAPER_TABLES


def tables_of(*rows: StatedFinding) -> SimpleNamespace:
    return paper_tables(run(rows).stored, dictionary().statistics())


def line(frame: pd.DataFrame, **key: str) -> dict[str, Any]:
    for name, value in key.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return {str(name): value for name, value in frame.iloc[0].to_dict().items()}


def figure(tables: SimpleNamespace, measure: str) -> float:
    return float(line(tables.figures, measure=measure)["value"])


def statuses(values: dict[str, Any]) -> list[int]:
    """Rows with status dp, dn, tp, tn."""
    return [
        values[f"{c}_{p}"]
        for c in ("definitive", "tentative")
        for p in ("positive", "negative")
    ]


def test_certainty_counts_stated_current_rows_and_the_p_of_tentative_ones() -> None:
    rows = [
        stated("pneumonia", "dp", location="right upper lobe"),
        stated("pneumonia", "tp", p=0.4, location="left upper lobe"),
        stated("aspiration pneumonia", "tp", p=0.8, location="right"),
        stated("pneumonia", "tp", p=None, location="left"),
        stated("pneumonia", "dn", past_hx="history of"),
        stated("nodule", "tn", p=0.1),
    ]
    table = tables_of(*rows).certainty
    pneumonia = line(table, diagnosis="pneumonia")
    assert statuses(pneumonia) == [1, 0, 3, 0]
    assert pneumonia["no_information"] == 1
    p = [pneumonia[f"p_{statistic}"] for statistic in ("mean", "sd", "min", "max")]
    assert p == pytest.approx([0.6, 0.2, 0.4, 0.8])
    assert line(table, diagnosis="all diagnoses")["tentative_negative"] == 0
    assert line(table, diagnosis="all findings")["tentative_negative"] == 1
    assert line(table, diagnosis="all findings")["p_min"] == 0.1
    assert np.isnan(line(table, diagnosis="fracture")["p_mean"])


def test_the_structure_of_the_pathways_is_that_of_the_method() -> None:
    tables = tables_of(stated("nodule"))
    published = published_values()
    for name, structure in published["structure"].items():
        assert {
            measure: line(tables.expansion, diagnosis=name)[measure]
            for measure in ("variants", "pathways", "depth", "width")
        } == structure
    measures = ["diagnoses", "variants", "pathways"]
    measures += [
        f"{kind} {of}" for kind in ("highest", "mean") for of in ("depth", "width")
    ]
    for measure in measures:
        assert round(figure(tables, measure), 2) == published["figures"][measure]


def test_expansion_is_counted_below_the_stated_diagnosis_to_the_leaves() -> None:
    """CHF -> cardiomegaly -> heart size; pulmonary edema -> consolidation (opacity),
    effusion by view (blunting). No symptom.
    """
    tables = tables_of(stated("CHF", view="pa"))
    failure = line(tables.expansion, diagnosis="congestive heart failure")
    counted = ("stated", "expanded", "generated", "added")
    assert [failure[name] for name in counted] == [1, 1, 7, 7]
    edema = line(tables.expansion, diagnosis="pulmonary edema")
    assert (edema["expanded_generated"], edema["generated"]) == (1, 0)
    assert figure(tables, "generated rows out") == 7
    assert figure(tables, "stated findings that expand") == 1


def test_conflicts_are_counted_by_type_source_and_outcome() -> None:
    rows = [stated("pneumonia", "tp", p=0.6), stated("opacity", "dp")]
    rows += [stated("mass", "dp"), stated("mass", "dn"), stated("fever", "dn")]
    rows += [
        stated("nodule", "tp", p=0.4, measurement="5 mm"),
        stated("nodule", "tp", p=0.6, measurement="8 mm"),
    ]
    table = tables_of(*rows).conflicts
    columns = ["source", "conflicts", "suppressed", "merged", "removed"]
    counts = table[table["conflicts"] > 0].set_index("conflict_type")[columns]
    assert counts.T.to_dict("list") == {
        "polarity": ["original-original", 1, 0, 0, 2],  # both masses go
        # the opacity was never generated
        "certainty_pos": ["original-expansion", 1, 1, 0, 0],
        "duplicate_pos": ["original-original", 1, 0, 1, 0],
    }
    assert len(table) == 24
    assert table["published"].isna().all()


@examples(25)
@given(reported)
def test_the_tables_agree_with_the_rows_they_are_counted_from(
    rows: list[StatedFinding],
) -> None:
    outcome = run(rows)
    if not len(outcome.deduplicated):
        return
    paper = paper_tables(outcome.stored, dictionary().statistics())
    for name, table in PAPER_TABLES.items():
        table.to_arrow(vars(paper)[name])
    counts = Counter(outcome.rows["source"])
    assert figure(paper, "stated rows out") == counts["original"]
    all_diagnoses = line(paper.expansion, diagnosis="all diagnoses")
    generated_rows = figure(paper, "generated rows out")
    assert generated_rows == counts["expansion"] == all_diagnoses["added"]
    assert paper.expansion["added"].sum() == 2 * all_diagnoses["added"]
    before = figure(paper, "rows before resolution")
    taken_away = figure(paper, "rows that resolution took away")
    assert before - taken_away == len(outcome.rows)
    generated = outcome.expansion.expansions["outcome"].value_counts()
    assert all_diagnoses["generated"] == generated.get("generated", 0)
    assert all_diagnoses["already_stated"] == generated.get("already stated", 0)
    assert paper.conflicts["conflicts"].sum() == len(outcome.resolution.conflicts)
    all_findings = line(paper.certainty, diagnosis="all findings")
    delivered = frames(rows)[0]
    current = delivered[delivered["currency"] == "current dx"]
    counted = [sum(current["status"] == code) for code in ("dp", "dn", "tp", "tn")]
    assert statuses(all_findings) == counted
    assert all_findings["total"] == sum(counted) == len(current)


def test_fits_stand_beside_the_published_values() -> None:
    rows = [stated("pneumonia", "tp", p=0.4), stated("edema", "tp", p=0.6)]
    tables = run(rows).stored
    fits = tables["fitted_probabilities"].sort_values("p")
    fits = fits.assign(steps=[10, 11], rank=4, mu=[20.0, 21.0])
    tables["fitted_probabilities"] = fits.astype({"rank": "Int64"})
    table = paper_tables(tables, dictionary().statistics()).fit
    steps = line(table, measure="steps")
    rank = line(table, measure="rank")
    statistics = ("n", "mean", "sd", "minimum", "maximum")
    assert [steps[name] for name in statistics] == [2, 10.5, 0.5, 10, 11]
    shown = ("mean", "published_minimum", "published_maximum")
    assert [rank[name] for name in shown] == [5, 1, 43]
    assert line(table, measure="mu")["published_mean"] == 22.62
    assert tables_of(stated("nodule")).fit["mean"].isna().all()


def test_published_values_stand_beside_the_published_corpus_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [stated("pneumonia", "tp", p=0.6), stated("nodule", "dp")]
    paper_elsewhere = tables_of(*rows)
    monkeypatch.setattr(counting, "is_the_published_corpus", lambda *_: True)
    paper = tables_of(*rows)
    for name in ("expansion", "conflicts", "figures"):
        published = getattr(paper_elsewhere, name).filter(like="published")
        assert published.isna().all(axis=None)
    duplicate = {"conflict_type": "duplicate_pos", "source": "expansion-expansion"}
    assert line(paper.conflicts, **duplicate)["published"] == 181
    repeat = {"conflict_type": "repeat_dp", "source": "original-original"}
    assert np.isnan(line(paper.conflicts, **repeat)["published"])
    assert paper.conflicts["published"].sum() == 774
    failure = line(paper.expansion, diagnosis="congestive heart failure")
    assert failure["published_width"] == 6
    figures = paper.figures.set_index("measure")["published"]
    measures = ["conflicts", "rows out", "rows that resolution took away"]
    assert figures[measures].tolist() == [774, 18810, 406]


def test_the_published_figures_agree_with_each_other() -> None:
    """A slip of the pen in the file would stand beside every reader's own figures."""
    values = published_values()["figures"]
    rows_out = values["rows out"]
    before = values["rows before resolution"]
    assert before - values["rows that resolution took away"] == rows_out
    assert values["stated rows out"] + values["generated rows out"] == rows_out
    conflicts = pd.DataFrame(published_values()["conflicts"]).sum(axis=1)
    assert conflicts.sum() == values["conflicts"]
    sources = ("original-original", "original-expansion", "expansion-expansion")
    shares = [values[f"conflicts per row: {source}"] for source in sources]
    assert (conflicts / before).round(3).tolist() == shares
    structure = pd.DataFrame(published_values()["structure"]).T
    assert (len(structure), *structure[["variants", "pathways"]].sum()) == (14, 98, 33)
