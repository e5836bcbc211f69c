"""An invented corpus in the published file formats or as raw reports, the same for the
same seed.

For demonstrations and tests; nothing in it comes from a real report. `resources/sample`
holds 800 studies in plain prose, as untidy as the published files (implicit.md section
1), and 800 in varied prose, whose rows quote their sentences, all of seed 0, and a few
of other seeds. A sample begins with the packaged studies of its seed. Whatever goes
beyond draws patients of seed 0 with all their studies and numbers them anew.
"""

from __future__ import annotations

import hashlib
import lzma
import random
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.packaged_data import resource

Prose = Literal["plain", "varied"]
RawFormat = Literal["table", "mimic", "text"]

FINDINGS_FILE, VOCABULARY_FILE, METADATA_FILE, ABOUT_FILE = FILES = (
    "Lunguage.csv",
    "Lunguage_vocab.csv",
    "mimic-cxr-2.0.0-metadata.csv",
    "corpus.toml",
)
TABLE_FILE, TREE = "reports.csv", "files"
FIRST = 90_000_001
"""Number of the first study and of the first patient of a sample, in a range that no
real corpus uses.
"""

ABOUT = (
    "# Invented reports: no patient, no radiologist, no text of any real corpus.\n"
    'name = "synthetic"\ndata_class = "synthetic"\n'
)


@cache
def _table(prose: Prose, name: str) -> pd.DataFrame:
    return pd.read_csv(
        resource("sample", f"{prose}_{name}.csv.xz"), dtype=str, keep_default_na=False
    )


def sample_studies(reports: int, seed: int, prose: Prose) -> pd.DataFrame:
    """Draw studies.

    `packaged` (the packaged study that one repeats), `study_id`, `subject_id`,
    `sequence`, `view`, `study_date`, `report`.
    """
    packaged = _table(prose, "reports")
    positions: list[int] = []
    subjects: list[str] = []
    patients = _patients(packaged, seed)
    subject = FIRST
    while len(positions) < reports:
        studies = next(patients)
        positions += studies
        subjects += [f"p{subject}"] * len(studies)
        subject += 1
    drawn = (
        packaged.iloc[positions[:reports]].drop(columns="seed").reset_index(drop=True)
    )
    drawn["subject_id"] = subjects[:reports]
    drawn["study_id"] = [f"s{FIRST + number}" for number in range(reports)]
    return drawn


def _patients(packaged: pd.DataFrame, seed: int) -> Iterator[list[int]]:
    """Positions of one patient's studies after another's.

    Those packaged for this seed, then those of seed 0, all of them before any comes
    again, each time in another order.
    """
    patients: dict[str, dict[str, list[int]]] = {}
    for position, (own, subject) in enumerate(
        zip(packaged["seed"], packaged["subject_id"], strict=True)
    ):
        patients.setdefault(own, {}).setdefault(subject, []).append(position)
    yield from patients.get(str(seed), {}).values()
    draw, everybody = random.Random(seed), list(patients["0"].values())
    while True:
        yield from draw.sample(everybody, len(everybody))


def sample_findings(studies: pd.DataFrame, prose: Prose) -> pd.DataFrame:
    """The rows of drawn studies in the columns of Lunguage.csv and, last, `place_open`.

    Whether the sentence leaves open that the finding is at the place of the one beside
    it (1, or empty).
    """
    front = ["subject_id", "study_id", "sequence", "section", "report"]
    rows = studies.drop(columns=["view", "study_date"]).merge(
        _table(prose, "findings"), on="packaged"
    )
    rows = rows[
        [*front, *(column for column in rows if column not in ("packaged", *front))]
    ]
    rows.insert(0, "", range(len(rows)))
    return rows


def _images(studies: pd.DataFrame, seed: int, prose: Prose) -> pd.DataFrame:
    rows = studies[["packaged", "subject_id", "study_id"]].merge(
        _table(prose, "images"), on="packaged"
    )
    for column in ("subject_id", "study_id"):
        rows[column] = rows[column].str[1:]
    numbers = rows.groupby("study_id").cumcount()
    ids = [
        _dicom(seed, study, number)
        for study, number in zip(rows["study_id"], numbers, strict=True)
    ]
    rows.insert(0, "dicom_id", ids)
    return rows.drop(columns="packaged")


