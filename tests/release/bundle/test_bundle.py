"""A release as a version with two parts: what is in it, and that nothing of a report is in the open one."""

from __future__ import annotations

import base64
import random
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from platform_support import contents
from small_release import WORD, Made, Tables, opened, stored, stored_at, write_release
from upath import UPath

from lunguage_assets.errors import InvalidTable
from lunguage_assets.release.bundle import newest
from lunguage_assets.release.bundle.bundle import Release, write_bundle
from lunguage_assets.release.bundle.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.bundle.versions import current_version
from lunguage_assets.tables import REJECTED

Rows = list[dict[str, Any]]


def test_every_checksum_holds_for_the_version_and_for_each_part_alone(version: Path, tmp_path: Path) -> None:
    shutil.copytree(version / "open", tmp_path / "passed_on")
    for folder in (version, version / "restricted", tmp_path / "passed_on"):
        done = subprocess.run(
            ["sha256sum", "--check", "--quiet", "SHA256SUMS"],
            cwd=folder,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_latest_names_the_version_and_its_files_have_the_names_that_they_always_had(version: Path) -> None:
    expected = {
        "Lunguage_plus_plus.csv", "Lunguage_plus_plus.parquet", "resolution_log.csv", "conflicts.csv",
        "pathway_matches.csv", "accounting.csv", "rejected.csv", "labels.parquet", "labels.csv", "LABELS.md",
        "labels_chexpert.csv", "labels_probability.csv", "summary.json", "studies.csv", "studies.parquet",
        "RECORDS", "set_aside.csv",
    }  # fmt: skip
    current = current_version(version.parent)
    assert current == version
    assert {path.name for path in (current / "restricted").iterdir()} == {*expected, "USE.md", "SHA256SUMS"}
    wanted = {"report.html", "ranking.csv", "provenance.json", "data_dictionary.md"}
    assert wanted < {path.name for path in (current / "open").iterdir()}


def test_every_column_of_every_file_is_in_the_data_dictionary_and_no_other_file_is(version: Path) -> None:
    page = (version / "open" / "data_dictionary.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    described = {
        file: body for heading, body in sections.items() for file in re.findall(r"`([^`]+)`", heading)
    }
    files = [
        path
        for part in ("open", "restricted")
        for path in (version / part).iterdir()
        if path.suffix in (".csv", ".parquet")
    ]
    assert set(described) == {str(path.relative_to(version)) for path in files}
    for path in files:
        columns = (
            pq.read_schema(path).names
            if path.suffix == ".parquet"
            else list(pd.read_csv(path, nrows=0).columns)
        )
        told = re.findall(r"^\| `(.+?)` \|", described[str(path.relative_to(version))], re.MULTILINE)
        assert told == columns, path.name


def data_of(version: Path) -> dict[str, bytes | pd.DataFrame]:
    """What a version holds of a corpus; a Parquet by its rows, because parts become its row groups."""
    files = (
        path for path in version.rglob("*") if path.suffix in (".csv", ".parquet", ".json", ".md", ".png")
    )
    return {
        str(path.relative_to(version)): path.read_bytes()
        if path.suffix != ".parquet"
        else pq.read_table(path).to_pandas().to_json().encode()
        for path in sorted(files)
    }


def shuffled(made: Made, folder: Path, *names: str) -> Release:
    """The same release, the rows of some tables stored in another order."""
    batches: dict[str, Tables] = {}
    for key, tables in made.batches.items():
        other = {
            name: tables[name].sample(frac=1, random_state=random.Random(name).randrange(99))
            for name in names
        }
        batches[key] = {**tables, **other}
    return opened(made.ranking, stored(folder, batches))


def test_the_same_release_gives_the_same_bytes_whatever_the_order_of_its_rows(
    invented: Made, version: Path, tmp_path: Path
) -> None:
    again = shuffled(invented, tmp_path / "stored", "lunguage_plus_plus", "reports")
    written = write_bundle(again, tmp_path / "panel", invented.origin(), {}, invented.examples)
    assert contents(tmp_path / "panel") == contents(version.parent)
    once_more = write_bundle(again, tmp_path / "panel", invented.origin(), {}, invented.examples)
    assert (once_more.version, once_more.is_new) == (written.version, False)


def test_read_five_studies_at_a_time_every_file_says_the_same(
    invented: Made, version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "STUDIES_AT_ONCE", 5)
    apart = data_of(write_release(invented, tmp_path))
    together = data_of(version)
    assert set(apart) == set(together)
    assert [path for path in apart if apart[path] != together[path]] == []
    assert pq.ParquetFile(tmp_path / "v1/restricted/Lunguage_plus_plus.parquet").num_row_groups >= 3


def test_of_a_study_that_came_again_the_newest_delivery_is_read(invented: Made) -> None:
    release = invented.release()
    (part,) = release.studies.parts("batch", ["reports", "lunguage_plus_plus"])
    first, second = (set(invented.batches[key]["reports"]["study_id"]) for key in ("first", "second"))
    assert release.studies.superseded == len(first & second) > 0
    for table in part.values():
        batch_of = dict(zip(table["study_id"], table["report_batch"], strict=True))
        assert all(batch == ("second" if study in second else "first") for study, batch in batch_of.items())
    assert len(part["reports"]) == len(first | second)


def test_rows_without_a_readable_study_are_kept_of_every_batch(invented: Made, tmp_path: Path) -> None:
    rejected = {"file": "a.csv", "line": 1, "study_id": "", "column": "", "found": "", "expected": "a study"}
    rejected |= {"remedy": "mend it", "reason": "no study", "content": "{}"}
    batches = {
        key: {**tables, "rejected": REJECTED.frame([rejected])} for key, tables in invented.batches.items()
    }
    studies = opened(invented.ranking, stored(tmp_path, batches)).studies
    (part,) = studies.parts("batch", ["rejected"])
    assert part["rejected"]["report_batch"].tolist() == ["first", "second"]


@pytest.mark.usefixtures("unreported")
def test_rejected_rows_hold_no_formula_and_the_published_cells_are_exact(
    invented: Made, tmp_path: Path
) -> None:
    tables = invented.batches["first"]
    rejected = {
        "file": "a.csv",
        "line": 1,
        "study_id": "",
        "column": "",
        "found": "-1",
        "expected": "a study",
    }
    rejected |= {"remedy": "mend it", "reason": "no study", "content": "=1+1"}
    odd = tables["lunguage_plus_plus"].assign(ent="=1+1")
    made = tables | {"rejected": REJECTED.frame([rejected]), "lunguage_plus_plus": odd}
    release = opened(invented.ranking, stored(tmp_path / "tables", {"first": made}))
    folder = tmp_path / "release"
    folder /= write_bundle(release, folder, invented.origin(), {}, invented.examples).version
    shown = pd.read_csv(folder / "restricted" / "rejected.csv", dtype=str, keep_default_na=False)
    assert (shown["found"][0], shown["content"][0], shown["line"][0]) == ("'-1", "'=1+1", "1")
    published = pd.read_csv(folder / "restricted" / "Lunguage_plus_plus.csv", dtype=str)
    assert set(published["ent"]) == {"=1+1"}
    assert "Cells of the CSV files are exact" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_release_of_no_batch_has_every_file_with_its_header(invented: Made, tmp_path: Path) -> None:
    release = opened(invented.ranking, {})
    written = write_bundle(release, tmp_path, invented.origin(), {}, invented.examples)
    assert pd.read_csv(written.folder / "restricted" / "Lunguage_plus_plus.csv").shape == (0, 30)
    assert pd.read_csv(written.folder / "restricted" / "labels.csv").empty
    assert written.summary["rows_out"] == 0


@pytest.mark.usefixtures("unreported")
def test_a_key_that_two_parts_share_makes_no_version_and_the_file_is_named(
    invented: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "STUDIES_AT_ONCE", 8)
    (paths,) = stored(tmp_path / "stored", {"first": invented.batches["first"]}).values()
    rows = pq.read_table(paths["conflicts"]).to_pylist()
    rows[-1]["number"] = 0
    schema = TABLES_PER_BATCH["conflicts"].arrow
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), paths["conflicts"])
    release = Release("panel", invented.ranking, NewestStudies(duckdb.connect(), {"first": paths}))
    with pytest.raises(InvalidTable, match=r"conflicts\.parquet: rows break .* is unique"):
        write_bundle(release, tmp_path / "panel", invented.origin(), {}, invented.examples)
    assert {path.name for path in (tmp_path / "panel").iterdir()} == {".lock"}


