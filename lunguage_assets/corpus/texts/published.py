"""Reads published corpora that have a shape of their own (docs/reports.md).

One reader each for CheXpert Plus, ReXGradient and PadChest-GR. Facts about the shapes
are from the sources that a reader names. Not here: how large JSON files are read
(`json_entries.py`).

A reader gives one record per report. An entry without what its shape has is a broken
record, "shape: key"; a file of which no entry fits is refused by its first one.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.log import reasons
from lunguage_assets.corpus.records import Cells, Record, read_cells
from lunguage_assets.corpus.texts.json_entries import (
    SKIPPED,
    entries,
    first_bracket,
    read_text,
)
from lunguage_assets.corpus.texts.raw import RawReport, under_headings
from lunguage_assets.errors import InputError

CHEXPERT_PLUS = ("path_to_image", "section_findings", "section_impression")
"""Columns without which a table is not that of CheXpert Plus."""
REXGRADIENT = ("id", "findings", "impression")
"""Columns without which a table is not one of ReXGradient's `<split>_metadata.csv`."""
REXGRADIENT_IDS = ("patientid", "studyinstanceuid", "accessionnumber")
"""Columns of such a table; it has at least one of them."""
PATIENTS = ("studyid", "patientid")
"""Columns of PadChest-GR's `master_table.csv` that say whose a study is."""
_BYTES_LOOKED_AT = 1 << 20
"""Bytes of a JSON file in which its shape is looked for."""
_ENTRIES_LOOKED_AT = 20
"""Entries in which its shape is looked for: a broken one may be the first."""
_TOO_DEEP = "an entry of fewer levels"
"""Stands for the missing key of an entry that is nested too deeply."""
_CHEXPERT_SECTIONS = (
    "narrative", "clinical_history", "history", "comparison", "technique",
    "procedure_comments", "findings", "impression",
)  # fmt: skip
_REXGRADIENT_SECTIONS = ("indication", "comparison", "findings", "impression")
_CHEXPERT_IMAGE = re.compile(r"(patient\d+)[/_](study\d+)(?![^/_.])")
_NO_VIEW = {"", "none", "n/a", "unknown", "other"}
_SENTENCE_ENDS = (".", "!", "?")

Entities = Mapping[str, Any]
Patients = Mapping[str, str]
"""Patients by study, as delivered."""


class StudyOfImage(NamedTuple):
    """Whose an image of CheXpert is: `patient00001/study1` of `patient00001`."""

    study: str
    patient: str


def study_of_image(path: str) -> StudyOfImage | None:
    """Read study and patient off `train/patient00001/study1/view1_frontal.jpg`."""
    image = _CHEXPERT_IMAGE.search(path)
    if image is None:
        return None
    patient, study = image.groups()
    return StudyOfImage(f"{patient}/{study}", patient)


def read_chexpert_plus(path: Path) -> Iterator[RawReport]:
    """Read `df_chexpert_plus_240401.csv`: a row per image, a report per study.

    The text is that of the columns `section_*` under their headings; where all of them
    are empty, `report`. The summary code, the accession number and what follows the
    impression belong to no section and are left out. The order of a patient's studies
    is that of `patient_report_date_order`: there are no dates.

    Source: github.com/Stanford-AIMI/chexpert-plus (README), arXiv 2405.19538, DOI
    10.57761/fzna-pm76 (the 27 columns); views as the table's users read
    `frontal_lateral` and `ap_pa`.
    """
    sections = [f"section_{name}" for name in _CHEXPERT_SECTIONS]
    optional = (
        "report",
        *(name for name in sections if name not in CHEXPERT_PLUS),
        "frontal_lateral",
        "ap_pa",
        "patient_report_date_order",
    )
    report_by_study: dict[str, RawReport] = {}
    views_by_study: dict[str, set[str]] = {}
    # Broken rows, and rows whose text is not that of their study's first image: they
    # come last, to be rejected or noted.
    deviating: list[RawReport] = []
    _, records = read_cells(path, CHEXPERT_PLUS, optional, keep_bytes=True)
    for record, cells in records:
        image = study_of_image(cells["path_to_image"])
        if record.broken or image is None:
            reason = record.broken or "chexpert-plus-path: path_to_image"
            deviating.append(_broken_row(path, record, cells, "", reason))
            continue
        report = RawReport(
            path.name,
            record.number,
            image.study,
            image.patient,
            content=_bytes(_chexpert_text(cells)),
            sequence=cells["patient_report_date_order"],
        )
        first_report = report_by_study.setdefault(image.study, report)
        if first_report.content != report.content:
            deviating.append(report)
        views = views_by_study.setdefault(image.study, set())
        views |= _views([cells["ap_pa"] or cells["frontal_lateral"]])
        # Also where `ap_pa` is filled in for a lateral image.
        if cells["frontal_lateral"].lower() == "lateral":
            views.add("lateral")
    for study, report in report_by_study.items():
        yield replace(report, views=", ".join(sorted(views_by_study[study])))
    yield from deviating


