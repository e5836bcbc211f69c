"""Codes and columns that several tables share, and how a column is written.

A table is written with `text`, `code`, `number` ... of this module, so that its columns
read as a list. What only one table has stands in that table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lunguage_assets.tables.schema import Column

SECTIONS = ("hist", "find", "impr")
STATUSES = ("dp", "dn", "tp", "tn")
CATEGORIES = ("PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO.")
MEANINGS = {
    "dp": "certainly present",
    "tp": "tentatively present",
    "tn": "tentatively absent",
    "dn": "certainly absent",
    "PF": "seen on the film",
    "CF": "a diagnosis read from it with context",
    "OTH": "devices and procedures",
    "COF": "facts not from the film",
    "NCD": "diagnoses that a film does not show",
    "PATIENT INFO.": "what the patient feels",
}
"""Codes that are not words, in words."""
CURRENCIES = ("current dx", "past dx")
MODES = ("method", "paper")
P_SOURCES = ("definitive", "fitted", "phrase", "alternative", "qualifier", "none")
VIEWS = ("ap", "pa", "lateral", "erect", "supine", "recumbent")
CONFLICT_TYPES = (
    "polarity",
    "certainty_pos",
    "certainty_neg",
    "duplicate_pos",
    "duplicate_neg",
    "repeat_dp",
    "repeat_dn",
    "stated_contradiction",
)
CONFLICT_SOURCES = ("original-original", "original-expansion", "expansion-expansion")
MATCH_REASONS = (
    "matched",
    "not a diagnosis",
    "history section",
    "past diagnosis",
    "negative",
    "resolved",
    "merged",
    "no information on certainty",
    "unknown view",
    "view not covered",
    "no pathway for this refinement",
)
"""Closed list: `matched`, or the reason for no pathway (implicit.md section 3)."""

_PUBLISHED_ATTRIBUTES = (
    "placement",
    "morphology",
    "distribution",
    "measurement",
    "severity",
    "comparison",
    "onset",
    "no change",
    "improved",
    "worsened",
    "past hx",
    "other source",
    "assessment limitations",
)
ATTRIBUTES: dict[str, str] = {
    published.replace(" ", "_"): published for published in _PUBLISHED_ATTRIBUTES
}
"""Internal column -> published column of the attributes, in the order of Lunguage.csv.
"""

A_STUDY = "s[0-9]{8,18}"
A_PATIENT = "p[0-9]{8,18}"
A_STATED_ROW = f"{A_STUDY}:-?[0-9]+"
A_ROW = f"{A_STATED_ROW}(?:/[0-9]+)*"
A_HASH = "[0-9a-f]+"
MASK_SHOWN = "<finding>"
SOME_TEXT = r"\S"
"""Patterns of identifiers and texts.

