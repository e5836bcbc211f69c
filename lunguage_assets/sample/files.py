"""Writes an invented corpus, in the published file formats or as raw reports.

For demonstrations and tests. The same arguments give the same bytes.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text, write_csv
from lunguage_assets.packaged_data import resource
from lunguage_assets.sample.studies import (
    Prose,
    sample_findings,
    sample_images,
    sample_studies,
)

FINDINGS_FILE = "Lunguage.csv"
VOCABULARY_FILE = "Lunguage_vocab.csv"
METADATA_FILE = "mimic-cxr-2.0.0-metadata.csv"
ABOUT_FILE = "corpus.toml"
FILES = (FINDINGS_FILE, VOCABULARY_FILE, METADATA_FILE, ABOUT_FILE)
"""Files of a sample of findings."""
TABLE_FILE = "reports.csv"
_DECLARATION = 'data_class = "synthetic"'
ABOUT = (
    "# Invented reports: no patient, no radiologist, no text of any real corpus.\n"
    f'name = "synthetic"\n{_DECLARATION}\n'
)


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
    write_csv(sample_images(studies, seed, prose), out / METADATA_FILE)
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
