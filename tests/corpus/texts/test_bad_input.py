"""Bad input ends as a report, a rejected record or a note; nothing raises, and nothing
disappears. What is packed is read like what is not, and never unpacked onto the disk.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import zipfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from planted import WORD, forms
from profiles import examples

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.log import reasons
from lunguage_assets.corpus.texts.raw import LARGEST, decoded
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.errors import InputError
from lunguage_assets.tables import INTAKE_NOTES, REJECTED
from lunguage_assets.tables.corpus import REPORT_TEXTS
from lunguage_assets.workspace.home import Home

REPORT = b"FINDINGS: No effusion."


def received(folder: Path) -> Received:
    receipt = receive(find_delivery(folder))
    REPORT_TEXTS.to_arrow(receipt.report_texts)
    REJECTED.to_arrow(receipt.rejected)
    INTAKE_NOTES.to_arrow(receipt.intake_notes)
    return receipt


def files(folder: Path, **contents: bytes) -> Received:
    """One text file for each study number, and a good report among them."""
    for name, content in {"s50000001": REPORT, **contents}.items():
        (folder / f"{name}.txt").write_bytes(content)
    return received(folder)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", method) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def outcome(receipt: Received) -> tuple[int, list[str], list[str]]:
    """Reports, reasons of rejections, reasons of notes about single records."""
    notes_of_lines = receipt.intake_notes[receipt.intake_notes["line"].notna()]
    rejected = receipt.rejected["reason"].tolist()
    return len(receipt.report_texts), rejected, notes_of_lines["reason"].tolist()


CASES: dict[str, tuple[bytes, list[str], list[str]]] = {
    "empty": (b"", ["report-empty"], []),
    "blanks": (b" \r\n\t \x00", ["report-empty"], []),
    "marks without a word": (b"___ // ...", ["report-empty"], []),
    "a page without words": (b"<html><style>p {a: b}</style><p>&nbsp;</p>", ["report-empty"], []),
    "too large": (b"FINDINGS: No effusion. " * 50_000, ["report-too-large"], []),
    "a PDF": (b"%PDF-1.7\n1 0 obj", ["report-not-text"], []),
    "bytes": (bytes(range(256)) * 20, ["report-not-text"], []),
    "web page": (b"<html><body><p><b>FINDINGS:</b> A left&nbsp;effusion.<br>No edema.</p></body></html>", [], []),
    "references of a page": (b"No effusion &amp; no pneumothorax.", [], []),
    "Windows": ("The heart\u2019s size is normal.".encode("cp1252"), [], ["encoding-guessed"]),
    "UTF-16": ("No effusion.".encode("utf-16"), [], []),
    "UTF-16 without mark": ("No effusion.".encode("utf-16-le"), [], []),
    "byte order mark": ("\ufeffNo effusion \u2013 at all.".encode(), [], []),
    "NUL": (b"No \x00effusion.", [], []),
    "no headings": (b"no effusion", [], []),
}  # fmt: skip


def test_odd_text_is_a_report_or_is_rejected_with_its_reason(tmp_path: Path) -> None:
    outcomes = {}
    for case, (content, _, _) in CASES.items():
        outcomes[case] = outcome(files(tmp_path, s50000002=content))
    expected = {
        case: (2 - len(rejected), rejected, notes)
        for case, (_, rejected, notes) in CASES.items()
    }
    assert outcomes == expected


def test_each_record_is_read_in_its_own_encoding(tmp_path: Path) -> None:
    records = [
        b"study_id,report",
        "1,Ghon\u2019s focus.".encode(),
        "2,Ghon\u2019s \x00focus.".encode("cp1252"),
    ]
    (tmp_path / "reports.csv").write_bytes(b"\n".join(records))
    receipt = received(tmp_path)
    assert receipt.report_texts["report"].tolist() == ["Ghon\u2019s focus."] * 2
    assert set(outcome(receipt)[2]) == {"encoding-guessed"}


PAGES = {
    "<p>Small effusion.<p>No pneumothorax.<br/>": "Small effusion.\nNo pneumothorax.",
    "Nodule &lt; 5 mm<script>x</script></p>": "Nodule < 5 mm",
    "A nodule <5 mm, effusion > 2 cm; a < b.": "A nodule <5 mm, effusion > 2 cm; a < b.",
    "<!DOCTYPE html>No<SCRIPT a>x</script >edema": "No\nedema",
    "a<!-- y -->.<style>z</STYLE> a <script < b": "a\n.\n a <script < b",
    **{f"<p>No{reference} edema": f"No{reference} edema"
       for reference in (f"&#{'9' * 5_000};", f"&#{'0' * 5_000}65", f"&#x{'F' * 24};")},
    "FINDINGS:\r\nNo effusion.\rDone.": "FINDINGS:\nNo effusion.\nDone.",
}  # fmt: skip


def test_marks_go_and_the_words_of_a_page_stay_apart() -> None:
    assert {page: decoded(page.encode()).report for page in PAGES} == PAGES


@pytest.mark.parametrize(
    "mark", ["<script ", "<style>", "<!--", "<!doctype ", "<script></script ", "<p "]
)
def test_marks_that_never_end_are_read_once(mark: str) -> None:
    """A reader that looks for the end of each would take most of an hour."""
    page = (mark * (LARGEST // len(mark))).encode()
    assert decoded(page).refusal in ("", "report-empty: report")


def test_a_name_of_a_table_that_is_not_utf_8_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff.csv")
    path.write_text("study_id,report\n1,No effusion.\n")
    assert received(tmp_path).report_texts["file"].tolist() == ["odd\\udcff.csv"]


def test_of_two_reports_of_a_study_the_first_stays(tmp_path: Path) -> None:
    rows = "50000001,No effusion.\ns50000001,No effusion.\n50000001,An effusion.\n"
    (tmp_path / "reports.csv").write_text(f"study_id,report\n{rows}")
    receipt = received(tmp_path)
    assert outcome(receipt) == (1, ["report-repeated"] * 2, [])
    assert receipt.report_texts["report"].tolist() == ["No effusion."]
    assert receipt.rejected["line"].tolist() == [2, 3]
    assert "addendum" in receipt.rejected["remedy"][0]
    assert json.loads(receipt.rejected["content"][1])["report"] == "An effusion."


def test_dates_and_views_that_nobody_understands_are_noted(tmp_path: Path) -> None:
    rows = [
        ("1", "2014-05-08 10:30", "PA"), ("2", "20140508.0", "ap"), ("3", "8 May 14", "LL"),
        ("4", "2014-13-40", "oblique"), ("5", "", "Frontal and Lateral"),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["study_id", "study_date", "view"]).assign(
        report="No effusion."
    )
    frame.to_csv(tmp_path / "reports.csv", index=False)
    receipt = received(tmp_path)
    texts = receipt.report_texts
    taken_at = ["20140508103000", "20140508000000", "", "", ""]
    assert texts["taken_at"].tolist() == taken_at
    views = ["pa", "ap", "lateral", "", "pa, lateral"]
    assert texts["view_information"].tolist() == views
    assert sorted(outcome(receipt)[2]) == ["study-date-ignored"] * 2 + ["view-ignored"]


def test_damaged_files_and_members_cost_themselves(tmp_path: Path) -> None:
    cut_off = gzip.compress(b"No effusion. " * 100)[:-20]
    (tmp_path / "s50000002.txt.gz").write_bytes(cut_off)
    (tmp_path / "s50000003.txt.gz").write_bytes(b"no package")
    assert outcome(files(tmp_path)) == (1, ["unreadable-file"] * 2, [])
    folder = tmp_path / "zip"
    folder.mkdir()
    patient = "files/p10/p10000032"
    members = {
        f"{patient}/s50000001.txt": REPORT,
        f"{patient}/s50000002.txt": b"Edema.",
    }
    content = zipped(members, zipfile.ZIP_STORED).replace(b"Edema.", b"Enema.")
    (folder / "mimic-cxr-reports.zip").write_bytes(content)
    assert outcome(received(folder)) == (1, ["unreadable-file"], [])


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6))
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_package_with_any_bytes_exchanged_is_read_or_refused(
    tmp_path: Path, exchanged: list[tuple[int, int]]
) -> None:
    names = ("p1/1.txt", "../2.txt.gz", "/3.txt")
    content = bytearray(zipped(dict.fromkeys(names, b"No effusion.")))
    for offset, value in exchanged:
        content[-1 - offset % len(content)] = value
    (tmp_path / "reports.zip").write_bytes(content)
    with contextlib.suppress(InputError):
        receipt = received(tmp_path)
        assert len(receipt.report_texts) + len(receipt.rejected) <= 3


def test_two_files_of_one_name_in_a_package_are_read_once_each(tmp_path: Path) -> None:
    content = zipped({"1.txt": REPORT, "2.txt": b"Edema."})
    (tmp_path / "a.zip").write_bytes(content.replace(b"2.txt", b"1.txt"))
    receipt = received(tmp_path)
    assert receipt.report_texts["report"].tolist() == [REPORT.decode()]
    assert receipt.rejected["reason"].tolist() == ["report-repeated"]
    assert "Edema." in receipt.rejected["content"][0]


def test_names_in_a_package_are_names_and_no_places(tmp_path: Path) -> None:
    names = ["/etc/1.txt", "../../../1.txt", "a/" * 300 + "1.txt", "C:\\files\\1.txt"]
    for number, name in enumerate(names):
        content = zipped({name: REPORT, "2.txt": REPORT})
        (tmp_path / "a.zip").write_bytes(content)
        assert len(received(tmp_path).report_texts) == 2
        Home(tmp_path / "home").register(tmp_path / "a.zip", f"a{number}")
    assert not list(tmp_path.rglob("1.txt"))


def test_a_packed_table_says_so_by_its_name(tmp_path: Path) -> None:
    content = zipped({"export.csv": b"study_id,report\n1,No effusion.\n"})
    (tmp_path / "reports.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"reports\.zip.*expected.*\.csv\.zip"):
        find_delivery(tmp_path)
    (tmp_path / "reports.zip").rename(tmp_path / "reports.csv.zip")
    assert received(tmp_path).report_texts["report"].tolist() == ["No effusion."]


_TEXTS = st.one_of(
    st.sampled_from([content for content, _, _ in CASES.values()]),
    st.just(b"There is no\x00 pneumothorax.\x0c Small\x1b[31m left effusion.\r\n"),
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
)  # fmt: skip
_IDS = st.one_of(
    st.sampled_from(["1", "50000001", "s50000001", "ACC-17", ""]), st.text(max_size=8)
)


@given(records=st.lists(st.tuples(_IDS, _TEXTS), min_size=1, max_size=6))
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_record_of_a_table_ends_somewhere(
    tmp_path: Path, records: list[tuple[str, bytes]]
) -> None:
    lines = [b"study_id,report"]
    for study, content in records:
        cells = (study.encode("utf-8", "surrogatepass"), content)
        escaped = [cell.replace(b'"', b'""') for cell in cells]
        lines.append(b'"%b","%b"' % tuple(escaped))
    (tmp_path / "reports.csv").write_bytes(b"\n".join(lines))
    receipt = received(tmp_path)
    assert len(receipt.report_texts) + len(receipt.rejected) == len(records)
    assert set(receipt.rejected["reason"]) <= reasons()["rejections"].keys()
    assert set(receipt.intake_notes["reason"]) <= reasons()["notes"].keys()


def test_words_of_reports_stand_in_restricted_columns_only(tmp_path: Path) -> None:
    sentence = f"Perhaps a nodule near the {WORD}."
    contents = {
        "plain": sentence.encode(),
        "page": f"<p>{sentence}</p>".encode(),
        "none": f"%PDF-{sentence}".encode(),
        "wide": sentence.encode("utf-16"),
        "large": sentence.encode() * 40_000,
        "windows": f"\u2013{sentence}".encode("cp1252"),
    }
    receipt = files(tmp_path, **contents)
    assert outcome(receipt)[0] == 5
    for table_of in (REPORT_TEXTS, REJECTED, INTAKE_NOTES):
        frame = getattr(receipt, table_of.name)
        is_open = [column.name for column in table_of.columns if not column.restricted]
        assert WORD.lower() not in frame[is_open].to_json().lower()
    assert WORD not in receipt.intake_notes.to_json()


UNUSABLE = [
    ("reports.csv", f"{WORD},{WORD}\nx,y\n".encode()),
    ("reports.csv", f"study_id,study_id,report\n{WORD},1,2\n".encode()),
    ("reports.parquet", WORD.encode()), ("reports.csv", f"study_id\n{WORD}\n".encode()),
    ("reports.csv", f"\xff\xfe{WORD}".encode("utf-16")), ("reports.zip", WORD.encode()),
]  # fmt: skip


def test_errors_about_whole_files_quote_nothing(tmp_path: Path) -> None:
    for name, content in UNUSABLE:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as caught:
            receive(find_delivery(tmp_path / name))
        assert not any(form in str(caught.value).encode() for form in forms())


def test_circular_links_stop_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "s50000001.txt").write_bytes(b"No effusion.")
    for name in ("x", "y"):  # walked again and again, two to the power of forty folders
        (folder / name).symlink_to(".")
    (folder / "s50000002.txt").symlink_to("s50000002.txt")
    assert outcome(received(tmp_path)) == (1, ["unreadable-file"], [])


def test_rows_of_chexpert_plus_that_cannot_be_read_cost_nothing_but_themselves(
    tmp_path: Path,
) -> None:
    rows = [
        "path_to_image,section_findings,section_impression,patient_report_date_order",
        "train/patient1/study1/view1_frontal.jpg,Clear lungs.,,soon",
        "view.jpg,Clear lungs.,,",
        "train/patient1/study1/view2_frontal.jpg,Edema.,,",
    ]
    (tmp_path / "df_chexpert_plus_240401.csv").write_text("\n".join(rows) + "\n")
    receipt = received(tmp_path)
    assert receipt.report_texts["report"].tolist() == ["FINDINGS: Clear lungs."]
    assert receipt.rejected[["line", "reason", "column"]].to_numpy().tolist() == [
        [2, "study-id-missing", "path_to_image"],
        [3, "report-repeated", "report"],
    ]
    assert "study-order-ignored" in set(receipt.intake_notes["reason"])


def test_a_finding_without_an_english_sentence_costs_itself(tmp_path: Path) -> None:
    findings = [{"sentence_en": "No edema."}, {"sentence_es": "Nada."}]
    study = {"StudyID": "1", "ImageID": "1.png", "findings": findings}
    silent = study | {"StudyID": "2", "findings": findings[1:]}
    (tmp_path / "grounded_reports.json").write_text(json.dumps([study, silent]))
    assert outcome(received(tmp_path)) == (1, ["report-empty"], [])


def json_lines(folder: Path, *lines: str) -> Received:
    (folder / "reports.jsonl").write_text("\n".join(lines))
    return received(folder)


def test_a_line_that_is_no_object_costs_itself(tmp_path: Path) -> None:
    good = '{"study_id": "1", "report": "No effusion."}'
    receipt = json_lines(tmp_path, good, "5", good[:-9], "[" * 60_000)
    assert outcome(receipt) == (1, ["unreadable-entry"] * 3, [])
    assert receipt.rejected["line"].tolist() == [2, 3, 4]


def test_halves_of_characters_and_endless_numbers_cost_no_report(
    tmp_path: Path,
) -> None:
    odd = {"study_id": "s\ud800", "subject_id": "\ud800", "study_date": "\ud800"}
    entry = json.dumps({**odd, "view": "\ud800", "age": 5, "report": "Ed\ud800ema."})
    receipt = json_lines(tmp_path, entry.replace("5", "5" * 5_000))
    assert outcome(receipt)[:2] == (1, [])
    assert receipt.report_texts["source_id"].tolist() == ["s\\ud800"]


@pytest.mark.parametrize("content", ['{"s1": {"report": "No eff', "[" * 60_000])
def test_json_that_breaks_off_or_is_too_deep_is_refused_as_a_whole(
    tmp_path: Path, content: str
) -> None:
    head = '{"s0": {"section_findings": 0, "section_impression": 0, "report": "No."},\n'
    (tmp_path / "rexrank.json").write_text(head + content)
    with pytest.raises(InputError, match=r"rexrank\.json.*breaks off here") as refused:
        received(tmp_path)
    assert "eff" not in str(refused.value).replace("effort", "")
