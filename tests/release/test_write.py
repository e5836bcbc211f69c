"""A release as a version with two parts: what is in it, and that nothing of a report is
in the open one.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from planted import PLANTED, WORD
from platform_support import contents
from small_release import Made, opened, stored, stored_at
from stored_tables import plain_row
from upath import UPath

from lunguage_assets import parallel
from lunguage_assets.release import newest
from lunguage_assets.release.context import Release
from lunguage_assets.release.newest import NewestStudies
from lunguage_assets.tables import REJECTED


def test_every_checksum_holds_for_the_version_and_for_each_part_alone(
    version: Path, tmp_path: Path
) -> None:
    shutil.copytree(version / "open", tmp_path / "passed_on")
    for folder in (version, version / "restricted", tmp_path / "passed_on"):
        command = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
        subprocess.run(command, cwd=folder, timeout=60, check=True)


def test_the_data_dictionary_holds_every_column_and_no_other_file(
    version: Path,
) -> None:
    page = (version / "open" / "data_dictionary.md").read_text(encoding="utf-8")
    sections = re.findall(
        r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
    )
    described = {}
    for heading, body in sections:
        for file in re.findall(r"`([^`]+)`", heading):
            described[file] = re.findall(r"^\| `(.+?)` \|", body, re.MULTILINE)
    columns = {}
    for path in version.glob("*/*"):
        readers = {".parquet": pd.read_parquet, ".csv": pd.read_csv}
        if path.suffix in readers:
            frame = readers[path.suffix](path)
            columns[str(path.relative_to(version))] = list(frame.columns)
    assert described == columns


def test_each_part_states_its_use_and_only_invented_reports_are_licensed(
    version: Path, of_patients: Path
) -> None:
    for folder, licence in ((version, "mit"), (of_patients, "other")):
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert yaml.safe_load(text.split("---\n", 2)[1])["license"] == licence
        assert "Unmentioned is not absent" in text
        assert "prob_is_bound" in text
        labels = (folder / "restricted" / "LABELS.md").read_text(encoding="utf-8")
        assert labels.split("\n")[2].startswith("**Unmentioned is not absent.**")
    for file, words in (
        (of_patients / "LICENSE", "No licence is granted"),
        (of_patients / "restricted" / "USE.md", "data use agreement"),
        (of_patients / "open" / "USE.md", "no count of reports"),
        (version / "restricted" / "USE.md", "invented"),
    ):
        assert words in file.read_text(encoding="utf-8").replace("\n", " ")


@pytest.mark.lengthy
def test_a_release_has_the_same_bytes_for_any_order_of_rows(
    invented: Made, version: Path, tmp_path: Path
) -> None:
    """Some tables are stored in another order, and all of them on another file
    system.
    """
    batches = {}
    for key, tables in invented.batches.items():
        mixed = {
            name: tables[name].sample(frac=1, random_state=7)
            for name in ("lunguage_plus_plus", "reports")
        }
        batches[key] = tables | mixed
    remote_folder = UPath("memory://release-tables")
    for paths in stored(tmp_path / "stored", batches).values():
        for path in paths.values():
            remote = remote_folder / str(path.relative_to(tmp_path))
            remote.parent.mkdir(parents=True, exist_ok=True)
            remote.write_bytes(path.read_bytes())
    remote_paths = {key: stored_at(remote_folder / "stored", key) for key in batches}
    remote_release = Release(
        "panel", invented.ranking, NewestStudies(duckdb.connect(), remote_paths)
    )
    bundle = invented.write(tmp_path / "panel", remote_release)
    assert contents(tmp_path / "panel") == contents(version.parent)
    once_more = invented.write(tmp_path / "panel", remote_release)
    assert (once_more.version, once_more.is_new) == (bundle.version, False)


@pytest.mark.lengthy
def test_read_by_five_studies_in_two_processes_the_release_is_the_same(
    invented: Made, version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "STUDIES_AT_ONCE", 5)
    monkeypatch.setattr(newest, "STUDIES_JOINED_AT_ONCE", 5)
    monkeypatch.setattr(parallel, "MIN_STUDIES_FOR_POOL", 8)

    def data_of(folder: Path) -> dict[str, object]:
        """A Parquet by its rows, because parts become its row groups."""
        data: dict[str, object] = {}
        for name, content in contents(folder).items():
            if name.endswith(".parquet"):
                data[name] = pq.read_table(folder / name).to_pylist()
            elif name.endswith((".csv", ".json", ".png")):
                data[name] = content
        return data

    release = replace(invented.release(), processes=2)
    apart = invented.write(tmp_path, release).folder
    assert data_of(apart) == data_of(version)
    labels = pq.ParquetFile(apart / "restricted" / "labels.parquet")
    assert labels.num_row_groups >= 3


def test_of_a_study_that_came_again_the_newest_delivery_is_read(
    invented: Made, tmp_path: Path
) -> None:
    studies = invented.release().studies
    first, second = (
        set(invented.batches[key]["reports"]["study_id"]) for key in ("first", "second")
    )
    assert first & second
    for table in ("reports", "lunguage_plus_plus"):
        rows = studies.query(f"SELECT study_id, report_batch FROM {table}")
        for study, batch in rows:
            assert batch == ("second" if study in second else "first")
    columns = {"reports": ["study_id"]}
    (reports,) = (part["reports"] for part in studies.parts(columns, tmp_path))
    assert set(reports["study_id"]) == first | second


@pytest.mark.usefixtures("unreported")
def test_rejected_rows_hold_no_formula_and_the_published_cells_are_exact(
    invented: Made, tmp_path: Path
) -> None:
    tables = invented.batches["first"]
    rows_with_formula = tables["lunguage_plus_plus"].assign(ent="=1+1")
    batch = tables | {
        "rejected": REJECTED.frame([plain_row(REJECTED, found="-1", content="=1+1")]),
        "lunguage_plus_plus": rows_with_formula,
    }
    batches = stored(tmp_path / "tables", {"first": batch})
    release = opened(invented.ranking, batches)
    bundle = invented.write(tmp_path / "release", release).folder
    rejected = pd.read_csv(bundle / "restricted" / "rejected.csv", dtype=str)
    assert rejected["found"].tolist() == ["'-1"]
    assert rejected["content"].tolist() == ["'=1+1"]
    published = pd.read_csv(bundle / "restricted" / "Lunguage_plus_plus.csv", dtype=str)
    assert set(published["ent"]) == {"=1+1"}


def test_a_release_of_no_batch_has_every_file_with_its_header(
    invented: Made, tmp_path: Path
) -> None:
    bundle = invented.write(tmp_path, opened(invented.ranking, {}))
    restricted = bundle.folder / "restricted"
    assert pd.read_csv(restricted / "Lunguage_plus_plus.csv").shape == (0, 30)
    assert pd.read_csv(restricted / "labels.csv").empty
    assert bundle.summary["rows_out"] == 0


def text_of_file(path: Path) -> str:
    """Everything that a file says: its bytes as text, columns unpacked, words of
    pictures.
    """
    data = path.read_bytes()
    texts = [data.decode("utf-8", "replace"), data.decode("utf-16-le", "replace")]
    if path.suffix == ".parquet":
        texts += [
            str(pq.read_table(path).to_pylist()),
            str(pq.read_metadata(path).metadata),
        ]
    encoded_pictures = re.findall(rb"data:image/png;base64,([A-Za-z0-9+/=]+)", data)
    pictures = [base64.b64decode(encoded) for encoded in encoded_pictures]
    if path.suffix == ".png":
        pictures.append(data)
    texts += [str(Image.open(io.BytesIO(png)).info) for png in pictures]
    return "\n".join(texts)


def outside_restricted(version: Path) -> list[Path]:
    files = (path for path in version.rglob("*") if path.is_file())
    return [
        path for path in files if "restricted" not in path.relative_to(version).parts
    ]


def test_words_of_a_patients_report_are_in_the_restricted_part_alone(
    patients: Made, of_patients: Path
) -> None:
    tables = [batch["reports"] for batch in patients.batches.values()]
    reports = pd.concat(tables)
    keys = {*reports["study_id"], *reports["subject_id"]}
    pieces = {
        piece.strip()
        for tables in patients.batches.values()
        for sentence in tables["lunguage_plus_plus"]["sent"]
        for piece in sentence.split(f" {PLANTED}")
        if len(piece.split()) > 3
    }
    assert len(pieces) > 20
    words = [WORD, WORD.lower(), *sorted(keys), *sorted(pieces)]
    secrets = re.compile("|".join(map(re.escape, words)))
    files = outside_restricted(of_patients)
    assert len(files) > 8
    assert [path.name for path in files if secrets.search(text_of_file(path))] == []
    for name in ("Lunguage_plus_plus.csv", "rejected.csv", "labels.parquet"):
        text = text_of_file(of_patients / "restricted" / name)
        assert secrets.search(text), "the search finds them"


def test_what_counts_reports_of_patients_is_in_the_restricted_part_alone(
    of_patients: Path,
) -> None:
    counting = {"report.html", "figures", "table_certainty.csv"}
    restricted_names = {path.name for path in (of_patients / "restricted").iterdir()}
    open_names = {path.name for path in (of_patients / "open").iterdir()}
    assert counting <= restricted_names
    assert open_names == {
        "ranking.csv", "phrase_scale.csv", "pathways.yaml", "blacklist.yaml", "provenance.json",
        "data_dictionary.md", "USE.md", "SHA256SUMS",
    }  # fmt: skip


@pytest.mark.usefixtures("unreported")
def test_a_phrase_that_may_be_a_sentence_is_not_released(
    patients: Made, tmp_path: Path
) -> None:
    sentence = "in this patient of ours we suspect"
    ranking = patients.ranking.assign(
        phrase=patients.ranking["phrase"].replace("may be", sentence)
    )
    release = replace(patients.release(), ranking=ranking)
    bundle = patients.write(tmp_path, release).folder
    for name in ("ranking", "phrase_scale"):
        phrases = pd.read_csv(bundle / "open" / f"{name}.csv")["phrase"].tolist()
        assert "(a phrase of 7 words)" in phrases
        assert sentence not in phrases
