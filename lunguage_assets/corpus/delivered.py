"""Rows and studies of findings as they were delivered, before anything is computed.

`lunguage.py` and `intake.py` make them; `findings.py` makes the table of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from lunguage_assets.corpus.references import Target
from lunguage_assets.tables import ATTRIBUTES

_PAST_HISTORY = tuple(ATTRIBUTES).index("past_hx")


@dataclass(slots=True)
class DeliveredRow:
    """A row that can be used; `attributes` are in the order of `tables.ATTRIBUTES`.

    `evidence` and `associate` are cells whose references are still to be resolved,
    unless `references` has the finding ids of both. `cues` are those of a raw
    report's row, as the tables have them.
    """

    line: int
    row: int
    finding_id: str
    section: str
    sent_idx: int
    sent: str
    ent_idx: int
    ent: str
    normed_ent: str
    cat: str
    status: str
    location: str
    evidence: str
    associate: str
    attributes: tuple[str, ...]
    references: tuple[list[str], list[str]] | None = None
    cues: str = ""

    @property
    def is_past(self) -> bool:
        """Whether the row tells of the past: a history section, or a past history."""
        return self.section == "hist" or self.attributes[_PAST_HISTORY] != ""

    @property
    def is_tentative(self) -> bool:
        """Whether the report doubts the finding (status `tp` or `tn`)."""
        return self.status[0] == "t"


class SectionPosition(NamedTuple):
    """How far the rows of one section of a study have been counted.

    `sentences` is the number of the last sentence, from 0, and -1 before the first;
    `findings` is the number of rows so far.
    """

    sentences: int = -1
    last_sentence: str = ""
    findings: int = 0


@dataclass(slots=True)
class DeliveredStudy:
    """A study's rows, and its rejected rows as counts and as targets of references.

    `views` are with their source; `positions` are by section; `noted` is what is
    noted once per study.
    """

    study_id: str
    subject_id: str = ""
    source_id: str = ""
    first_line: int = 0
    sequence: int | None = None
    report: str = ""
    views: tuple[str, str] = ("", "")
    taken_at: str = ""
    rows: list[DeliveredRow] = field(default_factory=list)
    refused: list[Target] = field(default_factory=list)
    rows_delivered: int = 0
    positions: dict[str, SectionPosition] = field(default_factory=dict)
    noted: set[tuple[str, str]] = field(default_factory=set)
