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


@pytest.mark.parametrize(
    "text",
    [
        'data_class = "public"', "data_class = synthetic", "name = 3", "zebrafish = 1",
        "x = " + "[" * 60_000, "x = " + "9" * 5_000,
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused_and_its_words_are_not_told(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "corpus.toml").write_text(text, encoding="utf-8")
    expected = r"corpus\.toml.*expected name .* data_class \('synthetic' or"
    with pytest.raises(InputError, match=expected) as refused:
        read_declaration(tmp_path / "corpus.toml")
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
