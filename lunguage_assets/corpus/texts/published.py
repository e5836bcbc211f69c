"""Published corpora in shapes of their own.

One reader each for CheXpert Plus, ReXGradient, PadChest-GR, and the entities of
RadGraph. Facts about the shapes are from the sources that a reader names. How large
JSON files are read is in `json_entries.py`.

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
from lunguage_assets.corpus.records import Cells, Record, read_cells, storable
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
"""Columns one of which such a table has, too."""
PATIENTS = ("studyid", "patientid")
"""Columns of PadChest-GR's `master_table.csv` that say whose a study is."""
_BYTES_LOOKED_AT = 1 << 20
"""Bytes of a JSON file in which its shape is looked for."""
_ENTRIES_LOOKED_AT = 20
"""Entries in which its shape is looked for: a broken one may be the first."""
_TOO_DEEP = "an entry of fewer levels"
_CHEXPERT_SECTIONS = (
    "narrative", "clinical_history", "history", "comparison", "technique",
    "procedure_comments", "findings", "impression",
)  # fmt: skip
_REXGRADIENT_SECTIONS = ("indication", "comparison", "findings", "impression")
_CHEXPERT_IMAGE = re.compile(r"(patient\d+)[/_](study\d+)(?![^/_.])")
_MIMIC_REPORT = re.compile(r"(?:.*/)?(p\d{8,})/(s\d{8,})(?:\.txt)?", re.IGNORECASE)
_NO_VIEW = {"", "none", "n/a", "unknown", "other"}
_SENTENCE_ENDS = (".", "!", "?")
_CHANGE = re.compile(r"CHAN(?:-[A-Z]{1,10}){1,3}")

Entities = Mapping[str, Any]
Patients = Mapping[str, str]
"""Patients by study, as delivered."""


def _radgraph_labels() -> dict[str, tuple[str, str]]:
    """List the labels of RadGraph (`OBS-DP`) and of RadGraph-XL (`Anatomy::...`)."""
    names = {"OBS": "Observation", "ANAT": "Anatomy"}
    certainties = {
        "DP": "definitely present",
        "U": "uncertain",
        "DA": "definitely absent",
    }
    labels = {}
    for part, name in names.items():
        for code, certainty in certainties.items():
            labels[f"{part}-{code}"] = (part, code)
            labels[f"{name}::{certainty}"] = (part, code)
            labels[f"{name}::measurement::{certainty}"] = ("SIZE", code)
    return labels


RADGRAPH_LABELS = _radgraph_labels()
"""What is named by a label, and whether it is present, uncertain or absent."""


def is_change(label: str) -> bool:
    """Tell whether a label of RadGraph2 says what changed since an earlier film.

    Such labels are `CHAN-NC` and `CHAN-CON-RES`.
    """
    return _CHANGE.fullmatch(label) is not None


class StudyOfImage(NamedTuple):
    """Whose an image of CheXpert is: the study by patient and number, the patient."""

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

    The sections of columns of their own stand under their headings, else `report`. The
    summary code, the accession number and what follows the impression are no part of a
    section and are left out. The order of a patient's studies is that of
    `patient_report_date_order`: there are no dates.

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
    first_report: dict[str, RawReport] = {}
    views_by_study: dict[str, set[str]] = {}
    # Broken rows, and rows whose text is not that of their study's first image.
    others: list[RawReport] = []
    _, records = read_cells(path, CHEXPERT_PLUS, optional, keep_bytes=True)
    for record, cells in records:
        image = study_of_image(cells["path_to_image"])
        if record.broken or image is None:
            reason = record.broken or "chexpert-plus-path: path_to_image"
            others.append(_broken_row(path, record, cells, "", reason))
            continue
        report = _chexpert_report(path, record, cells, image)
        first = first_report.setdefault(image.study, report)
        views = views_by_study.setdefault(image.study, set())
        views |= _views([cells["ap_pa"] or cells["frontal_lateral"]])
        if cells["frontal_lateral"].lower() == "lateral":
            views.add("lateral")
        if first.content != report.content:
            others.append(report)
    for study, report in first_report.items():
        yield replace(report, views=", ".join(sorted(views_by_study[study])))
    yield from others