def _chexpert_text(cells: Cells) -> str:
    sections = {
        name.replace("_", " "): cells[f"section_{name}"] for name in _CHEXPERT_SECTIONS
    }
    return under_headings(sections) or cells["report"]


def _broken_row(
    path: Path, record: Record, cells: Cells, study: str, reason: str
) -> RawReport:
    text = record.raw or json.dumps(cells, ensure_ascii=False)
    return RawReport(
        path.name, record.number, study, content=_bytes(text), broken=reason
    )


def read_rexgradient_table(path: Path) -> Iterator[RawReport]:
    """Read `<split>_metadata.csv`: a row per study, which names no views.

    `id` is the key of the JSON file of the same split.

    Source: as `_rexgradient`; the column `id` as github.com/f10409/RadHarmony and users
    of the table join it with the JSON.
    """
    optional = (
        "patientid",
        "indication",
        "comparison",
        "studydate",
        "imageviewposition",
    )
    _, records = read_cells(path, REXGRADIENT, optional, keep_bytes=True)
    for record, cells in records:
        study = cells["id"]
        if record.broken or not study:
            reason = record.broken or "rexgradient-id: id"
            yield _broken_row(path, record, cells, study, reason)
            continue
        sections = {name: _text(cells[name]) for name in _REXGRADIENT_SECTIONS}
        # A spreadsheet leaves `.0` behind a number.
        date = _text(cells["studydate"]).removesuffix(".0")
        views = sorted(_views([cells["imageviewposition"]]))
        yield RawReport(
            path.name,
            record.number,
            study,
            patient=_text(cells["patientid"]),
            taken_at=date,
            views=", ".join(views),
            content=_bytes(under_headings(sections)),
        )


def _rexgradient(key: str, entry: Entities, patients: Patients) -> RawReport | str:
    """Read an entry of `<split>_metadata_view_position.json`.

    By study it has the sections, and an image's path and view in lists.

    Source: huggingface.co/datasets/rajpurkarlab/ReXGradient-160K, and its reader in
    github.com/f10409/RadHarmony (radharmony/harmonizer): keys, views, "None" for an
    empty section.
    """
    if "Findings" not in entry and "Impression" not in entry:
        return "Findings"
    sections = {
        name: _text(entry.get(name.capitalize())) for name in _REXGRADIENT_SECTIONS
    }
    # Without a list it is a single view, or none.
    views = entry.get("ImageViewPosition")
    if not isinstance(views, list):
        views = [views]
    return RawReport(
        "",
        1,
        key,
        patient=_text(entry.get("PatientID")),
        taken_at=_text(entry.get("StudyDate")),
        views=", ".join(sorted(_views(views))),
        content=_bytes(under_headings(sections)),
    )


def _padchest_gr(key: str, entry: Entities, patients: Patients) -> RawReport | str:
    """Read an entry of `grounded_reports_*.json`: a study with a sentence per finding.

    All images are frontal. The patient is that of `master_table.csv` beside it. Only
    the sentences are read: labels and places are codes of present findings in a tree of
    PadChest's own, without certainty, so that they compare with no status. A finding
    without an English sentence is left out and noted; a study without any is rejected.

    Source: arXiv 2411.05085; keys as github.com/javiermq/EX-IA-PadChest-Gr and others
    read them, who open `master_table.csv.zip` as it is published.
    """
    study = _text(entry.get("StudyID"))
    findings = entry.get("findings")
    if not study:
        return "StudyID"
    if not isinstance(findings, list):
        return "findings"
    sentences = [_text(_object(finding).get("sentence_en")) for finding in findings]
    if findings and not any(sentences):
        return "findings.0.sentence_en"
    notes = []
    lines = []
    for number, sentence in enumerate(sentences):
        if not sentence:
            notes.append(f"padchest-gr-sentence: findings.{number}.sentence_en")
            continue
        # Each is a sentence of its own, also where its full stop is missing.
        if not sentence.endswith(_SENTENCE_ENDS):
            sentence += "."
        lines.append(sentence)
    return RawReport(
        "",
        1,
        study,
        patients.get(study, ""),
        content=_bytes(under_headings({"findings": "\n".join(lines)})),
        noted="\n".join(notes),
    )


@dataclass(frozen=True)
class Shape:
    """A JSON corpus.

    `keys` are those by which an entry is known, two of which are enough; they are in
    lower case. `brackets` are those in which the entries may stand: of an object, of a
    list, or of either. `read` reads an entry into a report, or returns the key that is
    missing.
    """

    keys: frozenset[str]
    brackets: str
    read: Callable[[str, Entities, Patients], RawReport | str]


SHAPES: Mapping[str, Shape] = {
    "rexgradient": Shape(
        frozenset(
            (
                "indication",
                "comparison",
                "findings",
                "impression",
                "imagepath",
                "imageviewposition",
            )
        ),
        "{",
        _rexgradient,
    ),
    "padchest-gr": Shape(
        frozenset(("studyid", "imageid", "findings")), "[", _padchest_gr
    ),
}
_KNOWN_KEYS = {"patientid", "studydate"}.union(
    *(shape.keys for shape in SHAPES.values())
)


