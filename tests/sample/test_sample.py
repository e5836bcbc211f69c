"""Samples: the published formats, the same for the same seed, true about their text,
and never over a corpus of another kind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample.files import FILES, write_raw_sample, write_sample
from lunguage_assets.sample.studies import sample_findings, sample_studies
from lunguage_assets.settings import CorpusSettings

ATTRIBUTES = slice(17, None)


def read_cells(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_intake_takes_every_row_of_any_sample(tmp_path: Path) -> None:
    for seed, reports in ((0, 900), (7, 60)):
        write_sample(tmp_path / str(seed), reports, seed)
        delivery = find_delivery(tmp_path / str(seed))
        intake = take_in(delivery, CorpusSettings())
        assert delivery.declared.data_class == "synthetic"
        assert (len(intake.rejected), len(intake.reports)) == (0, reports)
        assert len(intake.findings) == len(
            read_cells(tmp_path / str(seed) / "Lunguage.csv")
        )
        assert set(intake.intake_notes["reason"]) <= {"finding-not-located"}


def test_a_sample_is_byte_identical_for_its_seed_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    program = (
        "import hashlib, tempfile\n"
        "from pathlib import Path\n"
        "from lunguage_assets.sample.files import write_raw_sample, write_sample\n"
        f"folder = Path(tempfile.mkdtemp(dir={str(tmp_path)!r}))\n"
        "write_sample(folder / 'sample', 60, 5)\n"
        "write_raw_sample(folder / 'raw', folder / 'truth', 60, 5)\n"
        "files = sorted(path for path in folder.rglob('*') if path.is_file())\n"
        "print([(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) "
        "for file in files])\n"
    )
    printed, elsewhere = (
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert printed == elsewhere
    assert all(name in printed for name in (*FILES, "reports.csv"))


def test_a_smaller_sample_begins_a_larger_one() -> None:
    for prose in ("plain", "varied"):
        large = {seed: sample_studies(1700, seed, prose) for seed in (0, 20, 21)}
        for seed, studies in large.items():
            for size in (1, 799, 801):
                assert sample_studies(size, seed, prose).equals(studies.iloc[:size])
            assert studies["packaged"].iloc[:800].is_unique
        assert not large[20]["packaged"].equals(large[21]["packaged"])
        assert list(large[0]["packaged"].iloc[:800]) == [
            f"0:{number}" for number in range(1, 801)
        ]


def test_raw_reports_and_their_truth_are_of_the_same_studies(tmp_path: Path) -> None:
    out = tmp_path / "raw"
    truth = tmp_path / "truth"
    assert write_raw_sample(out, truth, 25, 4).startswith("25 reports of ")
    rows = read_cells(truth / "Lunguage.csv")
    table = read_cells(out / "reports.csv")
    columns = ["study_id", "subject_id", "view", "study_date", "report"]
    assert list(table.columns) == columns
    texts = dict(zip(table["study_id"], table["report"], strict=True))
    assert len(texts) == 25
    assert texts == dict(zip(rows["study_id"], rows["report"], strict=True))
    assert 'data_class = "synthetic"' in (out / "corpus.toml").read_text()
    assert not list(out.rglob("Lunguage*.csv"))


def test_every_row_of_the_truth_quotes_its_report() -> None:
    rows = sample_findings(sample_studies(850, 0, "varied"), "varied")
    for row in rows.itertuples(index=False):
        sentence = str(row.sent).lower()
        values = [row.ent, *f"{row.location}, {', '.join(row[ATTRIBUTES])}".split(", ")]
        assert flat(row.sent) in flat(row.report)
        assert all(
            re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", sentence)
            for value in values
            if value
        )
    assert set(rows["dx_status"]) == {"positive", "negative"}
    assert set(rows["dx_certainty"]) == {"definitive", "tentative"}


def test_a_sample_replaces_a_sample_but_no_corpus_of_another_kind(
    tmp_path: Path,
) -> None:
    write_sample(tmp_path / "out", 5)
    write_sample(tmp_path / "out", 3)
    assert read_cells(tmp_path / "out" / "Lunguage.csv")["study_id"].nunique() == 3
    (tmp_path / "out" / "corpus.toml").write_text('data_class = "credentialed"\n')
    before = (tmp_path / "out" / "Lunguage.csv").read_bytes()
    with pytest.raises(ConfigurationError, match="not declared synthetic"):
        write_sample(tmp_path / "out", 5)
    assert (tmp_path / "out" / "Lunguage.csv").read_bytes() == before
