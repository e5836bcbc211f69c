"""Finding the files of a delivery, and telling deliveries apart."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from delivered_rows import COLUMNS, as_csv, row

from lunguage_assets.corpus.declaration import read_declaration
from lunguage_assets.corpus.delivery import content_hash
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings

TEXT = as_csv([row(0), row(1, sent='Two\nlines, "quoted".')])


def test_parquet_findings_read_like_the_same_csv(tmp_path: Path) -> None:
    csv_folder = tmp_path / "c"
    parquet_folder = tmp_path / "p"
    csv_folder.mkdir()
    parquet_folder.mkdir()
    (csv_folder / "Lunguage.csv").write_text(TEXT, encoding="utf-8")
    frame = pd.DataFrame(
        [row(0), row(1, sent='Two\nlines, "quoted".')], columns=COLUMNS
    ).replace("", None)
    frame["sequence"] = frame["sequence"].astype(float)
    frame.to_parquet(parquet_folder / "Lunguage.parquet")
    first, second = (
        take_in(find_delivery(folder), CorpusSettings())
        for folder in (csv_folder, parquet_folder)
    )
    pd.testing.assert_frame_equal(first.findings, second.findings)


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        (None, ("", "credentialed")),
        ('name = "invented"\n', ("invented", "credentialed")),
        ('name = "invented"\ndata_class = "synthetic"\n', ("invented", "synthetic")),
    ],
)
def test_undeclared_text_counts_as_patient_data(
    tmp_path: Path, text: str | None, declared: tuple[str, str]
) -> None:
    (tmp_path / "Lunguage.csv").write_text(TEXT, encoding="utf-8")
    if text is not None:
        (tmp_path / "corpus.toml").write_text(text, encoding="utf-8")
    corpus = find_delivery(tmp_path).declared
    assert (corpus.name, corpus.data_class) == declared


WRONG = {
    'data_class = "public"\n': "column 'data_class'",
    "data_class = synthetic\n": "found no TOML",
    'data_clas = "synthetic"\n': "Did you mean 'data_class'",
    "name = 3\n": "column 'name'",
    "zebrafish = 1\n": "an unknown key or value",
    "x = " + "[" * 60_000: "found no TOML",
    "x = " + "9" * 5_000: "found no TOML",
    "a." * 30_000 + "a = 1": "4 KiB",
}


def test_a_wrong_declaration_is_refused_and_only_known_keys_are_told(
    tmp_path: Path,
) -> None:
    for text, message in WRONG.items():
        (tmp_path / "corpus.toml").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message) as refused:
            read_declaration(tmp_path / "corpus.toml")
        assert "corpus.toml" in str(refused.value)
        assert "zebrafish" not in str(refused.value)


def test_the_hash_follows_names_and_bytes_and_nothing_else(tmp_path: Path) -> None:
    def delivered(name: str, **files: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        for stem, text in files.items():
            (folder / f"{stem}.csv").write_text(text, encoding="utf-8")
        return content_hash(find_delivery(folder))

    metadata = "mimic-cxr-2.0.0-metadata"
    first = delivered("a", Lunguage="one", Lunguage_vocab="two")
    assert delivered("b", Lunguage="one", Lunguage_vocab="two", other="x") == first
    other_hashes = [
        delivered("c", Lunguage="onet", Lunguage_vocab="wo"),
        delivered("d", Lunguage="one"),
        delivered("e", Lunguage="one", **{metadata: "two"}),
    ]
    assert len({first, *other_hashes}) == 4


def test_a_declaration_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "corpus.toml")  # whoever opens it waits for ever
    assert read_declaration(tmp_path / "corpus.toml").data_class == "credentialed"