def shape_of(path: Path) -> str:
    """Name the shape of a JSON file by the keys of its first entry; empty: another."""
    keys = {key.lower() for key in _keys_of(path)}
    for name, shape in SHAPES.items():
        if len(shape.keys & keys) > 1:
            return name
    return ""


def shown_keys(path: Path) -> str:
    """List in a message the known keys of the first entry of a JSON file.

    A key may be an id, or a text: of others it is said how many there are.
    """
    keys = _keys_of(path)
    known_keys = [key for key in keys if key.lower() in _KNOWN_KEYS]
    unknown = len(keys) - len(known_keys)
    if not unknown:
        return f"the keys {known_keys}"
    return f"the keys {known_keys} and {unknown} of other names"


def _keys_of(path: Path) -> list[str]:
    """List the keys of the first entry that has any; none where there is none."""
    with suppress(InputError):
        text = read_text(path, _BYTES_LOOKED_AT)
        first_entries = itertools.islice(entries(text, path.name), _ENTRIES_LOOKED_AT)
        for entry in first_entries:
            keys = list(_object(entry.value))
            if keys:
                return keys
    return []


def read_shape(
    name: str, path: Path, patient_table: Path | None = None
) -> Iterator[RawReport]:
    """Read the records of a JSON file of a shape.

    Args:
        name: of the shape.
        path: the file.
        patient_table: the patients by study, if there is such a table.

    Raises:
        InputError: no entry fits, or the file breaks off.
    """
    shape = SHAPES[name]
    expected, remedy = reasons()["rejections"][f"{name}-entry"].values()
    text = read_text(path)
    bracket = first_bracket(text)
    if bracket not in shape.brackets:
        problem = "a list of entries" if bracket == "[" else "an object of entries"
        raise InputError(path.name, problem, expected, remedy, row=1)
    patients = _read_patients(patient_table)
    first_wrong_key = ""
    has_report = False
    # A file of which no entry fits is refused as a whole: broken ones wait for a fit.
    waiting: list[RawReport] = []
    for number, (key, value) in enumerate(entries(text, path.name), 1):
        report = _read_entry(shape, key, value, patients)
        if isinstance(report, RawReport):
            has_report = True
            yield from waiting
            waiting = []
            yield replace(report, file=path.name, line=number)
            continue
        wrong_key = report
        first_wrong_key = first_wrong_key or wrong_key
        # In a list the key is only the entry's index, and no study's id.
        study = key if bracket == "{" else ""
        broken = RawReport(
            path.name,
            number,
            study,
            content=_entry_text(value),
            broken=f"{name}-entry: {wrong_key}",
        )
        if has_report:
            yield broken
        else:
            waiting.append(broken)
    if has_report:
        return
    if first_wrong_key:
        raise InputError(
            path.name,
            shown_keys(path),
            expected,
            remedy,
            row=1,
            column=first_wrong_key,
        )
    raise InputError(path.name, "no entry", expected, remedy, row=1)


def _read_patients(path: Path | None) -> dict[str, str]:
    patients: dict[str, str] = {}
    if path is None:
        return patients
    _, records = read_cells(path, PATIENTS)
    for record, cells in records:
        # A study may have several rows: the first names its patient.
        if not record.broken:
            patients.setdefault(cells["studyid"], cells["patientid"])
    return patients


def _read_entry(
    shape: Shape, key: str, value: Any, patients: Patients
) -> RawReport | str:
    """Read the report of an entry, or name what is wrong with it."""
    if value is SKIPPED:
        return _TOO_DEEP
    if not isinstance(value, dict):
        return "an object"
    # What it has beside the known keys may be nested.
    try:
        return shape.read(key, value, patients)
    except RecursionError:
        return _TOO_DEEP


def _entry_text(value: Any) -> bytes:
    """Write an entry as `rejected` keeps it; nothing of one that is nested too deep."""
    if value is SKIPPED:
        return b""
    with suppress(RecursionError):
        return _bytes(json.dumps(value, ensure_ascii=False))
    return b""


def _object(value: Any) -> Entities:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """Read a text or number; empty for null, NaN and "None"."""
    text = clean(str(value)) if isinstance(value, str | int) else ""
    return "" if text.lower() == "none" else text


def _views(cells: Sequence[Any]) -> set[str]:
    """Read the views that cells name; those that name none are left out."""
    views = set()
    for cell in cells:
        words = _text(cell).lower().replace("_", " ").split()
        views.add(" ".join(words))
    return views - _NO_VIEW


def _bytes(text: str) -> bytes:
    with suppress(UnicodeEncodeError):
        return text.encode("utf-8", "surrogateescape")
    # JSON may have half a character.
    return text.encode("utf-8", "replace")