def test_tables_on_another_file_system_are_read_as_those_on_this_one(
    invented: Made, version: Path, tmp_path: Path
) -> None:
    there = UPath("memory://release-tables")
    paths = {}
    for key in invented.batches:
        paths[key] = {name: there / key / f"{name}.parquet" for name in TABLES_PER_BATCH}
        for name, path in stored_at(invented.home.root / "tables", key).items():
            paths[key][name].parent.mkdir(parents=True, exist_ok=True)
            paths[key][name].write_bytes(path.read_bytes())
    release = Release("panel", invented.ranking, NewestStudies(duckdb.connect(), paths))
    write_bundle(release, tmp_path, invented.origin(), {}, invented.examples)
    assert contents(tmp_path) == contents(version.parent)


def said(path: Path) -> str:
    """Everything that a file says: its bytes as text, chunks and columns unpacked, pictures inside a page
    too.
    """
    data = path.read_bytes()
    parts = [data.decode("utf-8", "replace"), data.decode("utf-16-le", "replace")]
    if path.suffix == ".parquet":
        parts += [str(column) for column in pq.read_table(path).to_pylist()]
        parts.append(str(pq.read_metadata(path).metadata))
    pictures = (
        [data]
        if path.suffix == ".png"
        else [
            base64.b64decode(found) for found in re.findall(rb"data:image/png;base64,([A-Za-z0-9+/=]+)", data)
        ]
    )
    return "\n".join([*parts, *(text for picture in pictures for text in chunks(picture))])


