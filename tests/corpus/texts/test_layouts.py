"""Raw reports are the same reports in whatever layout they come."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
import yaml
from delivered_rows import as_csv, row
from raw_deliveries import REPORTS, write_image_metadata, write_mimic_tree, write_table

from lunguage_assets.corpus import discovery
from lunguage_assets.corpus.delivery import content_hash
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.texts.layouts import Layout, layouts
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.corpus.texts.sources import write_packed
from lunguage_assets.errors import InputError
from lunguage_assets.workspace.home import Home

STUDIES = [f"s{report.study}" for report in REPORTS]
TEXTS = [report.text.strip() for report in REPORTS]


def received(folder: Path) -> Received:
    return receive(find_delivery(folder))


def notes(receipt: Received) -> set[str]:
    return set(receipt.intake_notes["reason"]) - {"vocabulary-missing"}


def write_example(layout: Layout, folder: Path) -> None:
    for name, content in layout.example["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def in_gz(folder: Path) -> None:
    for path in [path for path in folder.rglob("*.*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def in_zip(folder: Path) -> None:
    for path in list(folder.iterdir()):
        with zipfile.ZipFile(folder / f"{path.name}.zip", "w") as package:
            package.write(path, path.name)
        path.unlink()


def in_archive(form: str) -> Callable[[Path], None]:
    def pack(folder: Path) -> None:
        archive = shutil.make_archive(str(folder.with_name("archive")), form, folder)
        shutil.rmtree(folder)
        folder.mkdir()
        ending = ".tgz" if form == "gztar" else ".zip"
        shutil.move(archive, folder / f"reports{ending}")

    return pack


def packings(layout: Layout) -> dict[str, Callable[[Path], object]]:
    """The ways to pack a layout; of files of several records each is packed alone."""
    ways: dict[str, Callable[[Path], object]] = {"files": bool, "gz": in_gz}
    if layout.reads == "records":
        return ways | {"zip": in_zip}
    return ways | {"tgz": in_archive("gztar"), "zip": in_archive("zip")}


def differences(layout: Layout, folder: Path) -> list[str]:
    """How each packing of a layout's example differs from what the entry says."""
    name = layout.title
    different = []
    for way, pack in packings(layout).items():
        delivered = folder / str(len(list(folder.iterdir()))) / "reports"
        write_example(layout, delivered)
        pack(delivered)
        source = find_delivery(delivered).source
        if source.layout is not layout:
            different.append(f"{name}, {way}: taken for {source.title}")
        reports = []
        for report in find_delivery(delivered).raw_reports().to_dict("records"):
            values = {field: report[field] for field in REPORT_FIELDS}
            values["text"] = report["content"].decode()
            reports.append({key: value for key, value in values.items() if value})
        if reports != layout.example["reports"]:
            different.append(f"{name}, {way}: {reports}")
    return different


REPORT_FIELDS = (
    "study", "patient", "taken_at", "sequence", "views", "procedure", "reason"
)  # fmt: skip


def test_every_layout_is_recognised_by_its_example_and_reads_it(tmp_path: Path) -> None:
    found = [
        differences(layout, tmp_path) for layout in layouts().values() if layout.example
    ]
    assert [*chain.from_iterable(found)] == []


def test_the_entry_of_the_page_on_adding_reads_its_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[3] / "docs" / "adding.md"
    _, _, entry = page.read_text(encoding="utf-8").partition("```yaml\nour-archive:")
    content = yaml.safe_load(f"our-archive:{entry.partition('```')[0]}")
    ours = Layout(**content["our-archive"])
    with_ours = {"our-archive": ours, **layouts()}
    monkeypatch.setattr(discovery, "layouts", lambda: with_ours)
    assert differences(ours, tmp_path) == []


def mimic_packed(folder: Path) -> None:
    write_mimic_tree(folder)
    in_gz(folder / "files")


def mimic_zip(folder: Path) -> None:
    write_mimic_tree(folder)
    shutil.make_archive(str(folder / "mimic-cxr-reports"), "zip", folder, "files")
    shutil.rmtree(folder / "files")