A stated row is a study and its row number; a generated one appends the edges that lead
to it.
"""


def whole(form: str, *, or_empty: bool = False) -> str:
    """Write the pattern of a whole string of this form."""
    return f"^(?:{form})?$" if or_empty else f"^{form}$"


def choices_told(column: Column) -> str:
    """Word the choices of a column: "One of: dp (certainly present), ..."."""
    choices = [str(choice) for choice in column.choices]
    if len(choices) == 1:
        return f"Always {choices[0] or 'empty'}."
    for position, choice in enumerate(choices):
        if choice in MEANINGS:
            choices[position] = f"{choice} ({MEANINGS[choice]})"
    return f"One of: {', '.join(choices)}." if choices else ""


# How a column is written: its name, what it says to readers, and further fields of
# `Column`.
text = partial(Column, type="string")
restricted = partial(text, restricted=True)
"""Text of a report, which never leaves the store."""
listed = partial(Column, type="strings")
flag = partial(Column, type="bool")
number = partial(Column, type="float")
"""A measure; its least and greatest value may follow, as in `Column`."""
probability = partial(number, minimum=0.0, maximum=1.0)
optional_number = partial(number, nullable=True)
optional_probability = partial(probability, nullable=True)
integer = partial(Column, type="int", minimum=0)
"""A whole number, such as a count or a position."""


def row_id(name: str, description: str, form: str = A_ROW, **facts: Any) -> Column:
    """The finding id of another row."""
    return text(name, description, pattern=whole(form), **facts)


def code(name: str, description: str, choices: tuple[str, ...], **facts: Any) -> Column:
    """One of a closed list of words."""
    return text(name, description, choices=choices, **facts)


def ends(
    name: str, of: str, kind: Callable[..., Column] = probability, **facts: Any
) -> tuple[Column, Column]:
    """The two ends of an interval, `NAME_low` and `NAME_high`.

    Args:
        name: of the value.
        of: what the interval is of, for readers.
        kind: what the ends are.
        facts: further fields of `Column`.
    """
    low = kind(f"{name}_low", f"Lower end of {of}", **facts)
    return low, kind(f"{name}_high", f"Upper end of {of}", **facts)


MODE = code(
    "mode", "Which rules made the row: the method's, or those of mode `paper`", MODES
)
STUDY = text("study_id", "Study, 's' and 8 to 18 digits", pattern=whole(A_STUDY))
FINDING_ID = row_id(
    "finding_id",
    "Identity of the row: study:row number; of a raw report study:0001 and on; "
    "generated: its parent's and /edge",
)
STATED_ID = replace(FINDING_ID, pattern=whole(A_STATED_ROW))
SUBJECT = text(
    "subject_id", "Patient, 'p' and 8 to 18 digits", pattern=whole(A_PATIENT)
)
ANY_SUBJECT = replace(SUBJECT, pattern="")
"""Where the patient need not be known."""
SOURCE_ID = text(
    "source_id", "The study's id as delivered (file name, accession number)"
)
SEQUENCE = integer("sequence", "1-based rank of the study in the patient's time line")
SECTION = code("section", "Report section: history, findings or impression", SECTIONS)
SENTENCE_NUMBER = integer(
    "sent_idx", "Number of the sentence in its section, from 1", minimum=1
)
VIEWS_WRITTEN = text(
    "view_information",
    "Projections and postures, comma-joined in fixed order; empty when unknown",
)
ENT = text("ent", "Finding as the report words it")
CANONICAL_NAME = text("name", "Finding in canonical form")
STATUS = code(
    "status", "Certainty initial + polarity initial: dp, dn, tp, tn", STATUSES
)
SAME_NAME = flag(
    "same_name_in_sentence",
    "Another finding of the same name masks this sentence identically",
)
PATHWAY_ID = text("pathway_id", "Matched pathway, or empty")
PATHWAY = text("pathway", "Matched pathway in the paper's notation, or empty")
POSITION = integer("number", "Position in the list")
RULER = code(
    "ruler", "own: ranked on this corpus; published: the paper's", ("own", "published")
)
RULER_REASON = text(
    "ruler_reason", "Why the published ruler is used; empty for an own one"
)
PAST_OR_CURRENT = code("currency", "Past or current", CURRENCIES)
LOCATION_SET = listed("location_parts", "Location set")
SENTENCE = restricted("sent", "Sentence of the report")
REPORT_BATCH = text(
    "report_batch", "Batch that delivered the released version of the study"
)

_CUE = r"[a-z_]+\.[a-z0-9_]+ \d+-\d+"
CUES = text(
    "cues",
    "Cues that decided status and time: id and begin-end in the report of each, joined "
    "by '; '; empty where none did, and of rows that no rules read",
    pattern=whole(f"(?:{_CUE}(?:; {_CUE})*)?"),
)

ATTRIBUTE_CELLS = tuple(
    text(column, f"Attribute '{published}', comma-separated")
    for column, published in ATTRIBUTES.items()
)
FINDING: tuple[Column, ...] = (
    FINDING_ID,
    SUBJECT,
    STUDY,
    SEQUENCE,
    SECTION,
    integer("sent_idx", "Number of the sentence in its section"),
    restricted("sent", "Sentence of the report; empty in generated rows"),
    integer(
        "ent_idx", "Number of the finding inside its section (repeats across sections)"
    ),
    ENT,
    text(
        "name",
        "Finding in the vocabulary's canonical form, lower case (never the diagnosis)",
    ),
    code("cat", "Lunguage category code, upper case", CATEGORIES),
    STATUS,
    text("location", "Location as the report words it, comma-separated"),
    listed(
        "location_parts",
        "Location set: vocabulary-normalised comma parts, sorted, distinct",
    ),
    *ATTRIBUTE_CELLS,
    listed(
        "evidence",
        "References to rows that support this one: finding ids, or ~bare names",
    ),
    listed(
        "associate",
        "References to rows that this one goes with: finding ids, or ~bare names",
    ),
    code("currency", "Past or current diagnosis (DxTP)", CURRENCIES),
    VIEWS_WRITTEN,
    CUES,
)
"""Columns that every table of findings shares."""


def _replaced(
    columns: Iterable[Column], names: Sequence[str], **facts: Any
) -> Iterator[Column]:
    """Change some of the columns."""
    for column in columns:
        yield replace(column, **facts) if column.name in names else column


STATED_FINDING: tuple[Column, ...] = (
    STATED_ID,
    *_replaced(FINDING[1:], ("ent", "name"), pattern=SOME_TEXT),
)
GENERATED_FINDING: tuple[Column, ...] = (
    replace(FINDING_ID, pattern=whole(f"{A_STATED_ROW}(?:/[0-9]+)+")),
    *_replaced(FINDING[1:], ("sent", "cues"), choices=("",)),
)
"""The same columns where every row is stated in a report, or none is."""

INTERVAL = ("p_low", "prob", "p_high")
"""Columns of `BELIEF` that never fall from left to right."""

BELIEF: tuple[Column, ...] = (
    probability("prob", "Probability that the finding is present"),
    *ends("p", "the interval of prob"),
    probability(
        "support",
        "How surely the row is claimed: p or 1 - p by polarity; generated: its "
        "parent's",
    ),
    code("p_source", "Where prob comes from", (*P_SOURCES, "pathway")),
    flag("prob_is_bound", "prob follows from a pathway: a bound, not an estimate"),
)
"""The probability of a finding and its source."""
