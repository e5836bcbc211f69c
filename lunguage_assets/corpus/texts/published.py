"""Published corpora in shapes of their own, one reader each: CheXpert Plus, ReXGradient, PadChest-GR, and the
entities of RadGraph. Facts about the shapes are from the sources that a reader names.

A reader gives one record per report. An entry without what its shape has is a broken record, "shape: key";
a file of which no entry fits is refused by its first one.
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
from lunguage_assets.corpus.packages import (
    DAMAGES,
    is_package,
    only_member,
    open_unpacked,
)
from lunguage_assets.corpus.records import (
    MOST_UNPACKED,
    read_cells,
    require_size,
    shown,
)
from lunguage_assets.corpus.texts.raw import RawReport, under_headings
from lunguage_assets.errors import InputError, damaged

CHEXPERT_PLUS = ("path_to_image", "section_findings", "section_impression")
"""Columns without which a table is not that of CheXpert Plus."""
REXGRADIENT = ("id", "findings", "impression")
"""Columns without which a table is not one of ReXGradient's `<split>_metadata.csv`."""
REXGRADIENT_IDS = ("patientid", "studyinstanceuid", "accessionnumber")
"""Columns one of which such a table has, too."""
PATIENTS = ("studyid", "patientid")
"""Columns of PadChest-GR's `master_table.csv` that say whose a study is."""
JSON_FORM = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)
_PACKED_FORM = re.compile(r"\.json$", re.IGNORECASE)
_LOOKED_AT = 1 << 20
"""Bytes, and entries, of a JSON file in which its shape is looked for: a broken entry may be the first."""
_FIRST_ENTRIES = 20
_MOST_DIGITS = 1_000
"""Digits of a number of JSON; what has more is no id, date or place, and Python refuses to read it."""
_TOO_DEEP = "an entry of fewer levels"
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_SECTIONS = ("narrative", "clinical_history", "history", "comparison", "technique", "procedure_comments",
             "findings", "impression")  # fmt: skip
_REXGRADIENT_SECTIONS = ("indication", "comparison", "findings", "impression")
_OF_IMAGE = re.compile(r"(patient\d+)[/_](study\d+)(?![^/_.])")
_OF_MIMIC = re.compile(r"(?:.*/)?(p\d{8,})/(s\d{8,})(?:\.txt)?", re.IGNORECASE)
_GAP = re.compile(r"[\s,]*")
_NO_VIEW = {"", "none", "n/a", "unknown", "other"}
RADGRAPH_LABELS = {
    **{
        f"{part}-{code}": (part, code)
        for part in ("OBS", "ANAT")
        for code in ("DP", "U", "DA")
    },
    **{
        f"{name}::{size}{sure}": ("SIZE" if size else part, code)
        for part, name in (("OBS", "Observation"), ("ANAT", "Anatomy"))
        for size in ("", "measurement::")
        for code, sure in (
            ("DP", "definitely present"),
            ("U", "uncertain"),
            ("DA", "definitely absent"),
        )
    },
}
"""Labels of RadGraph and RadGraph-XL: what is named, and whether it is present, uncertain or absent."""
_CHANGE = re.compile(r"CHAN(?:-[A-Z]{1,10}){1,3}")


def is_change(label: str) -> bool:
    """Whether a label of RadGraph2 says what changed since an earlier film (`CHAN-NC`, `CHAN-CON-RES`)."""
    return _CHANGE.fullmatch(label) is not None