def odd_headers(folder: Path) -> None:
    path = write_table(folder)
    _, _, lines = path.read_text(encoding="utf-8").partition("\n")
    header = " Study ID ,SUBJECT_ID, View,study date,REPORT\n"
    path.write_text(header + lines, encoding="utf-8")


WRITERS: dict[str, Callable[[Path], object]] = {
    "tree": write_mimic_tree,
    "packed tree": mimic_packed,
    "archive": mimic_zip,
    "table": write_table,
    "parquet": lambda folder: write_table(folder, "reports.parquet"),
    "another name": lambda folder: write_table(folder, "OF_OUR_ARCHIVE.CSV"),
    "odd headers": odd_headers,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_texts_ids_views_and_times_are_read_in_every_layout(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    write(tmp_path)
    receipt = received(tmp_path)
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


def test_any_part_of_the_tree_is_read(tmp_path: Path) -> None:
    write_mimic_tree(tmp_path)
    (tmp_path / "files" / "LICENSE.txt").write_text("Not a report.", encoding="utf-8")
    for part in ("files", "files/p10", "files/p10/p10000032"):
        texts = received(tmp_path / part).report_texts
        assert set(texts["study_id"]) <= set(STUDIES)
        assert texts["subject_id"][0] == "p10000032"
        # The metadata lie above the part.
        assert set(texts["view_source"]) == {"metadata"}


def test_patients_that_a_table_does_not_name_are_those_of_the_metadata(
    tmp_path: Path,
) -> None:
    rows = pd.read_csv(write_table(tmp_path))[["study_id", "report"]]
    rows.to_csv(tmp_path / "reports.csv", index=False)
    write_image_metadata(tmp_path, REPORTS[:-2])
    receipt = received(tmp_path)
    named = [f"p{report.subject}" for report in REPORTS[:-2]]
    assert receipt.report_texts["subject_id"].tolist()[:-2] == named
    found = receipt.intake_notes.set_index("reason")["found"]
    assert found["patient-unknown"] == "2 reports"


def test_views_of_open_i_are_those_that_the_examination_names(tmp_path: Path) -> None:
    rows = "1,Xray Chest PA and Lateral,Clear.,\n2,PORTABLE CHEST 1 VIEW,Clear.,\n"
    path = tmp_path / "indiana_reports.csv"
    path.write_text(f"uid,image,findings,impression\n{rows}")
    images = "1,Frontal\n1,Lateral\n2,Frontal\n"
    (tmp_path / "indiana_projections.csv").write_text(f"uid,projection\n{images}")
    texts = received(path).report_texts
    assert texts["view_information"].tolist() == ["pa, lateral", "ap"]
    assert set(texts["view_source"]) == {"procedure text"}


def test_entities_of_an_xml_file_are_never_resolved(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("Zanzibarquartz", encoding="utf-8")
    report = '<AbstractText Label="FINDINGS">No effusion{}.</AbstractText>'
    secret = (tmp_path / "secret").as_uri()
    hostile = f'<!DOCTYPE e [<!ENTITY x SYSTEM "{secret}">]>{report.format("&x;")}'
    (tmp_path / "1.xml").write_text(report.format(""), encoding="utf-8")
    (tmp_path / "2.xml").write_text(hostile, encoding="utf-8")
    wide = f'<?xml version="1.0" encoding="utf-16"?>{hostile}'
    (tmp_path / "3.xml").write_bytes(wide.encode("utf-16"))
    receipt = received(tmp_path)
    assert receipt.rejected[["file", "reason"]].to_numpy().tolist() == [
        ["2.xml", "unreadable-file"],
        ["3.xml", "unreadable-file"],
    ]
    assert len(receipt.report_texts) == 1


def test_plain_text_files_are_named_after_their_studies(tmp_path: Path) -> None:
    for name in ("report 1", "report 2", "README"):
        (tmp_path / f"{name}.txt").write_text("No effusion.", encoding="utf-8")
    receipt = received(tmp_path)
    assert set(receipt.report_texts["source_id"]) == {"report 1", "report 2"}
    assert receipt.report_texts["study_id"].str.fullmatch("s[1-9][0-9]{16}").all()
    assert notes(receipt) == {"patient-unknown"}


def test_the_same_reports_packed_otherwise_are_the_same_content(tmp_path: Path) -> None:
    hashes = set()
    for name in ("tree", "packed tree", "archive"):
        WRITERS[name](tmp_path / name)
        hashes.add(content_hash(find_delivery(tmp_path / name)))
    assert len(hashes) == 1
    write_mimic_tree(tmp_path / "less", REPORTS[1:])
    assert content_hash(find_delivery(tmp_path / "less")) not in hashes


def test_what_a_home_stores_is_what_was_delivered(tmp_path: Path) -> None:
    write_example(layouts()["chexpert-plus"], tmp_path)
    delivery = find_delivery(tmp_path)
    (tmp_path / "stored").mkdir()
    write_packed(delivery.raw_reports(), tmp_path / "stored" / "raw_reports.parquet")
    stored = find_delivery(tmp_path / "stored")
    delivered, packed = delivery.raw_reports(), stored.raw_reports()
    assert packed.to_numpy().tolist() == delivered.to_numpy().tolist()
    assert content_hash(stored) == content_hash(delivery)
    # Another table of that name is not what a home stores.
    other = delivery.raw_reports().drop(columns="patient")
    write_packed(other, tmp_path / "stored" / "raw_reports.parquet")
    with pytest.raises(InputError, match="raw reports as a home stores them"):
        stored.raw_reports()


def test_findings_twice_or_beside_reports_are_refused_with_both_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "Lunguage.csv").write_text(as_csv([row(0)]), encoding="utf-8")
    (tmp_path / "LICENSE.txt").write_text("Not a report.")
    assert find_delivery(tmp_path).kind == "findings"
    (tmp_path / "more.csv").write_text(as_csv([row(0)]), encoding="utf-8")
    with pytest.raises(InputError, match=r"Lunguage\.csv, more\.csv.* one file of"):
        find_delivery(tmp_path)
    (tmp_path / "more.csv").unlink()
    write_table(tmp_path)
    message = r"Lunguage\.csv\) and a table.*reports\.csv\).* in one form"
    with pytest.raises(InputError, match=message):
        find_delivery(tmp_path)


def test_a_split_in_another_layout_is_refused_with_both_names(tmp_path: Path) -> None:
    write_example(layouts()["rexgradient"], tmp_path)
    table = "id,PatientID,Findings,Impression\nst3,1,Clear.,\n"
    (tmp_path / "train_metadata.csv").write_text(table)
    assert len(find_delivery(tmp_path).raw_reports()) == 2
    (tmp_path / "valid_metadata.csv").write_text(table)
    with pytest.raises(InputError, match=r"\(valid_metadata\.csv\)"):
        find_delivery(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "study_id,text", "(columns: ['study_id', 'text'])"),
        ("a.csv", "No effusion,No edema", "(columns: 2 with blanks or digits"),
        ("a.json", '{"a": {"A zebrafish.": 1}}', "(columns: 2 with"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_answered_with_its_columns_and_no_text(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(f"{content}\n1,2\n")
    with pytest.raises(InputError) as refused:
        find_delivery(tmp_path / name)
    assert message in str(refused.value)
    assert "zebrafish" not in str(refused.value)


def test_what_is_no_delivery_says_what_is_accepted(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"no such folder.*CheXpert Plus, ReXG"):
            find_delivery(folder)


def test_a_file_is_taken_for_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "structured.csv"
    path.write_text(as_csv([row(0)]), encoding="utf-8")
    assert find_delivery(path).kind == "findings"
    Home(tmp_path / "home").register(path, "a")
    assert Home(tmp_path / "home").delivery("a").kind == "findings"


def test_columns_of_a_json_file_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(json.dumps({"accession": 7, "body": "No edema."}) + "\n")
    reports = find_delivery(path, ("accession", "body")).raw_reports()
    assert reports[["study", "content"]].to_numpy().tolist() == [["7", b"No edema."]]