def _dicom(seed: int, study: str, number: int) -> str:
    digest = hashlib.blake2b(
        f"{seed}\x1f{study}\x1f{number}".encode(), digest_size=20
    ).hexdigest()
    return "-".join(digest[start : start + 8] for start in range(0, 40, 8))


def write_sample(
    out: Path, reports: int = 800, seed: int = 0, prose: Prose = "plain"
) -> str:
    """Write a synthetic corpus into the folder `out`, and say in words how much it is.

    Files: Lunguage.csv, Lunguage_vocab.csv, the image metadata and corpus.toml.
    Byte-identical for (reports, seed, prose). A smaller sample of the same seed is the
    beginning of a larger one. Raises `ConfigurationError` for less than one report, and
    where a corpus lies that is not declared synthetic.
    """
    if reports < 1:
        raise ConfigurationError(
            f"A sample of {reports} reports was asked for. Ask for 1 or more."
        )
    _refuse_to_replace(out, FILES)
    studies = sample_studies(reports, seed, prose)
    findings = sample_findings(studies, prose).drop(columns="place_open")
    images = _images(studies, seed, prose)
    out.mkdir(parents=True, exist_ok=True)
    (out / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")
    _write(findings, out / FINDINGS_FILE)
    _write(images, out / METADATA_FILE)
    vocabulary = resource("sample", f"{prose}_vocabulary.csv.xz").read_bytes()
    (out / VOCABULARY_FILE).write_bytes(lzma.decompress(vocabulary))
    current = findings["section"] != "hist"
    tentative = findings["dx_certainty"].str.lower().str.startswith("tentative")
    return (
        f"{reports} reports of {studies['subject_id'].nunique()} patients: {current.sum()} findings "
        f"({(current & tentative).sum()} tentative) and {(~current).sum()} history rows, {len(images)} images"
    )


def write_raw_sample(
    out: Path,
    truth: Path,
    reports: int = 800,
    seed: int = 0,
    *,
    form: RawFormat = "table",
    prose: Prose = "varied",
) -> str:
    """Write the reports of a synthetic corpus as raw text into `out`, and what they say
    into `truth`.

    `form`: `table` (reports.csv), `mimic` (files/p90/p90000001/s90000001.txt with the
    image metadata beside it) or `text` (one s90000001.txt per report). `truth` gets the
    published files of the same studies. Both folders are byte-identical for the same
    arguments. Raises `ConfigurationError` for less than one report, for one folder
    named twice, and where a folder holds a delivery that is not declared synthetic.
    """
    if truth.resolve() == out.resolve():
        raise ConfigurationError(
            f"{out} is named for raw reports and for their truth. Name two folders."
        )
    _refuse_to_replace(out, (TABLE_FILE, TREE, METADATA_FILE, ABOUT_FILE))
    summary = write_sample(truth, reports, seed, prose)
    studies = sample_studies(reports, seed, prose)
    shutil.rmtree(
        out / TREE, ignore_errors=True
    )  # of a sample: a tree that is none was refused
    out.mkdir(parents=True, exist_ok=True)
    (out / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")
    if form == "table":
        _write(
            studies[["study_id", "subject_id", "view", "study_date", "report"]],
            out / TABLE_FILE,
        )
    else:
        _write_texts(studies, out, form)
    if form == "mimic":
        shutil.copyfile(truth / METADATA_FILE, out / METADATA_FILE)
    return summary


def _write_texts(studies: pd.DataFrame, folder: Path, form: RawFormat) -> None:
    columns = (studies[name] for name in ("study_id", "subject_id", "report"))
    for study, subject, report in zip(*columns, strict=True):
        place = folder / TREE / subject[:3] / subject if form == "mimic" else folder
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{study}.txt").write_text(report, encoding="utf-8")


def _write(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False, lineterminator="\n")


def _refuse_to_replace(out: Path, names: Sequence[str]) -> None:
    """Refuse a folder with one of these files of a delivery that is not declared
    synthetic.
    """
    about = out / ABOUT_FILE
    declared = (
        about.exists()
        and 'data_class = "synthetic"' in about.read_text(encoding="utf-8").splitlines()
    )
    if not declared and any((out / name).exists() for name in names):
        found = "a delivery that is not declared synthetic; a sample would replace it"
        raise ConfigurationError(f"{out} holds {found}. Name another folder.")
