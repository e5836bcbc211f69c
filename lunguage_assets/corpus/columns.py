"""Names of delivered columns, and the content of cells without blanks, absent values and letter case."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from lunguage_assets.errors import InputError
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

ROW_NUMBER = "row"
REQUIRED = (
    "subject_id",
    "study_id",
    "section",
    "sent",
    "ent",
    "dx_status",
    "dx_certainty",
)
OPTIONAL = (
    ROW_NUMBER, "sequence", "report", "sent_idx", "ent_idx", "normed_ent", "cat", "location", "evidence",
    "associate", *ATTRIBUTES,
)  # fmt: skip
_ALIASES = {"": ROW_NUMBER, "unnamed:_0": ROW_NUMBER, "entity": "ent"}
_STAND_INS = {"report_type": "section", "sentences": "sent"}
"""Columns of `lunguage-score` output that stand for missing ones, read at the place of the missing one."""
_LIST_WITH_NAN = re.compile(r"(?:^|,)\s*nan\s*(?:,|$)", re.IGNORECASE)
_BLANKS = re.compile(r"[\s_]+")
_ID = re.compile(r"([ps]?)0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_WHOLE_ID = re.compile(r"\d{8,18}(?:\.0+)?", re.ASCII)
_ONE_WORD = re.compile(r"[^\W\d]{1,40}")
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?", re.ASCII)
_SENTENCE_NUMBER = re.compile(r"\((\d{1,4})\)", re.ASCII)


def map_columns(
    header: Sequence[str], file: str
) -> tuple[dict[str, int], list[str], bool]:
    """Places of the format's columns, names of further columns, and whether the sentence's column holds a
    numbered passage (of `lunguage-score`), of which `sent_idx` chooses a sentence. Letter case, blanks and
    underscores do not matter. Raises `InputError`: a required column is missing.
    """
    position: dict[str, int] = {}
    ignored = []
    names = [_ALIASES.get(folded_name(name), folded_name(name)) for name in header]
    stand_ins = {
        written: column for written, column in _STAND_INS.items() if column not in names
    }
    for place, name in enumerate(names):
        column = stand_ins.get(name, name)
        is_known = column in (*REQUIRED, *OPTIONAL) and column not in position
        if is_known and (column != ROW_NUMBER or place == 0):
            position[column] = place
        elif place > 0 or folded_name(header[0]):
            ignored.append(header[place].strip() or unnamed(place))
    in_passage = "sent" not in names
    required = (
        (*REQUIRED, "sent_idx") if "sentences" in names and in_passage else REQUIRED
    )
    require_columns(
        file, header, position, required, (*OPTIONAL, *_ALIASES, *_STAND_INS)
    )
    return position, ignored, in_passage


def require_columns(
    file: str,
    header: Sequence[str],
    found: Collection[str],
    required: Sequence[str],
    others: Sequence[str],
) -> None:
    """Refuse a file that lacks a required column, and list those that it has (`shown_names`)."""
    absent = [name for name in required if name not in found]
    if absent:
        there = f"columns {shown_names(header, (*required, *others))}"
        remedy = "Add the header line if it is missing, else the column, or correct its name. "
        remedy += "Of a table of reports: --text-column and --id-column name them."
        raise InputError(file, there, f"also {absent}", remedy, column=absent[0])


def shown_names(header: Sequence[str], known: Collection[str]) -> str:
    """Say which columns a file has, without words of a report.

    The first row of a file without a header line holds ids and text. An id has digits, a report has several
    words: of a row with either, only the known names are shown, and how many others there are.
    """
    written = [name.strip() for name in header if name.strip()]
    if all(map(_ONE_WORD.fullmatch, written)):
        return str(written)
    folded = set(map(folded_name, known))
    names = [name for name in written if folded_name(name) in folded]
    others = len(written) - len(names)
    return f"{names} and {others} of other names" if others else str(names)


def column_places(header: Sequence[str]) -> dict[str, int]:
    """Columns by folded name; of several with one name the first."""
    return {
        folded_name(name): len(header) - place
        for place, name in enumerate(reversed(header), 1)
    }


def unnamed(place: int) -> str:
    """The name of a column without a name, by its 0-based place."""
    return f"unnamed column {place + 1}"


def folded_name(name: str) -> str:
    """The form in which column names are compared: lower case, one underscore for blanks and underscores."""
    return _BLANKS.sub("_", name.strip().lower())


def clean(value: str) -> str:
    """The cell without surrounding blanks; null, empty and nan all mean absent."""
    value = value.strip()
    return "" if len(value) < 5 and value.lower() in ("nan", "null", "<na>") else value


def clean_list(value: str) -> str:
    """A comma-separated cell, cleaned; parts that are nan are left out."""
    value = clean(value)
    if _LIST_WITH_NAN.search(value):
        value = ", ".join(part for part in map(clean, value.split(",")) if part)
    return value


def first_alternative(value: str) -> str:
    """`x` of `x|y`."""
    return value.split("|", 1)[0].strip()


def subject_id(value: str) -> str | None:
    """'p' and 8 to 18 digits from an id with or without its prefix; None when it is no id."""
    return _with_prefix("p", value)


def study_id(value: str) -> str | None:
    """'s' and 8 to 18 digits from an id with or without its prefix; None when it is no id."""
    return _with_prefix("s", value)


def _with_prefix(prefix: str, value: str) -> str | None:
    found = _ID.fullmatch(value)
    if found is None or found.group(1).lower() not in ("", prefix):
        return None
    return f"{prefix}{found.group(2):0>8}"


def is_plainly_study(value: str) -> bool:
    """Whether the id is written so that no other column could be meant."""
    return value[:1] in ("s", "S") or _WHOLE_ID.fullmatch(value) is not None


def whole_number(value: str) -> int | None:
    """A number, zero or more; a trailing `.0` is what spreadsheets leave behind."""
    found = _NUMBER.fullmatch(value)
    return int(found.group(1)) if found else None


def section(value: str) -> str | None:
    """hist, find or impr; None for anything else."""
    folded = first_alternative(value).lower()
    return folded if folded in SECTIONS else None


def status_code(value: str, words: Sequence[str]) -> str | None:
    """The first letter of one of these words; None for anything else."""
    word = said_once(first_alternative(value).lower())
    return word[0] if word in words else None


def said_once(value: str) -> str:
    """`x` for `x, x`, as `lunguage-score` writes what a model states twice; parts that differ stay."""
    parts = {part.strip() for part in value.split(",")}
    return parts.pop() if len(parts) == 1 else value


def numbered_sentences(passage: str) -> dict[int, str]:
    """The sentences of a passage such as "(1) One.(2) Another."; only the next number begins one."""
    begins = [(0, 0)]
    for found in _SENTENCE_NUMBER.finditer(passage):
        if int(found.group(1)) == len(begins):
            begins.append(found.span())
    ends = [start for start, _ in begins[2:]] + [len(passage)]
    starts = [end for _, end in begins[1:]]
    return {
        number: passage[start:end].strip()
        for number, (start, end) in enumerate(zip(starts, ends, strict=False), 1)
    }
