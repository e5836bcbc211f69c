"""Writes an invented corpus, in the published file formats or as raw reports.

For demonstrations and tests; nothing in it comes from a real report. `resources/sample`
holds 800 studies in plain prose, as untidy as the published files (implicit.md section
1), and 800 in varied prose, whose rows quote their sentences, all of seed 0, and a few
of other seeds. A sample begins with the packaged studies of its seed. Whatever goes
beyond draws patients of seed 0 with all their studies and numbers them anew. The same
arguments give the same bytes.
"""

from __future__ import annotations

import hashlib
import lzma
import random
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal

import pandas as pd

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text, write_csv
from lunguage_assets.packaged_data import resource

Prose = Literal["plain", "varied"]

FINDINGS_FILE = "Lunguage.csv"
VOCABULARY_FILE = "Lunguage_vocab.csv"
METADATA_FILE = "mimic-cxr-2.0.0-metadata.csv"
ABOUT_FILE = "corpus.toml"
FILES = (FINDINGS_FILE, VOCABULARY_FILE, METADATA_FILE, ABOUT_FILE)
"""Files of a sample of findings."""
TABLE_FILE = "reports.csv"
FIRST = 90_000_001
"""Number of the first study and of the first patient of a sample, in a range that no
real corpus uses.
"""
_DECLARATION = 'data_class = "synthetic"'
ABOUT = (
    "# Invented reports: no patient, no radiologist, no text of any real corpus.\n"
    f'name = "synthetic"\n{_DECLARATION}\n'
)


@cache
def _packaged(prose: Prose, table: str) -> pd.DataFrame:
    path = resource("sample", f"{prose}_{table}.csv.xz")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def sample_studies(reports: int, seed: int, prose: Prose) -> pd.DataFrame:
    """Draw studies.

    Args:
        reports: how many; fewer are the beginning of more.
        seed: of the draw.
        prose: in which the reports are written.

    Returns:
        A row for each study: `packaged` (the packaged study that it repeats),
        `subject_id`, `sequence`, `view`, `study_date`, `report`, `study_id`.
    """
    packaged = _packaged(prose, "reports")
    visits = (
        (position, f"p{subject}")
        for subject, positions in enumerate(_patients(packaged, seed), FIRST)
        for position in positions
    )
    # The last patient may have more studies than are still wanted.
    positions, subject_ids = zip(*islice(visits, reports), strict=True)
    drawn = packaged.iloc[list(positions)].drop(columns="seed")
    study_ids = [f"s{FIRST + number}" for number in range(reports)]
    return drawn.reset_index(drop=True).assign(
        subject_id=list(subject_ids), study_id=study_ids
    )


def _patients(packaged: pd.DataFrame, seed: int) -> Iterator[list[int]]:
    """Draw patients without end; of each, the positions of the packaged studies.

    Those packaged for this seed come first, then those of seed 0: all of them before
    any comes again, each time in another order.
    """
    yield from _packaged_patients(packaged, seed)
    generator = random.Random(seed)
    everybody = _packaged_patients(packaged, 0)
    while True:
        yield from generator.sample(everybody, len(everybody))


def _packaged_patients(packaged: pd.DataFrame, seed: int) -> list[list[int]]:
    """List the positions of the studies of each patient packaged for a seed."""
    studies = packaged[packaged["seed"] == str(seed)]
    by_patient = studies.groupby("subject_id", sort=False)
    return [list(rows.index) for _, rows in by_patient]


def sample_findings(studies: pd.DataFrame, prose: Prose) -> pd.DataFrame:
    """Collect the rows of drawn studies, in the columns of Lunguage.csv."""
    first_columns = ["subject_id", "study_id", "sequence", "section", "report"]
    of_studies = studies.drop(columns=["view", "study_date"])
    rows = of_studies.merge(_packaged(prose, "findings"), on="packaged")
    rows = rows.drop(columns=["packaged", "place_open"])
    rows = rows.set_index(first_columns).reset_index()
    # The published file's first column has no name and numbers the rows.
    rows.insert(0, "", range(len(rows)))
    return rows


def _images(studies: pd.DataFrame, seed: int, prose: Prose) -> pd.DataFrame:
    """Collect the image metadata of drawn studies, in the columns of MIMIC-CXR's."""
    of_studies = studies[["packaged", "subject_id", "study_id"]]
    rows = of_studies.merge(_packaged(prose, "images"), on="packaged")
    # Ids are bare numbers there.
    for column in ("subject_id", "study_id"):
        rows[column] = rows[column].str[1:]
    numbers = rows.groupby("study_id").cumcount().astype(str)
    images = f"{seed}\x1f" + rows["study_id"] + "\x1f" + numbers
    rows.insert(0, "dicom_id", images.map(_dicom_id))
    return rows.drop(columns="packaged")


def _dicom_id(image: str) -> str:
    digest = hashlib.blake2b(image.encode(), digest_size=20).hexdigest()
    # Five groups of eight digits.
    return "-".join(textwrap.wrap(digest, 8))


def write_sample(
    out: Path, reports: int = 800, seed: int = 0, prose: Prose = "plain"
) -> str:
    """Write a synthetic corpus of findings.

    Args:
        out: folder that gets `FILES`.
        reports: how many studies; a smaller sample is the beginning of a larger one.
        seed: of the draw.
        prose: in which the reports are written.

    Returns:
        In words, how much was written.

    Raises:
        ConfigurationError: a corpus lies in `out` that is not declared synthetic.
    """
    _begin(out, FILES)
    studies = sample_studies(reports, seed, prose)
    findings = sample_findings(studies, prose)
    vocabulary = resource("sample", f"{prose}_vocabulary.csv.xz").read_bytes()
    (out / VOCABULARY_FILE).write_bytes(lzma.decompress(vocabulary))
    write_csv(findings, out / FINDINGS_FILE)
    write_csv(_images(studies, seed, prose), out / METADATA_FILE)
    patients = studies["subject_id"].nunique()
    return f"{reports} reports of {patients} patients with {len(findings)} rows"


def write_raw_sample(out: Path, truth: Path, reports: int = 800, seed: int = 0) -> str:
    """Write the reports of a synthetic corpus as raw text, and apart what they say.

    Args:
        out: folder that gets `TABLE_FILE`.
        truth: another folder, that gets the published files of the same studies.
        reports: as in `write_sample`.
        seed: as in `write_sample`.

    Returns:
        In words, how much was written.

    Raises:
        ConfigurationError: a folder holds a delivery that is not declared synthetic.
    """
    _begin(out, [TABLE_FILE])
    studies = sample_studies(reports, seed, "varied")
    columns = ["study_id", "subject_id", "view", "study_date", "report"]
    write_csv(studies[columns], out / TABLE_FILE)
    return write_sample(truth, reports, seed, "varied")


def _begin(out: Path, names: Sequence[str]) -> None:
    """Declare a folder synthetic, unless it has a file of these names and is not."""
    about = out / ABOUT_FILE
    is_sample = about.exists() and _DECLARATION in about.read_text("utf-8").splitlines()
    if not is_sample and any((out / name).exists() for name in names):
        raise ConfigurationError(
            f"{out} holds a delivery that is not declared synthetic; a sample would "
            "replace it. Name another folder."
        )
    replace_text(about, ABOUT)