def read_chexpert_plus(path: Path) -> Iterator[RawReport]:
    """`df_chexpert_plus_240401.csv`: a row per image, a report per study of its path
    (`train/patient00001/study1/view1_frontal.jpg`), the sections of columns of their own under their
    headings, else `report`. The summary code, the accession number and what follows the impression are no
    part of a section and are left out. The order of a patient's studies is that of
    `patient_report_date_order`: there are no dates.

    Source: github.com/Stanford-AIMI/chexpert-plus (README), arXiv 2405.19538, DOI 10.57761/fzna-pm76 (the 27
    columns); views as the table's users read `frontal_lateral` and `ap_pa`.
    """
    studies: dict[str, tuple[RawReport, set[str]]] = {}
    others: list[RawReport] = []
    further = (f"section_{name}" for name in _SECTIONS[:-2])
    optional = (
        "report",
        *further,
        "frontal_lateral",
        "ap_pa",
        "patient_report_date_order",
    )
    for record, cell in read_cells(path, CHEXPERT_PLUS, optional, keep_bytes=True)[1]:
        named = study_of_image(cell["path_to_image"])
        wrong = record.broken or ("" if named else "chexpert-plus-path: path_to_image")
        if named is None or wrong:
            shown = _bytes(record.raw or json.dumps(cell, ensure_ascii=False))
            others.append(
                RawReport(path.name, record.number, "", content=shown, broken=wrong)
            )
            continue
        parts = {name.replace("_", " "): cell[f"section_{name}"] for name in _SECTIONS}
        content = _bytes(under_headings(parts) or cell["report"])
        order = cell["patient_report_date_order"]
        own = RawReport(
            path.name, record.number, *named, content=content, sequence=order
        )
        study = named.study
        known, views = studies.setdefault(study, (own, set()))
        views |= _views([cell["ap_pa"] or cell["frontal_lateral"]])
        if cell["frontal_lateral"].lower() == "lateral":
            views.add("lateral")
        if known.content != content:
            others.append(own)
    for known, views in studies.values():
        yield replace(known, views=", ".join(sorted(views)))
    yield from others


class StudyOfImage(NamedTuple):
    """Whose an image of CheXpert is: the study by patient and number, and the patient."""

    study: str
    patient: str


def study_of_image(path: str) -> StudyOfImage | None:
    """The study and patient that a path such as `train/patient00001/study1/view1_frontal.jpg` names."""
    found = _OF_IMAGE.search(path)
    return StudyOfImage("/".join(found.groups()), found.group(1)) if found else None


def read_rexgradient_table(path: Path) -> Iterator[RawReport]:
    """`<split>_metadata.csv`: a row per study, by `id`, which is the key of the JSON file of the same split.
    It names no views.

    Source: as `_rexgradient`; the column `id` as github.com/f10409/RadHarmony and users of the table join it
    with the JSON.
    """
    optional = (
        "patientid",
        "indication",
        "comparison",
        "studydate",
        "imageviewposition",
    )
    for record, cell in read_cells(path, REXGRADIENT, optional, keep_bytes=True)[1]:
        study = cell["id"]
        broken = record.broken or ("" if study else "rexgradient-id: id")
        if broken:
            shown = _bytes(record.raw or json.dumps(cell, ensure_ascii=False))
            yield RawReport(
                path.name, record.number, study, content=shown, broken=broken
            )
            continue
        parts = {name: _said(cell[name]) for name in _REXGRADIENT_SECTIONS}
        yield RawReport(
            path.name,
            record.number,
            study,
            _said(cell["patientid"]),
            _said(cell["studydate"]).removesuffix(
                ".0"
            ),  # as a spreadsheet leaves a number behind
            ", ".join(sorted(_views([cell["imageviewposition"]]))),
            content=_bytes(under_headings(parts)),
        )


def _rexgradient(
    key: str, entry: Mapping[str, Any], _: Mapping[str, str]
) -> RawReport | str:
    """`<split>_metadata_view_position.json`: study -> sections, and an image's path and view in lists.

    Source: huggingface.co/datasets/rajpurkarlab/ReXGradient-160K, and its reader in
    github.com/f10409/RadHarmony (radharmony/harmonizer): keys, views, "None" for an empty section.
    """
    if not {"Findings", "Impression"} & entry.keys():
        return "Findings"
    parts = {
        name: _said(entry.get(name.capitalize())) for name in _REXGRADIENT_SECTIONS
    }
    views = entry.get("ImageViewPosition")
    seen = ", ".join(sorted(_views(views if isinstance(views, list) else [views])))
    patient, date = _said(entry.get("PatientID")), _said(entry.get("StudyDate"))
    return RawReport(
        "", 1, key, patient, date, seen, content=_bytes(under_headings(parts))
    )


