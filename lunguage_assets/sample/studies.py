"""Draws invented studies: nothing in them comes from a real report.

`resources/sample` holds 800 studies in plain prose, as untidy as the published files
(implicit.md section 1), and 800 in varied prose, whose rows quote their sentences, all
of seed 0, and a few of other seeds. A sample begins with the packaged studies of its
seed. Whatever goes beyond draws patients of seed 0 with all their studies and numbers
them anew.
"""

from __future__ import annotations

import hashlib
import random
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Literal

import pandas as pd

from lunguage_assets.packaged_data import resource

Prose = Literal["plain", "varied"]

FIRST = 90_000_001
"""Number of the first study and of the first patient of a sample, in a range that no
real corpus uses.
"""


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


def sample_images(studies: pd.DataFrame, seed: int, prose: Prose) -> pd.DataFrame:
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
