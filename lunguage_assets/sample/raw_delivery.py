"""Writes a synthetic sample as raw reports, and the truth about them into another folder."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample.published.files import (
    ABOUT,
    ABOUT_FILE,
    METADATA_FILE,
    Prose,
    SampleSummary,
    made_beside,
    refuse_to_replace,
    synthetic_studies,
    write_sample,
)
from lunguage_assets.sample.records import Study

RawFormat = Literal["table", "mimic", "text"]
TABLE_FILE, TREE = "reports.csv", "files"
RAW_COLUMNS = ("study_id", "subject_id", "view", "study_date", "report")


def write_raw_sample(
    out: Path,
    truth: Path,
    reports: int = 800,
    seed: int = 0,
    *,
    form: RawFormat = "table",
    prose: Prose = "varied",
) -> SampleSummary:
    """Write the reports of a synthetic corpus as raw text into `out`, and what they say into `truth`.

    `form`: `table` (reports.csv), `mimic` (files/p90/p90000001/s90000001.txt with the image metadata beside
    it) or `text` (one s90000001.txt per report). `truth` gets the published files of the same studies. Both
    folders are byte-identical for the same arguments. Raises `ConfigurationError` for less than one report,
    for one folder named twice, and where a folder holds a delivery that is not declared synthetic.
    """
    if truth.resolve() == out.resolve():
        raise ConfigurationError(
            f"{out} is named for the raw reports and for the truth about them, which must not lie together. "
            "Name two folders."
        )
    refuse_to_replace(out, (TABLE_FILE, TREE, METADATA_FILE, ABOUT_FILE))
    summary = write_sample(truth, reports, seed, prose)
    with made_beside(out) as made:
        (made / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")
        studies = synthetic_studies(reports, seed, prose)
        if form == "table":
            _write_table(made / TABLE_FILE, studies)
        else:
            _write_files(made, studies, form)
        if form == "mimic":
            shutil.copyfile(truth / METADATA_FILE, made / METADATA_FILE)
    return summary


def _write_table(path: Path, studies: Iterator[Study]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(RAW_COLUMNS)
        for study in studies:
            writer.writerow([f"s{study.study}", f"p{study.subject}", _view(study), study.date, study.report])


def _write_files(folder: Path, studies: Iterator[Study], form: RawFormat) -> None:
    for study in studies:
        place = folder
        if form == "mimic":
            place = folder / TREE / f"p{str(study.subject)[:2]}" / f"p{study.subject}"
            place.mkdir(parents=True, exist_ok=True)
        (place / f"s{study.study}.txt").write_text(study.report, encoding="utf-8")


def _view(study: Study) -> str:
    """The projections of the study's images, as delivered beside raw reports; empty when none is known."""
    return ", ".join(dict.fromkeys(position for position, _, _ in study.situation.images if position))