def chunks(png: bytes) -> list[str]:
    """Every chunk of a PNG but its pixels, compressed ones unpacked."""
    place, found = 8, []
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        if kind != b"IDAT":
            found.append(body.decode("latin-1"))
        if kind in (b"zTXt", b"iTXt"):
            found.append(
                zlib.decompress(body.split(b"\x00", 1)[1].lstrip(b"\x00\x01")).decode("utf-8", "replace")
            )
        place += length + 12
    return found


def outside_restricted(version: Path) -> list[Path]:
    return [
        path
        for path in sorted(version.rglob("*"))
        if path.is_file() and "restricted" not in path.relative_to(version).parts
    ]


def test_no_word_or_identifier_of_a_patients_report_is_outside_the_restricted_part(
    patients: Made, of_patients: Path
) -> None:
    tables = [batch["reports"] for batch in patients.batches.values()]
    keys = {key for reports in tables for key in (*reports["study_id"], *reports["subject_id"])}
    secrets = re.compile("|".join([WORD, WORD.lower(), *sorted(keys)]))
    files = outside_restricted(of_patients)
    assert {path.name for path in files} >= {
        "README.md",
        "provenance.json",
        "ranking.csv",
        "data_dictionary.md",
    }
    assert [path.name for path in files if secrets.search(said(path))] == []
    assert not [path for path in files if path.suffix == ".parquet"]
    inside = (path for path in (of_patients / "restricted").iterdir() if path.is_file())
    held = {path.name for path in inside if secrets.search(said(path))}
    assert held >= {
        "Lunguage_plus_plus.csv",
        "Lunguage_plus_plus.parquet",
        "rejected.csv",
        "labels.parquet",
    }, "the search finds them"


def test_no_sentence_of_a_report_is_outside_the_restricted_part(patients: Made, of_patients: Path) -> None:
    pieces = {
        piece.strip()
        for tables in patients.batches.values()
        for sentence in tables["lunguage_plus_plus"]["sent"]
        for piece in sentence.split(f" near the {WORD}")
        if len(piece.split()) > 3
    }
    assert len(pieces) > 20
    for path in outside_restricted(of_patients):
        text = said(path)
        assert not [piece for piece in pieces if piece in text], path.name


def test_what_counts_reports_of_patients_is_in_the_restricted_part_alone(of_patients: Path) -> None:
    counting = {"report.html", "figures", "table_certainty.csv", "pathway_audit.csv"}
    parts = {part: {path.name for path in (of_patients / part).iterdir()} for part in ("open", "restricted")}
    assert counting <= parts["restricted"]
    assert parts["open"] == {
        "ranking.csv", "phrase_scale.csv", "pathways.yaml", "blacklist.yaml", "provenance.json",
        "data_dictionary.md", "USE.md", "SHA256SUMS",
    }  # fmt: skip


@pytest.mark.usefixtures("unreported")
def test_a_phrase_of_patients_reports_that_may_be_a_sentence_is_not_spelled_out(
    patients: Made, tmp_path: Path
) -> None:
    sentence = "in this patient of ours we suspect"
    ranking = patients.ranking.assign(phrase=patients.ranking["phrase"].replace("may be", sentence))
    release = replace(patients.release(), ranking=ranking)
    written = write_bundle(release, tmp_path, patients.origin(), {}, patients.examples).folder
    for name in ("ranking", "phrase_scale"):
        phrases = pd.read_csv(written / "open" / f"{name}.csv")["phrase"].tolist()
        assert "(a phrase of 7 words)" in phrases
        assert sentence not in phrases


def test_each_part_says_what_it_may_be_used_for(version: Path, of_patients: Path) -> None:
    assert "data use agreement" in (of_patients / "restricted" / "USE.md").read_text()
    assert "no count of reports" in (of_patients / "open" / "USE.md").read_text().replace("\n", " ")
    assert "invented" in (version / "restricted" / "USE.md").read_text()
    for folder in (version, of_patients):
        text = (folder / "README.md").read_text()
        assert "Unmentioned is not absent" in text
        assert "prob_is_bound" in text
