"""The same report on a terminal, on a page and as JSON: everything is there, and
nothing of it acts.
"""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from headless_chromium import CHROMIUM, Page, chromium
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from read_reports import HEDGED
from rich.console import Console

import lunguage_assets
from lunguage_assets.annotation.page import (
    SCHEMA,
    ReportForm,
    json_document,
    print_report,
    read_page,
)
from lunguage_assets.annotation.shown import ShownReport, pieces, shown_reports
from lunguage_assets.packaged_data import page_template

HOSTILE = HEDGED.replace(
    "Cough.", "Cough \"&\" x<y 'onmouseover=alert(1)' {{ 7*7 }} [bold]loud[/bold]."
)
SENTENCES = (
    "The lungs are clear.",
    "There is no pleural effusion or pneumothorax.",
    "Small bilateral pleural effusions are unchanged.",
    "Patchy opacity at the left base may represent atelectasis or pneumonia.",
    "Pneumonia cannot be excluded.",
    "Mild cardiomegaly is likely.",
    "The tip of the endotracheal tube is 4 cm above the carina.",
    "Findings are concerning for pulmonary edema.",
    "Follow-up radiograph is recommended.",
    "Heart size is\nnormal.",
)
HEADINGS = ("FINDINGS: ", "IMPRESSION:\n", "\n\n", " ")
PRINTABLE = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
PIECES = (
    st.sampled_from(SENTENCES)
    | st.sampled_from(HEADINGS)
    | st.text(PRINTABLE, max_size=12)
)


def _shown(text: str) -> ShownReport:
    (report,) = shown_reports(lunguage_assets.read(text).frames)
    return report


def _printed(report: ShownReport) -> str:
    output = io.StringIO()
    print_report(report, Console(file=output, width=160, highlight=False))
    return output.getvalue()


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


_SPANS = st.lists(
    st.fixed_dictionaries(
        {
            "finding_id": st.sampled_from("abc"),
            "column": st.sampled_from(("ent", "phrase", "location")),
            "begin": st.integers(0, 30),
            "end": st.integers(31, 39),
        }
    ),
    max_size=8,
)


@given(
    st.text(min_size=40, max_size=40),
    _SPANS,
    st.lists(st.integers(0, 40), max_size=6, unique=True),
)
def test_the_pieces_join_to_the_text_and_carry_all_its_rows(
    text: str, spans: list[dict[str, Any]], cuts: list[int]
) -> None:
    columns = {"section": "find", "account": "findings", "reason": ""}
    ends = enumerate(pairwise(sorted(cuts)), start=1)
    sentences = [
        {"begin": begin, "end": end, "sent_idx": number, **columns}
        for number, (begin, end) in ends
    ]
    row_by_id: Any = {name: name for name in "abc"}
    pieces_of_text = pieces(text, spans, sentences, row_by_id)
    assert "".join(piece.text for piece in pieces_of_text) == text
    position = 0
    for piece in pieces_of_text:
        covering = [s for s in spans if s["begin"] <= position < s["end"]]
        assert set(piece.rows) == {span["finding_id"] for span in covering}
        position += len(piece.text)
    numbers = [piece.sentence for piece in pieces_of_text if piece.sentence]
    assert numbers == [sentence["sent_idx"] for sentence in sentences]


def test_the_terminal_shows_text_findings_reasons_contradictions_and_labels() -> None:
    printed = _printed(_shown(HEDGED))
    for words in (
        "may represent pneumonia",
        "hedged by “may represent”",
        "↳",
        "contradicts",
        "rule 2",
        "views: pa, lateral",
        "pneumothorax",
        "pathway pulmonary_edema_1",
        "consolidation 0.80 to 1.00 (implied)",
        "left out",
    ):
        assert words in printed, words


@examples(8)
@given(st.lists(PIECES, max_size=10))
def test_frames_page_and_terminal_account_for_every_row(texts: list[str]) -> None:
    """Of known sentences between anything that a keyboard can write."""
    annotation = lunguage_assets.read("\x1b[31m" + " ".join(texts))
    (report,) = annotation.reports["report"].tolist()
    spans = annotation.spans
    quoted = [report[b:e] for b, e in zip(spans["begin"], spans["end"], strict=True)]
    assert quoted == spans["words"].tolist()
    rows = pd.concat([annotation.findings, annotation.left_out])
    assert rows["finding_id"].is_unique
    stated = rows.loc[rows["source"] == "original", "finding_id"]
    assert set(stated) == set(spans["finding_id"])
    (shown,) = shown_reports(annotation.frames)
    on_page = re.search(
        r'<div class="text">(.*?)</div>\n<div class="legend">',
        read_page([shown]),
        re.DOTALL,
    )
    assert on_page is not None
    assert _Page(on_page[1]).text == "".join(piece.text for piece in shown.pieces)
    assert all(c.isprintable() or c == "\n" for c in _printed(shown))