def _padchest_gr(
    _: str, entry: Mapping[str, Any], patients: Mapping[str, str]
) -> RawReport | str:
    """`grounded_reports_*.json`: a list of studies with one sentence per finding; all images are frontal. The
    patient is that of `master_table.csv` beside it. Only the sentences are read: labels and places are codes
    of present findings in a tree of PadChest's own, without certainty, so that they compare with no status.
    A finding without an English sentence is left out and noted; a study without any is rejected.

    Source: arXiv 2411.05085; keys as github.com/javiermq/EX-IA-PadChest-Gr and others read them, who open
    `master_table.csv.zip` as it is published.
    """
    study, findings = _said(entry.get("StudyID")), entry.get("findings")
    if not study or not isinstance(findings, list):
        return "findings" if study else "StudyID"
    sentences = [_said(_object(one).get("sentence_en")) for one in findings]
    if findings and not any(sentences):
        return "findings.0.sentence_en"
    missing = [number for number, sentence in enumerate(sentences) if not sentence]
    ended = [
        one if one.endswith((".", "!", "?")) else f"{one}." for one in sentences if one
    ]
    return RawReport(
        "",
        1,
        study,
        patients.get(study, ""),
        content=_bytes(under_headings({"findings": "\n".join(ended)})),
        noted="\n".join(
            f"padchest-gr-sentence: findings.{number}.sentence_en" for number in missing
        ),
    )


def _radgraph(
    key: str, entry: Mapping[str, Any], _: Mapping[str, str]
) -> RawReport | str:
    """`MIMIC-CXR_graphs.json` and the like: report -> words, and entities with label, first and last word and
    relations; also what the package radgraph returns, and lists of it. A report of the test set has what two
    people annotated (`labeler_1`, `labeler_2`): both are read, each as a reading of its own.

    Source: physionet.org/content/radgraph/1.0.0; README of the package radgraph 0.1.18;
    github.com/MouYongli/MedKGC (data/radgraph/README.md); labels of RadGraph-XL: aclanthology.org
    2024.findings-acl.765; of RadGraph2: physionet.org/content/radgraph2-radiology-reports, arXiv 2308.05046.
    """
    entry = _object(entry.get("0")) or entry
    second = _object(entry.get("labeler_2")).get("entities")
    readings = [
        ("", entry.get("entities", _object(entry.get("labeler_1")).get("entities")))
    ]
    readings += [("labeler_2.", second)] if second is not None else []
    if not isinstance(entry.get("text"), str):
        return "text"
    graphs = ["", ""]
    for place, (within, entities) in enumerate(readings):
        if wrong := _wrong_in(entities):
            return within + wrong
        graphs[place] = json.dumps(entities, separators=(",", ":"))
    mimic, image = _OF_MIMIC.fullmatch(key), study_of_image(key)
    patient, study = mimic.groups() if mimic else ("", key)
    if image:
        study, patient = image
    first, other = graphs
    return RawReport(
        "",
        1,
        study,
        patient,
        content=_bytes(entry["text"]),
        graph=first,
        second_graph=other,
    )


def _wrong_in(entities: Any) -> str:
    """The key of what is no entity, or wrong with one; empty when all fit."""
    if not isinstance(entities, dict):
        return "entities"
    for number, one in enumerate(entities.values(), 1):
        for part, fits in _OF_ENTITY.items():
            if not fits(_object(one).get(part)):
                return f"entities.{number}.{part}"
    return ""