def _chexpert_report(
    path: Path, record: Record, cells: Cells, image: StudyOfImage
) -> RawReport:
    sections = {
        name.replace("_", " "): cells[f"section_{name}"] for name in _CHEXPERT_SECTIONS
    }
    return RawReport(
        path.name,
        record.number,
        image.study,
        image.patient,
        content=_bytes(under_headings(sections) or cells["report"]),
        sequence=cells["patient_report_date_order"],
    )


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
        reason = record.broken or ("" if study else "rexgradient-id: id")
        if reason:
            yield _broken_row(path, record, cells, study, reason)
            continue
        sections = {name: _text(cells[name]) for name in _REXGRADIENT_SECTIONS}
        # A spreadsheet leaves `.0` behind a number.
        date = _text(cells["studydate"]).removesuffix(".0")
        yield RawReport(
            path.name,
            record.number,
            study,
            patient=_text(cells["patientid"]),
            taken_at=date,
            views=", ".join(sorted(_views([cells["imageviewposition"]]))),
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
    views = entry.get("ImageViewPosition")
    listed_views = views if isinstance(views, list) else [views]
    return RawReport(
        "",
        1,
        key,
        patient=_text(entry.get("PatientID")),
        taken_at=_text(entry.get("StudyDate")),
        views=", ".join(sorted(_views(listed_views))),
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
    notes = [
        f"padchest-gr-sentence: findings.{number}.sentence_en"
        for number, sentence in enumerate(sentences)
        if not sentence
    ]
    lines = [_ended(sentence) for sentence in sentences if sentence]
    return RawReport(
        "",
        1,
        study,
        patients.get(study, ""),
        content=_bytes(under_headings({"findings": "\n".join(lines)})),
        noted="\n".join(notes),
    )


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(_SENTENCE_ENDS) else f"{sentence}."


def _radgraph(key: str, entry: Entities, patients: Patients) -> RawReport | str:
    """Read an entry of `MIMIC-CXR_graphs.json` and the like.

    By report it has words, and entities with label, first and last word and relations;
    also what the package radgraph returns, and lists of it. A report of the test set
    has what two people annotated (`labeler_1`, `labeler_2`): both are read, each as a
    reading of its own.

    Source: physionet.org/content/radgraph/1.0.0; README of the package radgraph 0.1.18;
    github.com/MouYongli/MedKGC (data/radgraph/README.md); labels of RadGraph-XL:
    aclanthology.org 2024.findings-acl.765; of RadGraph2:
    physionet.org/content/radgraph2-radiology-reports, arXiv 2308.05046.
    """
    entry = _object(entry.get("0")) or entry
    if not isinstance(entry.get("text"), str):
        return "text"
    first_labeler = _object(entry.get("labeler_1"))
    first = entry.get("entities", first_labeler.get("entities"))
    second = _object(entry.get("labeler_2")).get("entities")
    wrong_key = _wrong_key(first)
    if wrong_key:
        return wrong_key
    if second is not None and (wrong_key := _wrong_key(second)):
        return f"labeler_2.{wrong_key}"
    study, patient = _radgraph_ids(key)
    return RawReport(
        "",
        1,
        study,
        patient,
        content=_bytes(entry["text"]),
        graph=_compact(first),
        second_graph="" if second is None else _compact(second),
    )


def _radgraph_ids(key: str) -> StudyOfImage:
    """Read study and patient off a key, which is a path of MIMIC-CXR or CheXpert."""
    image = study_of_image(key)
    if image is not None:
        return image
    report = _MIMIC_REPORT.fullmatch(key)
    if report is not None:
        patient, study = report.groups()
        return StudyOfImage(study, patient)
    return StudyOfImage(key, "")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _wrong_key(entities: Any) -> str:
    """Name the key of what is no entity, or wrong with one; empty when all fit."""
    if not isinstance(entities, dict):
        return "entities"
    for number, entity in enumerate(entities.values(), 1):
        for part, fits in _PARTS_OF_ENTITY.items():
            if not fits(_object(entity).get(part)):
                return f"entities.{number}.{part}"
    return ""


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and value == storable(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and (value in RADGRAPH_LABELS or is_change(value))


def _is_index(value: Any) -> bool:
    return isinstance(value, int)


def _are_relations(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_relation, value))


def _is_relation(value: Any) -> bool:
    """Tell whether a value is a kind and an entity, in which nothing can be nested."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    kind, entity = value
    return isinstance(kind, str) and isinstance(entity, str | int)


_PARTS_OF_ENTITY: Mapping[str, Callable[[Any], bool]] = {
    "tokens": _is_token,
    "label": _is_label,
    "start_ix": _is_index,
    "end_ix": _is_index,
    "relations": _are_relations,
}


@dataclass(frozen=True)
class Shape:
    """A JSON corpus.

    `keys` are those by which an entry is known, two of which are enough. `brackets` are
    those in which the entries may stand: of an object, of a list, or of either. `read`
    reads an entry into a report, or returns the key that is missing.
    """

    keys: frozenset[str]
    brackets: str
    read: Callable[[str, Entities, Patients], RawReport | str]

    @property
    def folded_keys(self) -> set[str]:
        """The keys in lower case."""
        return {key.lower() for key in self.keys}


SHAPES: Mapping[str, Shape] = {
    "rexgradient": Shape(
        frozenset(
            (
                "Indication",
                "Comparison",
                "Findings",
                "Impression",
                "ImagePath",
                "ImageViewPosition",
            )
        ),
        "{",
        _rexgradient,
    ),
    "padchest-gr": Shape(
        frozenset(("StudyID", "ImageID", "findings")), "[", _padchest_gr
    ),
    "radgraph": Shape(
        frozenset(("text", "entities", "data_source", "labeler_1")), "{[", _radgraph
    ),
}
_KNOWN_KEYS = {"patientid", "studydate", "labeler_2"}.union(
    *(shape.folded_keys for shape in SHAPES.values())
)


def shape_of(path: Path) -> str:
    """Name the shape of a JSON file by the keys of its first entry; empty: another."""
    keys = {key.lower() for key in _keys_of(path)}
    for name, shape in SHAPES.items():
        if len(shape.folded_keys & keys) > 1:
            return name
    return ""


def shown_keys(path: Path) -> str:
    """Tell the keys of the first entry of a JSON file as far as they are known.

    A key may be an id, or a text: of others it is said how many there are.
    """
    keys = _keys_of(path)
    known = [key for key in keys if key.lower() in _KNOWN_KEYS]
    others = len(keys) - len(known)
    return f"the keys {known}" + (f" and {others} of other names" if others else "")


def _keys_of(path: Path) -> list[str]:
    """List the keys of the first entry that has any; none where there is none."""
    with suppress(InputError):
        text = read_text(path, _BYTES_LOOKED_AT)
        first_entries = itertools.islice(entries(text, path.name), _ENTRIES_LOOKED_AT)
        for entry in first_entries:
            fields = _object(entry.value)
            keys = list(_object(fields.get("0")) or fields)
            if keys:
                return keys
    return []


def read_shape(
    name: str, path: Path, beside: Path | None = None
) -> Iterator[RawReport]:
    """Read the records of a JSON file of a shape.

    Args:
        name: of the shape.
        path: the file.
        beside: a table of patients by study, if there is one.

    Raises:
        InputError: no entry fits, or the file breaks off.
    """
    shape = SHAPES[name]
    expected, remedy = reasons()["rejections"][f"{name}-entry"].values()
    text = read_text(path)
    bracket = first_bracket(text)
    if bracket not in shape.brackets:
        found = "a list of entries" if bracket == "[" else "an object of entries"
        raise InputError(path.name, found, expected, remedy, row=1)
    patients = {} if beside is None else _read_patients(beside)
    first_missing = ""
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
        first_missing = first_missing or report
        broken = RawReport(
            path.name,
            number,
            key if bracket == "{" else "",
            content=_shown_entry(value),
            broken=f"{name}-entry: {report}",
        )
        if has_report:
            yield broken
        else:
            waiting.append(broken)
    if not has_report:
        found = shown_keys(path) if first_missing else "no entry"
        column = first_missing or None
        raise InputError(path.name, found, expected, remedy, row=1, column=column)


def _read_patients(path: Path) -> dict[str, str]:
    patients: dict[str, str] = {}
    _, records = read_cells(path, PATIENTS)
    for record, cells in records:
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
    try:
        return shape.read(key, value, patients)
    except RecursionError:  # what it has beside the keys that are known may be nested
        return _TOO_DEEP


def _shown_entry(value: Any) -> bytes:
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


def _views(written: Sequence[Any]) -> set[str]:
    views = {
        " ".join(_text(view).lower().replace("_", " ").split()) for view in written
    }
    return views - _NO_VIEW


def _bytes(text: str) -> bytes:
    with suppress(UnicodeEncodeError):
        return text.encode("utf-8", "surrogateescape")
    return text.encode("utf-8", "replace")  # half a character of JSON