@pytest.mark.parametrize("form", [None, ReportForm(HOSTILE, '"><script>')])
def test_the_page_shows_everything_and_nothing_in_it_acts_or_is_loaded(
    form: ReportForm | None,
) -> None:
    page = read_page([_shown(HOSTILE)], form)
    parsed = _Page(page)
    assert not {"script", "img", "link", "iframe", "object"} & parsed.tags
    assert not [name for name in parsed.attributes if name.startswith("on")]
    assert not {"src", "href", "style"} & parsed.attributes
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|url\(|@import", page)
    for words in (
        "'onmouseover=alert(1)' {{ 7*7 }}",
        "hedged by “may represent”",
        "Contradicts",
        "Left out",
        "consolidation 0.80 to 1.00, implied",
        "no finding 0.00, denied",
    ):
        assert words in parsed.text, words


SCRIPT = '<script>window.owned=1</script><img src=x onerror="window.owned=1"> \'" onmouseover=window.owned=1 x='
"""Element, handler, and a way out of an attribute."""
_HANDLERS = """[...document.querySelectorAll('*')].flatMap(node => [...node.attributes])
  .filter(attribute => attribute.name.startsWith('on')).length"""


@pytest.mark.ui
@pytest.mark.lengthy
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_no_script_of_a_report_runs(tmp_path: Path) -> None:
    """In the text, beside a finding, in its words and in the reasons that a reader can
    open; as the page is, and without its policy, each time the words are shown.
    """
    text = HEDGED.replace("pneumonia", f"pneumonia {SCRIPT}").replace("Cough", SCRIPT)
    report = _shown(text)
    assert report.rows
    whole = read_page([report], ReportForm(text, SCRIPT, SCRIPT))
    policy = r'<meta http-equiv="Content-Security-Policy"[^>]*>'
    bare, policies = re.subn(policy, "", whole)
    assert policies == 1, "the page has no policy"
    with chromium(tmp_path / "profile") as page:
        for name, content in (("whole", whole), ("bare", bare)):
            _open(page, tmp_path / f"{name}.html", content)
            assert SCRIPT in page.evaluate("document.body.textContent"), name
            assert not page.evaluate("window.owned"), f"{name}: it ran"
            assert page.evaluate(f"document.scripts.length + {_HANDLERS}") == 0
            sources = page.evaluate("[...document.images].map(image => image.src)")
            assert all(source.startswith("data:image/") for source in sources)
        # The words as they are do run.
        _open(page, tmp_path / "control.html", bare + SCRIPT)
        assert page.evaluate("window.owned") == 1, "this test cannot fail"


def _open(page: Page, file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    page.open(file.as_uri())
    address = json.dumps(file.as_uri())
    is_open = f"location.href === {address} && document.readyState === 'complete'"
    page.wait_until(is_open, file.name)


def test_json_has_the_documented_keys_and_joins_by_finding_id() -> None:
    document = json.loads(json_document(lunguage_assets.read(HEDGED).frames))
    assert document["schema"] == SCHEMA == "lunguage.read/2"
    (report,) = document["reports"]
    assert list(report) == [
        "study_id", "view_information", "view_source", "report", "notes",
        "sentences", "findings", "labels", "conflicts", "left_out", "spans", "cues", "set_aside",
    ]  # fmt: skip
    finding_ids = {
        row["finding_id"] for row in (*report["findings"], *report["left_out"])
    }
    assert {span["finding_id"] for span in report["spans"]} <= finding_ids
    assert {row["parent_id"] for row in report["findings"]} <= {None, *finding_ids}
    assert all(
        report["report"][span["begin"] : span["end"]] == span["words"]
        for span in report["spans"]
    )
    assert "unmentioned" not in {label["source"] for label in report["labels"]}


def test_json_page_and_terminal_say_which_words_decided_a_row() -> None:
    text = "There is no effusion."
    frames = lunguage_assets.read(text).frames
    (report,) = json.loads(json_document(frames))["reports"]
    (row,) = report["findings"]
    assert report["cues"] == [{
        "finding_id": row["finding_id"], "cue": "negated.no", "says": "absent",
        "begin": 9, "end": 11, "words": "no",
    }]  # fmt: skip
    shown = _shown(text)
    reason = 'absent: by "no" (negated.no)'
    assert reason in _Page(read_page([shown])).text
    assert reason in " ".join(_printed(shown).split())
    assert '<span class="cue" title="cue of effusion">no</span>' in read_page([shown])
    stated, *implied = _shown("Possible pulmonary edema.").rows
    assert "(hedge.possible)" in stated.why
    assert not any("(hedge" in row.why for row in implied)


def _worded(macro: str, record: Any) -> str:
    """What page and terminal write of a row."""
    wording: Any = page_template("read", "wording.html.j2").module
    return str(getattr(wording, macro)(record))


def _labels(text: str) -> dict[str, tuple[str, str, str]]:
    """By name what is said of the label, p, and its colour."""
    return {
        label.record["label"]: (
            label.claim,
            _worded("p_of_label", label.record),
            label.tone,
        )
        for label in _shown(text).labels
    }


SAID = [
    ("Pneumonia.", "pneumonia", ("stated", "1.00", "present")),
    ("Possible pneumonia.", "pneumonia", ("stated with doubt", "0.45", "open")),
    ("Pneumonia is unlikely.", "pneumonia", ("denied with doubt", "0.11", "open")),
    ("No pneumonia.", "pneumonia", ("denied", "0.00", "absent")),
    ("No large pleural effusion.", "pleural effusion", ("denied in part", "0.02", "part")),
    ("No right pneumothorax.", "pneumothorax", ("denied at a place", "0.00", "part")),
    ("Pneumonia.", "lung opacity", ("implied", "0.80 to 1.00", "present")),
    ("Normal chest.", "no finding", ("stated", "1.00", "present")),
    ("Pneumonia.", "no finding", ("denied", "0.00", "absent")),
    ("Cannot exclude pneumonia.", "no finding", ("denied with doubt", "0.00 to 0.72", "open")),
]  # fmt: skip


def test_the_words_and_the_colour_of_a_label_say_present_doubted_or_absent() -> None:
    assert [(text, name, _labels(text)[name]) for text, name, _ in SAID] == SAID


CLAIMS = [
    ("No large effusion.", "denied only if “large”", "part", "0.02 (0.00 to 0.04)"),
    ("No pneumothorax.", "absent", "absent", "0"),
    ("Pneumonia is unlikely.", "absent?", "open", "0.11 (0.05 to 0.17)"),
    ("The lungs are clear.", "normal", "absent", "0"),
    ("Tortuous aorta.", "abnormal", "present", "1"),
    ("IMPRESSION: History of pneumonia.", "present, past", "past", "1"),
]


def test_claim_colour_and_p_of_a_row_say_the_same() -> None:
    rows = [(text, _shown(text).rows[0]) for text, *_ in CLAIMS]
    told = [(text, row.claim, row.tone, _worded("p", row.record)) for text, row in rows]
    assert told == CLAIMS


def test_a_merged_denial_of_a_kind_alone_is_marked_as_its_survivor() -> None:
    report = _shown("FINDINGS: No large effusion.\nIMPRESSION: No large effusion.")
    assert {row.tone for row in (*report.rows, *report.left_out)} == {"part"}


def test_every_row_cites_a_number_that_stands_before_its_sentence() -> None:
    report = _shown(HEDGED)
    numbers: dict[str, set[int]] = {}
    number = 0
    for piece in report.pieces:
        number = piece.sentence or number
        for row in piece.rows:
            numbers.setdefault(row.finding_id, set()).add(number)
    sentences = {
        row.finding_id: _worded("where", row.record)
        for row in (*report.rows, *report.left_out)
    }
    stated = {row_id: where for row_id, where in sentences.items() if where}
    assert len(stated) > 5
    for finding_id, where in stated.items():
        assert numbers[finding_id] == {int(where.rpartition(" ")[2])}, where
    assert "⁴Severe pulmonary edema" in _printed(report)
    assert '<i class="at" data-sentence="4"></i><span class="detail"' in read_page(
        [report]
    )


def test_both_of_two_statements_that_stay_are_shown_as_a_contradiction() -> None:
    text = "FINDINGS: Heart size is normal. Cardiomegaly."
    report = _shown(text)
    for shown in (_printed(report), _Page(read_page([report])).text):
        (contradiction,) = re.findall(r".* against .*", shown)
        assert contradiction.count("(kept, see") == 2
    assert _labels(text)["cardiomegaly"] == ("contradictory", "", "open")


def test_no_label_contradicts_its_p_and_no_p_exceeds_one() -> None:
    labels = _labels("Pneumonia is unlikely. Possible edema. Copd.")
    assert labels["no finding"] == ("denied", "0.00", "absent")
    assert labels["pneumonia"][0] == "denied with doubt"
    _, *implied = _shown("FINDINGS: Copd.").rows
    assert {_worded("p", row.record) for row in implied} == {"0.80 to 1.00"}


def test_what_the_history_tells_is_not_called_stated() -> None:
    report = _shown("HISTORY: Fever.\nIMPRESSION: Probable pneumonia.")
    reasons = "\n".join(row.why for row in (*report.rows, *report.left_out))
    assert "history rows take no part" in reasons


def test_every_interval_is_named_where_it_stands() -> None:
    report = _shown("Probable pneumonia. No effusion.")
    hedged, implied, denied = report.rows
    intervals = [_worded("interval", row.record) for row in report.rows]
    assert intervals == ["95% interval", "bounds", ""]
    assert "another reader:" in hedged.why
    assert _worded("p", implied.record).startswith("≥")
    assert _worded("p", denied.record) == "0"