def _is_relation(value: Any) -> bool:
    """Whether it is a kind and an entity's name, or number, which nothing can be nested in."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    kind, entity = value
    return isinstance(kind, str) and isinstance(entity, str | int)


_OF_ENTITY: Mapping[str, Callable[[Any], bool]] = {
    "tokens": lambda value: isinstance(value, str) and value == shown(value),
    "label": lambda value: (
        isinstance(value, str) and (value in RADGRAPH_LABELS or is_change(value))
    ),
    "start_ix": lambda value: isinstance(value, int),
    "end_ix": lambda value: isinstance(value, int),
    "relations": lambda value: (
        isinstance(value, list) and all(map(_is_relation, value))
    ),
}


@dataclass(frozen=True)
class Shape:
    """A JSON corpus: the keys by which an entry is known, two of which are enough; whether entries stand in
    an object, in a list, or in either; and the reader of an entry, which gives a report or the missing key.
    """

    marks: frozenset[str]
    within: str
    read: Callable[[str, Mapping[str, Any], Mapping[str, str]], RawReport | str]


SHAPES: Mapping[str, Shape] = {
    "rexgradient": Shape(
        frozenset(("Indication", "Comparison", "Findings", "Impression", "ImagePath", "ImageViewPosition")),
        "{", _rexgradient,
    ),
    "padchest-gr": Shape(frozenset(("StudyID", "ImageID", "findings")), "[", _padchest_gr),
    "radgraph": Shape(frozenset(("text", "entities", "data_source", "labeler_1")), "{[", _radgraph),
}  # fmt: skip


_MARKS = {
    name: {mark.lower() for mark in shape.marks} for name, shape in SHAPES.items()
}
_KNOWN_KEYS = set[str]().union(
    *_MARKS.values(), ("patientid", "studydate", "labeler_2")
)


def shape_of(path: Path) -> str:
    """The shape of a JSON file by the keys of its first entry, whatever their case; empty: another."""
    keys = {key.lower() for key in _keys_of(path)}
    return next((name for name, marks in _MARKS.items() if len(marks & keys) > 1), "")


def told_keys(path: Path) -> str:
    """The keys of the first entry of a JSON file as far as they are known, and how many others there are: a
    key may be an id, or a text.
    """
    keys = _keys_of(path)
    known = [key for key in keys if key.lower() in _KNOWN_KEYS]
    others = len(keys) - len(known)
    return f"the keys {known}" + (f" and {others} of other names" if others else "")


def _keys_of(path: Path) -> list[str]:
    """The keys of the first entry of a JSON file that has any; none where it has no such entry."""
    with suppress(InputError):
        entries = _entries(_text(path, _LOOKED_AT), path.name)
        for _, entry in itertools.islice(entries, _FIRST_ENTRIES):
            if keys := [*(_object(_object(entry).get("0")) or _object(entry))]:
                return keys
    return []


def read_shape(
    name: str, path: Path, beside: Path | None = None
) -> Iterator[RawReport]:
    """The records of a JSON file of a shape. Raises `InputError`: no entry fits, or it breaks off."""
    shape, text, missing = SHAPES[name], _text(path), ""
    expected, remedy = reasons()["rejections"][f"{name}-entry"].values()
    opened = text[_begin(text) : _begin(text) + 1]
    if opened not in shape.within:
        found = "a list of entries" if opened == "[" else "an object of entries"
        raise InputError(path.name, found, expected, remedy, row=1)
    patients: dict[str, str] = {}
    for record, cell in read_cells(beside, PATIENTS)[1] if beside is not None else ():
        if not record.broken:
            patients.setdefault(cell["studyid"], cell["patientid"])
    refused: list[RawReport] | None = []  # until an entry fits
    for number, (key, entry) in enumerate(_entries(text, path.name), 1):
        read = _read_entry(shape, key, entry, patients)
        if isinstance(read, RawReport):
            yield from refused or ()
            refused = None
            yield replace(read, file=path.name, line=number)
            continue
        missing = missing or read
        study = key if opened == "{" else ""
        broken = RawReport(
            path.name,
            number,
            study,
            content=_shown_entry(entry),
            broken=f"{name}-entry: {read}",
        )
        if refused is None:
            yield broken
        else:
            refused.append(broken)
    if refused is not None:
        found = told_keys(path) if missing else "no entry"
        raise InputError(
            path.name, found, expected, remedy, row=1, column=missing or None
        )


def _read_entry(
    shape: Shape, key: str, entry: Any, patients: Mapping[str, str]
) -> RawReport | str:
    """The report of an entry, or what is wrong with it."""
    if entry is _SKIPPED:
        return _TOO_DEEP
    if not isinstance(entry, dict):
        return "an object"
    try:
        return shape.read(key, entry, patients)
    except RecursionError:  # what it has beside the keys that are known may be nested
        return _TOO_DEEP


def _shown_entry(entry: Any) -> bytes:
    """An entry as it stands in the table of rejected ones; nothing of one that is nested too deeply."""
    if entry is _SKIPPED:
        return b""
    with suppress(RecursionError):
        return _bytes(json.dumps(entry, ensure_ascii=False))
    return b""


def _text(path: Path, most: int = -1) -> str:
    """The text of a file, or its beginning of so many bytes."""
    is_packed = path.name.lower().endswith((".gz", ".zip"))
    try:
        with open_unpacked(path, _PACKED_FORM) as stream:
            content = stream.read(MOST_UNPACKED + 1 if is_packed and most < 0 else most)
    except DAMAGES as error:
        raise damaged(
            path.name, "a file that cannot be unpacked", error, "a whole file"
        ) from None
    if is_packed:
        require_size(path.name, len(content))
    return content.decode("utf-8-sig", "replace")


def holds_json(path: Path) -> bool:
    """Whether a file is JSON by its name, or a package with one JSON file."""
    if is_package(path):
        return only_member(path, _PACKED_FORM) != ""
    return JSON_FORM.search(path.name) is not None


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one JSON object per line, with the numbers of their lines; empty lines are
    passed over. Raises `InputError`: it cannot be unpacked, or a line is something else.
    """
    for number, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_int=_whole_number)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            remedy = "Deliver the file as it is published."
            raise InputError(
                path.name,
                "something else",
                "a JSON object per line",
                remedy,
                row=number,
            )
        yield number, value


