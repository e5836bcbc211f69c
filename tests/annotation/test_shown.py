"""The same report on a terminal, on a page and as JSON: everything is there, and nothing of it acts."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from hostile_words import HOSTILE as SCRIPT
from hostile_words import in_a_browser, require_harmless
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from read_reports import HEDGED, written_reports
from rich.console import Console

import lunguage_assets
from lunguage_assets.annotation import Annotation
from lunguage_assets.annotation.page import SCHEMA, ReportForm, json_document, print_report, read_page
from lunguage_assets.annotation.shown import pieces, shown_reports

HOSTILE = HEDGED.replace("Cough.", "Cough \"&\" x<y 'onmouseover=alert(1)' {{ 7*7 }} [bold]loud[/bold].")


def _printed(annotation: Annotation, width: int = 120) -> str:
    written = io.StringIO()
    console = Console(file=written, width=width, highlight=False)
    for report in shown_reports(annotation):
        print_report(report, console)
    return written.getvalue()


def _terminal(text: str, width: int = 120) -> str:
    return _printed(lunguage_assets.read(text), width)


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


_COLUMNS = st.sampled_from(("ent", "phrase", "location"))
_SPANS = st.lists(
    st.tuples(st.sampled_from("abc"), _COLUMNS, st.integers(0, 30), st.integers(1, 9)), max_size=8
)


@given(st.text(min_size=40, max_size=40), _SPANS, st.lists(st.integers(0, 40), max_size=6, unique=True))
def test_the_pieces_of_a_text_are_the_text_and_have_all_rows_that_were_read_there(
    text: str, drawn: list[tuple[str, str, int, int]], cuts: list[int]
) -> None:
    spans = [
        {"finding_id": own, "column": column, "begin": begin, "end": begin + length}
        for own, column, begin, length in drawn
    ]
    sentence = {"section": "find", "account": "findings", "reason": ""}
    sentences = [{"begin": begin, "end": end, **sentence} for begin, end in pairwise(sorted(cuts))]
    found = pieces(text, spans, sentences)
    assert "".join(piece.text for piece in found) == text
    at = 0
    for piece in found:
        covering = {s["finding_id"] for s in spans if s["begin"] <= at < s["end"]}
        assert set(piece.rows) == covering
        at += len(piece.text)


def test_the_terminal_shows_text_findings_reasons_contradictions_and_labels() -> None:
    shown = _terminal(HEDGED, 160)
    for words in ("may represent pneumonia", "hedged by “may represent”", "↳", "contradicts", "rule 2",
                  "views: pa, lateral", "pneumothorax", "pathway pulmonary_edema_1",
                  "consolidation 0.80 to 1.00 (implied)"):  # fmt: skip
        assert words in shown, words


@examples(15)
@given(written_reports())
def test_whatever_is_written_frames_page_and_terminal_show_it_and_account_for_every_row(text: str) -> None:
    found = lunguage_assets.read("\x1b[31m" + text)
    (report,) = found.reports["report"].tolist()
    assert [report[b:e] for b, e in zip(found.spans["begin"], found.spans["end"], strict=True)] == (
        found.spans["words"].tolist()
    )
    stated, out = (
        set(frame.loc[frame["source"] == "original", "finding_id"])
        for frame in (found.findings, found.left_out)
    )
    assert stated | out == set(found.spans["finding_id"])
    assert not stated & out
    assert found.findings["finding_id"].is_unique
    assert found.left_out["finding_id"].is_unique
    shown = shown_reports(found)
    on_page = re.search(r'<div class="text">(.*?)</div>\n<div class="legend">', read_page(shown), re.DOTALL)
    assert on_page is not None
    assert _Tags(on_page[1]).text == "".join(piece.text for piece in shown[0].pieces)
    assert all(c.isprintable() or c == "\n" for c in _printed(found))


def test_the_page_shows_everything_and_nothing_in_it_acts_or_is_loaded() -> None:
    reports = shown_reports(lunguage_assets.read(HOSTILE))
    for page in (read_page(reports), read_page(reports, ReportForm(HOSTILE, '"><script>'))):
        tags = _Tags(page)
        assert not {"script", "img", "link", "iframe", "object"} & set(tags.names)
        assert not [
            name for name in tags.attributes if name.startswith("on") or name in ("src", "href", "style")
        ]
        assert "default-src &#39;none&#39;" in page
        assert not re.search(r"https?:|url\(|@import", page)
        assert "'onmouseover=alert(1)' {{ 7*7 }}" in tags.text
        for words in (
            "hedged by “may represent”",
            "Contradicts",
            "Left out",
            "consolidation 0.80 to 1.00, implied",
        ):
            assert words in tags.text, words


@in_a_browser
def test_no_script_of_a_report_runs(tmp_path: Path) -> None:
    """In the text, beside a finding, in its words and in the reasons that a reader can open."""
    text = HEDGED.replace("pneumonia", f"pneumonia {SCRIPT}").replace("Cough", SCRIPT)
    reports = shown_reports(lunguage_assets.read(text))
    require_harmless(read_page(reports, ReportForm(text, SCRIPT, SCRIPT)), tmp_path)
    assert reports[0].by_id


def test_json_has_the_documented_keys_and_joins_by_finding_id() -> None:
    document = json.loads(json_document(lunguage_assets.read(HEDGED)))
    assert document["schema"] == SCHEMA == "lunguage.read/2"
    (report,) = document["reports"]
    assert list(report) == [
        "study_id", "view_information", "view_source", "report", "notes",
        "sentences", "findings", "left_out", "conflicts", "labels", "spans", "set_aside",
    ]  # fmt: skip
    known = {row["finding_id"] for row in (*report["findings"], *report["left_out"])}
    assert {span["finding_id"] for span in report["spans"]} <= known
    assert {row["parent_id"] for row in report["findings"]} <= {None, *known}
    assert all(report["report"][span["begin"] : span["end"]] == span["words"] for span in report["spans"])
    assert "unmentioned" not in {label["source"] for label in report["labels"]}


def test_a_label_that_the_report_contradicts_has_no_p() -> None:
    both = "FINDINGS: Small right pleural effusion.\nIMPRESSION: No pleural effusion."
    for shown in (_terminal(both), read_page(shown_reports(lunguage_assets.read(both)))):
        assert "contradictory" in shown
        assert "nan" not in shown


def test_a_part_of_the_body_is_normal_or_abnormal_and_a_finding_absent_or_present() -> None:
    [report] = shown_reports(
        lunguage_assets.read("The lungs are clear. Tortuous aorta. No effusion. Nodule.")
    )
    assert [row.claim for row in report.rows] == ["normal", "abnormal", "absent", "present"]
    [report] = shown_reports(lunguage_assets.read("IMPRESSION: Negative."))
    assert [row.status for row in report.rows] == ["certainly normal"]
    assert "normal" in _terminal("IMPRESSION: The heart may be enlarged. The lungs are clear.")


def test_both_of_two_statements_that_stay_are_shown_as_a_contradiction() -> None:
    (report,) = shown_reports(lunguage_assets.read("FINDINGS: Heart size is normal. Cardiomegaly."))
    ((_, said),) = report.contradictions
    assert said.count(" against ") == 1
    assert said.endswith("both stay")
    assert ("cardiomegaly", "contradictory", "") in report.labels


def test_no_label_is_denied_with_a_p_that_says_the_opposite_and_nothing_is_more_than_certain() -> None:
    (report,) = shown_reports(lunguage_assets.read("FINDINGS: Pneumonia is unlikely. Possible edema. Copd."))
    said = {label: (source, p) for label, source, p in report.labels}
    assert said["no finding"] == ("denied", "")
    assert said["pneumonia"][0] == "denied"
    (report,) = shown_reports(lunguage_assets.read("FINDINGS: Cannot exclude pneumonia."))
    (source, p) = next((source, p) for label, source, p in report.labels if label == "no finding")
    assert source == "in doubt"
    assert p.startswith("at most 0.")
    (copd,) = shown_reports(lunguage_assets.read("FINDINGS: Copd."))[0].rows
    assert all("≥ 1.00" not in row.reason and row.believed.endswith("to 1.00") for row in copd.implied)
