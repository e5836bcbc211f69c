"""Raw reports are the same reports in whatever layout they come."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from delivered_rows import as_csv, row
from raw_deliveries import (
    REPORTS,
    image_metadata,
    write_mimic_tree,
    write_openi_tables,
    write_openi_xml,
    write_table,
    write_text_files,
)

from lunguage_assets.corpus.delivery import content_hash
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.workspace.home import Home

STUDIES = [f"s{report.study}" for report in REPORTS]
TEXTS = [report.text.strip() for report in REPORTS]


def received(folder: Path) -> Received:
    delivery = find_delivery(folder)
    assert delivery.kind == "text"
    return receive(delivery, CorpusSettings())


def notes(receipt: Received) -> set[str]:
    return set(receipt.intake_notes["reason"]) - {"vocabulary-missing"}


def zipped(folder: Path, form: str) -> Path:
    """Everything of a form that lies in a folder, as a package of the collection's own
    name.
    """
    members = sorted(folder.rglob(form))
    path = folder / "mimic-cxr-reports.zip"
    with zipfile.ZipFile(path, "w") as package:
        for member in members:
            package.write(member, member.relative_to(folder))
            member.unlink()
    empty_folders = [member for member in folder.rglob("*") if member.is_dir()]
    for empty in sorted(empty_folders, reverse=True):
        empty.rmdir()
    return path


def tree(folder: Path) -> Path:
    write_mimic_tree(folder)
    return folder


def packed_tree(folder: Path) -> Path:
    write_mimic_tree(folder, packed=True)
    return folder


def package(folder: Path) -> Path:
    write_mimic_tree(folder)
    zipped(folder, "*.txt")
    return folder


def table(name: str) -> Callable[[Path], Path]:
    return lambda folder: write_table(folder, name)[0].parent


def table_alone(folder: Path) -> Path:
    return write_table(folder, "of_our_archive.csv")[0]


def odd_headers(folder: Path) -> Path:
    path = write_table(folder)[0]
    text = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(
        " Study ID ,SUBJECT_ID, View,study date,REPORT\n" + "".join(text[1:]),
        encoding="utf-8",
    )
    return folder


@pytest.mark.parametrize(
    "write",
    [
        tree, packed_tree, package, table("reports.csv"), table("reports.csv.gz"),
        table("reports.parquet"), table("REPORTS.CSV"), table_alone, odd_headers,
    ],
)  # fmt: skip
def test_texts_ids_views_and_times_are_read_in_every_layout(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    receipt = received(write(tmp_path))
    texts = receipt.report_texts
    assert texts["study_id"].tolist() == STUDIES
    assert texts["report"].tolist() == TEXTS
    assert texts["subject_id"].tolist() == [f"p{report.subject}" for report in REPORTS]
    assert set(texts["view_source"]) == {"metadata"}
    assert [views.split(", ")[0] for views in texts["view_information"]] == [
        report.position.lower() for report in REPORTS
    ]
    assert [taken_at[:8] for taken_at in texts["taken_at"]] == [
        str(21500101 + number) for number in range(len(REPORTS))
    ]
    assert len(receipt.rejected) == 0
    assert notes(receipt) == set()


@pytest.mark.parametrize("subfolder", ["files", "files/p10", "files/p10/p10000032"])
def test_any_part_of_the_tree_is_read_with_the_metadata_above_it(
    tmp_path: Path, subfolder: str
) -> None:
    write_mimic_tree(tmp_path)
    (tmp_path / "files" / "LICENSE.txt").write_text("Not a report.", encoding="utf-8")
    receipt = received(tmp_path / subfolder)
    assert set(receipt.report_texts["study_id"]) <= set(STUDIES)
    assert set(receipt.report_texts["view_source"]) == {"metadata"}
    first = receipt.report_texts.iloc[0]
    assert (first["study_id"], first["subject_id"], first["source_id"]) == (
        "s50000001",
        "p10000032",
        "s50000001",
    )


def test_patients_that_a_table_does_not_name_are_those_of_the_metadata(
    tmp_path: Path,
) -> None:
    write_table(tmp_path, full=False)
    (tmp_path / "mimic-cxr-2.0.0-metadata.csv").write_text(
        image_metadata(REPORTS[:-2]), encoding="utf-8"
    )
    receipt = received(tmp_path)
    patient_by_study = dict(
        zip(
            receipt.report_texts["study_id"],
            receipt.report_texts["subject_id"],
            strict=True,
        )
    )
    of_reports = {f"s{report.study}": f"p{report.subject}" for report in REPORTS}
    assert (
        sum(patient_by_study[study] == patient for study, patient in of_reports.items())
        == len(REPORTS) - 2
    )
    assert (
        receipt.intake_notes.set_index("reason")["found"]["patient-unknown"]
        == "2 reports"
    )


@pytest.mark.parametrize("name", ["indiana_reports.csv", "of the web.csv"])
def test_the_open_i_table_is_put_together_under_its_headings(
    tmp_path: Path, name: str
) -> None:
    path, _ = write_openi_tables(tmp_path)
    path.rename(tmp_path / name)
    for source in (tmp_path, tmp_path / name):
        receipt = received(source)
        texts = receipt.report_texts
        assert texts["study_id"].tolist() == [
            f"s{number:08}" for number in range(1, len(REPORTS) + 1)
        ]
        assert texts["source_id"].tolist() == [
            str(number) for number in range(1, len(REPORTS) + 1)
        ]
        first = texts["report"][0]
        assert first.startswith("INDICATION: XXXX")
        assert (
            first.index("COMPARISON: ")
            < first.index("FINDINGS: ")
            < first.index("IMPRESSION: ")
        )
        assert "IMPRESSION" not in texts["report"][3]
        views = dict(zip(texts["view_information"], texts["view_source"], strict=True))
        assert views == {"pa, lateral": "procedure text", "ap": "procedure text"}
        assert notes(receipt) == {"patient-unknown"}


def test_views_of_open_i_images_count_where_the_examination_names_none(
    tmp_path: Path,
) -> None:
    path, _ = write_openi_tables(tmp_path)
    pd.read_csv(path).assign(image="Chest").to_csv(path, index=False)
    texts = received(tmp_path).report_texts
    assert dict(zip(texts["view_information"], texts["view_source"], strict=True)) == {
        "pa, lateral": "metadata",
        "": "unknown",
    }


def test_the_open_i_files_say_what_the_table_says(tmp_path: Path) -> None:
    write_openi_xml(tmp_path / "files")
    write_openi_tables(tmp_path / "table")
    files, tables = (
        received(tmp_path / name).report_texts for name in ("files", "table")
    )
    ids = files["source_id"].tolist()
    assert sorted(ids) == sorted(
        f"CXR{number}" for number in range(1, len(REPORTS) + 1)
    )
    text_by_id = dict(zip(files["source_id"], files["report"], strict=True))
    assert [text_by_id[f"CXR{uid}"].split() for uid in tables["source_id"]] == [
        text.split() for text in tables["report"]
    ]
    assert set(files["view_information"]) == {"pa, lateral", "ap"}


def test_entities_of_an_xml_file_are_never_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("Zanzibarquartz", encoding="utf-8")
    write_openi_xml(tmp_path / "d", REPORTS[:1])
    hostile = (
        f'<!DOCTYPE e [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY y "yyyy">]>'
        '<eCitation><AbstractText Label="FINDINGS">'
        "No effusion &x; &y;.</AbstractText></eCitation>"
    )
    (tmp_path / "d" / "ecgen-radiology" / "2.xml").write_text(hostile, encoding="utf-8")
    receipt = received(tmp_path / "d")
    assert receipt.rejected[["file", "reason"]].to_numpy().tolist() == [
        ["ecgen-radiology/2.xml", "unreadable-file"]
    ]
    assert len(receipt.report_texts) == 1
    assert "Zanzibarquartz" not in receipt.rejected.to_json()


def test_plain_text_files_are_named_after_their_studies(tmp_path: Path) -> None:
    write_text_files(tmp_path)
    (tmp_path / "README.txt").write_text("These are reports.", encoding="utf-8")
    receipt = received(tmp_path)
    assert sorted(receipt.report_texts["source_id"]) == sorted(
        f"report {number}" for number in range(1, len(REPORTS) + 1)
    )
    assert sorted(receipt.report_texts["report"]) == sorted(TEXTS)
    assert receipt.report_texts["study_id"].str.fullmatch("s[1-9][0-9]{16}").all()
    assert notes(receipt) == {"id-numbered", "patient-unknown"}


def test_the_same_reports_packed_otherwise_are_the_same_content(tmp_path: Path) -> None:
    hashes = {
        content_hash(find_delivery(write(tmp_path / str(number))))
        for number, write in enumerate((tree, packed_tree, package))
    }
    assert len(hashes) == 1
    write_mimic_tree(tmp_path / "less", REPORTS[1:])
    assert content_hash(find_delivery(tmp_path / "less")) not in hashes


def test_findings_and_raw_reports_in_one_folder_are_refused_with_both_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "Lunguage.csv").write_text(as_csv([row(0)]), encoding="utf-8")
    write_table(tmp_path)
    assert (
        find_delivery(tmp_path).kind == "findings"
    )  # texts of the findings' own reports
    write_mimic_tree(tmp_path)
    with pytest.raises(
        InputError, match=r"found Lunguage\.csv and text files .* in one form"
    ):
        find_delivery(tmp_path)


def test_what_is_no_delivery_says_what_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"found nothing; expected a file Lunguage\.csv .*, or raw reports",
    ):
        find_delivery(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        find_delivery(tmp_path / "nowhere")
    path = tmp_path / "picture.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(
        InputError,
        match=(
            r"found a file of another kind with the columns .*; "
            r"expected a file Lunguage\.csv"
        ),
    ):
        find_delivery(path)


def test_a_file_is_taken_for_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "structured.csv"
    path.write_text(as_csv([row(0)]), encoding="utf-8")
    assert find_delivery(path).kind == "findings"
    Home(tmp_path / "home").register(path, "a")
    assert Home(tmp_path / "home").delivery("a").kind == "findings"
    single = tmp_path / "one.csv.gz"
    single.write_bytes(gzip.compress(b"study_id,report\n50000001,No effusion.\n"))
    assert find_delivery(single).kind == "text"
