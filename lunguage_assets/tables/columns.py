"""Codes and columns that several tables share."""

from __future__ import annotations

from dataclasses import replace

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
P_SOURCES = ("definitive", "fitted", "phrase", "alternative", "none")
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
    "device",
    "unknown view",
    "view not covered",
    "no pathway for this refinement",
)
"""Closed list: `matched`, or the reason for no pathway (implicit.md section 3)."""

ATTRIBUTES: dict[str, str] = {
    "placement": "placement",
    "morphology": "morphology",
    "distribution": "distribution",
    "measurement": "measurement",
    "severity": "severity",
    "comparison": "comparison",
    "onset": "onset",
    "no_change": "no change",
    "improved": "improved",
    "worsened": "worsened",
    "past_hx": "past hx",
    "other_source": "other source",
    "assessment_limitations": "assessment limitations",
}
"""Internal column -> published column of the 13 attributes, in the order of Lunguage.csv."""


A_STUDY = "s[0-9]{8,18}"
A_PATIENT = "p[0-9]{8,18}"
A_STATED_ROW = f"{A_STUDY}:-?[0-9]+"
A_ROW = f"{A_STATED_ROW}(?:/[0-9]+)*"
A_HASH = "[0-9a-f]+"
MASK_SHOWN = "<finding>"
"""Patterns of identifiers.

A stated row is a study and its row number; a generated one appends the edges that lead to it.
"""


def whole(form: str, *, or_empty: bool = False) -> str:
    """The pattern of a whole string of this form."""
    return f"^(?:{form})?$" if or_empty else f"^{form}$"


def choices_told(column: Column) -> str:
    """`One of: dp (certainly present), ...`; empty for a column without choices."""
    told = [
        f"{choice} ({MEANINGS[choice]})" if choice in MEANINGS else str(choice) for choice in column.choices
    ]
    return (
        "One of: " + ", ".join(told) + "."
        if len(told) > 1
        else f"Always {told[0] or 'empty'}."
        if told
        else ""
    )


def text(
    name: str, description: str, *, restricted: bool = False, nullable: bool = False, pattern: str = ""
) -> Column:
    return Column(name, "string", description, nullable=nullable, restricted=restricted, pattern=pattern)


def probability(name: str, description: str, *, nullable: bool = False) -> Column:
    return Column(name, "float", description, minimum=0.0, maximum=1.0, nullable=nullable)


MODE = Column(
    "mode", "string", "Which rules made the row: the method's, or those of mode `paper`", choices=MODES
)
STUDY = text("study_id", "Study, 's' and 8 to 18 digits", pattern=whole(A_STUDY))
FINDING_ID = text(
    "finding_id",
    "Stable identity of the row: study:row number; a generated row appends /edge to its parent's",
    pattern=whole(A_ROW),
)
SOME_TEXT = r"\S"
STATED_ID = replace(FINDING_ID, pattern=whole(A_STATED_ROW))
GENERATED_ID = replace(FINDING_ID, pattern=whole(f"{A_STATED_ROW}(?:/[0-9]+)+"))

FINDING: tuple[Column, ...] = (
    FINDING_ID,
    text("subject_id", "Patient, 'p' and 8 to 18 digits", pattern=whole(A_PATIENT)),
    STUDY,
    Column("sequence", "int", "1-based rank of the study in the patient's time line", minimum=0),
    Column("section", "string", "Report section: history, findings or impression", choices=SECTIONS),
    Column("sent_idx", "int", "Number of the sentence in its section", minimum=0),
    text("sent", "Sentence of the report; empty in generated rows", restricted=True),
    Column("ent_idx", "int", "Number of the finding inside its section (repeats across sections)", minimum=0),
    text("ent", "Finding as the report words it"),
    text("name", "Finding in the vocabulary's canonical form, lower case (never the diagnosis)"),
    Column("cat", "string", "Lunguage category code, upper case", choices=CATEGORIES),
    Column("status", "string", "Certainty initial + polarity initial: dp, dn, tp, tn", choices=STATUSES),
    text("location", "Location as the report words it, comma-separated"),
    Column("location_parts", "strings", "Location set: vocabulary-normalised comma parts, sorted, distinct"),
    *(text(column, f"Attribute '{published}', comma-separated") for column, published in ATTRIBUTES.items()),
    Column("evidence", "strings", "References to rows that support this one: finding ids, or ~bare names"),
    Column("associate", "strings", "References to rows that this one goes with: finding ids, or ~bare names"),
    Column("currency", "string", "Past or current diagnosis (DxTP)", choices=CURRENCIES),
    text(
        "view_information",
        "Projections and postures of the study, comma-joined in fixed order; empty when unknown",
    ),
)
"""Columns that every table of findings shares."""

FINDING_COLUMNS: tuple[str, ...] = tuple(column.name for column in FINDING)

STATED_FINDING: tuple[Column, ...] = (
    STATED_ID,
    *(replace(one, pattern=SOME_TEXT) if one.name in ("ent", "name") else one for one in FINDING[1:]),
)
GENERATED_FINDING: tuple[Column, ...] = (
    GENERATED_ID,
    *(replace(one, choices=("",)) if one.name == "sent" else one for one in FINDING[1:]),
)
"""The same columns where every row is stated in a report, or none is."""

INTERVAL = ("p_low", "prob", "p_high")
"""Columns of `BELIEF` that never fall from left to right."""

BELIEF: tuple[Column, ...] = (
    probability("prob", "Probability that the finding is present"),
    probability("p_low", "Lower end of the interval of prob"),
    probability("p_high", "Upper end of the interval of prob"),
    probability(
        "support",
        "How strongly the row is claimed: p for positive, 1 "
        "- p for negative, the parent's for a generated row",
    ),
    Column("p_source", "string", "Where prob comes from", choices=(*P_SOURCES, "pathway")),
    Column("prob_is_bound", "bool", "prob follows from a pathway: a bound, not an estimate"),
)
"""The probability of a finding and its source."""
