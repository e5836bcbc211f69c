"""`lunguage_assets.read` and `annotate`: what a person gets who has a text and nothing
else, and what docs/read.md says of it.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from raw_deliveries import REPORTS, SPOKEN
from read_reports import HEDGED

import lunguage_assets
from lunguage_assets.annotation import annotation, method
from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.annotation.shown import shown_reports
from lunguage_assets.errors import InputError
from lunguage_assets.tables import TABLES, released


@pytest.fixture(scope="module")
def hedged() -> Annotation:
    return lunguage_assets.read(HEDGED)


def _rows(frame: pd.DataFrame, **values: object) -> list[dict[str, Any]]:
    for name, value in values.items():
        frame = frame[(frame[name] == value).to_numpy(dtype=bool)]
    return frame.to_dict("records")


def _texts(*texts: str | None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "study_id": [f"report {number}" for number in range(len(texts))],
            "report": texts,
        }
    )


def test_a_hedged_finding_shows_its_phrase_words_and_p(
    hedged: Annotation,
) -> None:
    (row,) = _rows(hedged.findings, name="pneumonia", section="find")
    told = (row["status"], row["phrases"], row["p_source"])
    assert told == ("tp", ["may represent"], "fitted")
    assert 0 < row["p_low"] < row["prob"] < row["p_high"] < 1
    spans = {
        span["column"]: span
        for span in _rows(hedged.spans, finding_id=row["finding_id"])
    }
    assert spans["ent"]["words"] == "pneumonia"
    assert HEDGED[spans["phrase"]["begin"] : spans["phrase"]["end"]] == "may represent"
    (edema,) = _rows(hedged.findings, name="pulmonary edema", source="original")
    implied = _rows(hedged.findings, source="expansion", parent_id=edema["finding_id"])
    assert {row["parent_pathway_id"] for row in implied} == {edema["pathway_id"]}


def test_a_contradiction_is_told_with_both_sides_and_what_became_of_them(
    hedged: Annotation,
) -> None:
    (conflict,) = _rows(hedged.conflicts, conflict_type="polarity")
    assert conflict["name"] == "pleural effusion"
    assert conflict["location_parts"] == ["left"]
    sides = {row["finding_id"]: row for row in hedged.left_out.to_dict("records")}
    rows = [sides[finding_id] for finding_id in conflict["finding_ids"]]
    assert {row["status"] for row in rows} == {"dp", "dn"}
    assert {row["event"] for row in rows} == {"removed"}


def test_a_frame_of_no_reports_has_the_columns_of_others(hedged: Annotation) -> None:
    for name, frame in lunguage_assets.annotate(_texts()).frames.items():
        assert frame.empty
        assert list(frame.columns) == list(hedged.frames[name].columns)


def test_views_that_are_given_count_before_those_of_the_text(
    hedged: Annotation,
) -> None:
    columns = ["view_information", "view_source"]
    given = lunguage_assets.read(HEDGED, views="AP supine").reports[columns]
    assert given.to_numpy().tolist() == [["ap, supine", "metadata"]]
    of_text = hedged.reports[columns].to_numpy().tolist()
    assert of_text == [["pa, lateral", "report text"]]


def test_a_report_is_read_alone_whatever_stands_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [report.text for report in REPORTS[:3]]
    together = lunguage_assets.annotate(_texts(*texts))
    monkeypatch.setattr(method, "REPORTS_AT_ONCE", 1)
    alone = lunguage_assets.annotate(_texts(*texts))
    for name, frame in together.frames.items():
        pd.testing.assert_frame_equal(frame, alone.frames[name])


def test_reports_that_cannot_say_anything_are_noted_and_stop_nobody() -> None:
    french = (
        "Le cœur est de taille normale, sans épanchement pleural, "
        "et les poumons sont clairs."
    )
    annotated = lunguage_assets.annotate(
        _texts("", None, "<p>No <b>pleural</b> effusion.</p>", french)
    )
    notes = annotated.reports["notes"].tolist()
    assert all("empty" in notes_of_report for notes_of_report in notes[:2])
    assert "not-english" in notes[3]
    assert _rows(
        annotated.findings, study_id="report 2", name="pleural effusion", status="dn"
    )


HALF = pd.Series(["a", "b\ud800"], dtype=object)
"""Ids, of which one has half a character; pandas itself refuses it in a column of
text.
"""


TWO_OF_ONE_NAME = pd.DataFrame([["clear", "clear"]], columns=["report", "report"])
ERRORS: list[tuple[Any, dict[str, str], list[str]]] = [
    (pd.DataFrame({"text": ["a"]}), {}, ["column 'report': found no", "among ['text']"]),
    (_texts("x"), {"study_id": "accession"}, ["column 'accession'", "['study_id', 'report']"]),
    (TWO_OF_ONE_NAME, {}, ["column 'report': found 2 column of that name"]),
    (_texts("x").assign(study_id=[None]), {}, ["row 0", "column 'study_id'"]),
    (_texts("x", "y").assign(study_id="a"), {}, ["row 1, column 'study_id'", "id of row 0"]),
    (_texts("x", "y").assign(study_id=HALF), {}, ["row 1, column 'study_id'", "half a character"]),
    (pd.DataFrame({"report": [7]}), {}, ["row 0, column 'report': found the type int", "as str."]),
    (_texts("x").assign(view="sideways"), {"views": "view"}, ["row 0, column 'view'", "lateral"]),
    (_texts("x" * 1_000_001), {}, ["row 0, column 'report'", "a million"]),
    (_texts("%PDF-1.7 ..."), {}, ["row 0, column 'report'", "no text"]),
    *((nothing, {}, ["frame, or a list of texts", "use `read`"])
      for nothing in ("No effusion.", None, 7, {"Clear lungs."})),
]  # fmt: skip


def test_an_error_names_row_column_and_what_to_do() -> None:
    failing = []
    for frame, options, words in ERRORS:
        with pytest.raises(InputError) as raised:
            lunguage_assets.annotate(frame, **options)
        failing += [word for word in words if word not in str(raised.value)]
    assert failing == []


def test_texts_need_no_frame_and_a_frame_no_column_of_ids() -> None:
    frame = pd.DataFrame({"report": ["No effusion.", None]}, index=["a", "b"])
    assert lunguage_assets.annotate(frame).reports["study_id"].tolist() == ["a", "b"]
    of_series = lunguage_assets.annotate(frame["report"])
    assert of_series.reports["study_id"].tolist() == ["a", "b"]
    of_mapping = lunguage_assets.annotate({"a": "No effusion.", "b": None})
    assert of_mapping.reports["study_id"].tolist() == ["a", "b"]
    of_list = lunguage_assets.annotate(["No effusion.", "Possible edema."])
    assert of_list.reports["study_id"].tolist() == ["0", "1"]
    assert _rows(of_list.findings, study_id="1", name="pulmonary edema", status="tp")


def test_texts_that_stand_in_the_place_of_column_names_are_not_told() -> None:
    frame = pd.DataFrame(columns=["1", f"A {SPOKEN} opacity."])
    with pytest.raises(InputError, match=r"among 2 with blanks or digits"):
        lunguage_assets.annotate(frame)


def test_neither_an_annotation_nor_an_error_shows_what_a_report_says() -> None:
    assert SPOKEN not in repr(lunguage_assets.read(f"{SPOKEN} effusion."))
    for text, views in ((f"\x01\x02{SPOKEN} effusion.", ""), ("x", SPOKEN)):
        with pytest.raises(InputError) as raised:
            lunguage_assets.read(text, views=views)
        assert SPOKEN not in str(raised.value)


def test_a_notebook_shows_the_first_reports_in_a_frame_that_runs_nothing() -> None:
    annotated = lunguage_assets.annotate(
        [HEDGED, "<script>No effusion.", *["No pneumothorax."] * 9]
    )
    frame = annotated._repr_html_()
    assert frame.startswith("<iframe sandbox srcdoc=")
    assert "hedged by “may represent”" in frame
    page = html.unescape(frame)
    assert "<script" not in page
    shown = page.count('<div class="report">')
    assert shown == annotation.REPORTS_IN_A_NOTEBOOK
    assert "reports: 11" in frame


def test_importing_the_package_is_instant_and_reading_needs_no_dagster() -> None:
    script = (
        "import sys, lunguage_assets; assert 'pandas' not in sys.modules;"
        "lunguage_assets.read('No effusion.');"
        "heavy = {'dagster', 'great_expectations', 'matplotlib', 'sqlalchemy', "
        "'jinja2', 'starlette'};"
        "assert not sys.modules.keys() & heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_report_that_breaks_a_rule_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = method.resolve

    def broken(*arguments: Any, **options: Any) -> Any:
        outcome = honest(*arguments, **options)
        first = outcome.rows["study_id"] == "s00000000"
        return outcome._replace(
            rows=outcome.rows.assign(support=outcome.rows["support"].mask(first, 0.1))
        )

    texts = _texts("Possible pneumonia.", "Possible edema.")
    alone = lunguage_assets.annotate(texts.tail(1))
    monkeypatch.setattr(method, "resolve", broken)
    annotated = lunguage_assets.annotate(texts)
    (set_aside,) = annotated.set_aside.to_dict("records")
    bad, good = texts["study_id"]
    rule = "the support of a stated finding is p, or 1 - p of a denied one"
    assert (set_aside["study_id"], set_aside["rule"]) == (bad, rule)
    assert set_aside["finding_ids"] == [f"{bad}:1"]
    assert "support 0.1" in set_aside["found"]
    with_bad = {
        name
        for name, frame in annotated.frames.items()
        if bad in set(frame["study_id"])
    }
    assert with_bad == {"reports", "sentences", "set_aside"}
    pd.testing.assert_frame_equal(annotated.labels, alone.labels)
    shown_bad, shown_good = shown_reports(annotated.frames)
    assert rule in " ".join(shown_bad.remarks)
    assert (shown_bad.is_read, shown_good.is_read) == (False, True)
    assert shown_good.study_id == good
    assert rule not in " ".join(shown_good.remarks)


def test_a_prompt_completes_the_public_names_alone() -> None:
    assert {name for name in dir(lunguage_assets) if not name.startswith("_")} == set(
        lunguage_assets.__all__
    )
    assert "read" in lunguage_assets.__all__


LABELS = [
    ("FINDINGS: Opacity in the right base, possibly infection.", "pneumonia", ("stated", "tp")),
    ("FINDINGS: Right lower lobe opacity concerning for infection.", "pneumonia", ("stated", "tp")),
    ("FINDINGS: No evidence of pulmonary infection.", "pneumonia", ("denied", "dn")),
    ("FINDINGS: Mild eventration of the right hemidiaphragm. No acute disease.", "no finding", ("denied", "dn")),
    ("FINDINGS: Soft tissue infection of the chest wall.", "pneumonia", ("unmentioned", None)),
    ("IMPRESSION: Small pneumothorax.\n\nADDENDUM: No pneumothorax.", "pneumothorax", ("contradictory", None)),
]  # fmt: skip
STATUSES = [
    ("FINDINGS: Enlarged cardiac silhouette, possibly cardiomegaly.", ["dp", "tp"]),
    ("FINDINGS: Effusion (no), edema (mild).", ["dn", "dp"]),
]


def test_the_label_of_a_report() -> None:
    read = []
    for text, name, _ in LABELS:
        labels = lunguage_assets.read(text).labels.astype(object).set_index("label")
        status = labels.loc[name, "status"]
        known_status = None if labels.isna().loc[name, "status"] else status
        read.append((text, name, (labels.loc[name, "source"], known_status)))
    assert read == LABELS


def test_a_sign_and_its_explanation_and_what_brackets_answer_are_rows() -> None:
    read = []
    for text, _ in STATUSES:
        findings = lunguage_assets.read(text).findings
        is_stated = findings["source"] == "original"
        read.append((text, findings.loc[is_stated, "status"].tolist()))
    assert read == STATUSES


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "read.md").read_text(
    encoding="utf-8"
)
KNOWN = {**TABLES, released.LABELS.name: released.LABELS}
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_run() -> None:
    first, second = EXAMPLES
    names: dict[str, object] = {}
    exec(first + second, names)
    annotation = names["annotation"]
    labels = names["labels"]
    assert isinstance(annotation, Annotation)
    assert isinstance(labels, pd.DataFrame)
    assert ["possible"] in annotation.findings["phrases"].tolist()
    assert set(labels["study_id"]) == {"a", "b"}


def test_the_page_names_every_frame_with_the_table_whose_columns_it_has() -> None:
    annotation = lunguage_assets.read("No effusion.")
    table_rows = re.findall(
        r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| (.*)\|$", PAGE, re.MULTILINE
    )
    assert {frame for frame, _, _ in table_rows} == set(Annotation._fields)
    for frame, columns_cell, note in table_rows:
        table, *columns_named = re.findall(r"`(\w+)`", columns_cell)
        stored = (
            columns_named or KNOWN[table].names
            if table in KNOWN
            else [table, *columns_named]
        )
        all_named = {*stored, *re.findall(r"`(\w+)`", note), "study_id"} - {
            "subject_id",
            "source_id",
            "number",
        }
        assert all_named == set(getattr(annotation, frame).columns), frame