def _begin(text: str, at: int = 0) -> int:
    """The next character that is neither blank nor comma."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _entries(text: str, file: str) -> Iterator[tuple[str, Any]]:
    """Key, or place from 0, and value of every entry of a JSON object or list, one after the other: all of
    RadGraph's would take gigabytes. Raises `InputError`: it breaks off, with the row.
    """
    decoder, number, at = json.JSONDecoder(parse_int=_whole_number), 0, _begin(text)
    end = {"{": "}", "[": "]"}.get(text[at : at + 1], "")
    try:
        at = _begin(text, at + 1)
        while text[at] != end:
            key: Any = str(number)
            if end == "}":
                key, at = decoder.raw_decode(text, at)
                at = text.index(":", at) + 1
            begin = _begin(text, at)
            try:
                value, at = decoder.raw_decode(text, begin)
            except RecursionError:
                value, at = _SKIPPED, _end_of(text, begin)
            number += 1
            yield str(key), value
            at = _begin(text, at)
    except (ValueError, IndexError, RecursionError):
        found, remedy = (
            "JSON that breaks off here or is damaged",
            "Deliver the complete file.",
        )
        raise InputError(
            file, found, "a whole JSON file", remedy, row=number + 1
        ) from None


_SKIPPED = object()
"""In the place of an entry that is nested too deeply to be read."""


def _end_of(text: str, begin: int) -> int:
    """Where the JSON value ends that begins with a bracket there. Raises ValueError: nowhere."""
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text, begin):
        if found.group() in "[{":
            depth += 1
        elif found.group() in "]}":
            depth -= 1
        if depth == 0:
            return found.end()
    raise ValueError


def _whole_number(written: str) -> int | float:
    return int(written) if len(written) <= _MOST_DIGITS else float(written)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _said(value: Any) -> str:
    """A text or number; empty for null, NaN and "None"."""
    written = clean(str(value)) if isinstance(value, str | int) else ""
    return "" if written.lower() == "none" else written


def _views(written: Sequence[Any]) -> set[str]:
    named = {" ".join(_said(one).lower().replace("_", " ").split()) for one in written}
    return named - _NO_VIEW


def _bytes(text: str) -> bytes:
    with suppress(UnicodeEncodeError):
        return text.encode("utf-8", "surrogateescape")
    return text.encode("utf-8", "replace")  # half a character of JSON
