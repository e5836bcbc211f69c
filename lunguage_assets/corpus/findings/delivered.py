"""Rows of findings as they were delivered or structured, before names, places and references are computed."""

from __future__ import annotations

from dataclasses import dataclass, field

from lunguage_assets.corpus.findings.references import Target


@dataclass(slots=True)
class DeliveredRow:
    """A row that can be used; `attributes` are in the order of `tables.ATTRIBUTES`.

    `evidence` and `associate` are cells whose references are still to be resolved, unless `references` has
    the finding ids of both.
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
    references: tuple[tuple[str, ...], tuple[str, ...]] | None = None


@dataclass(slots=True)
class DeliveredStudy:
    """The findings file's rows of one study.

    Rejected rows are included as counts and as targets of references.
    """

    study_id: str
    subject_id: str = ""
    first_line: int = 0
    sequence: int | None = None
    report: str = ""
    written_report: str = ""
    """The report's cell as delivered, to recognise its repetitions cheaply."""
    rows: list[DeliveredRow] = field(default_factory=list)
    refused: list[Target] = field(default_factory=list)
    rows_delivered: int = 0
    places: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    """Per section: sentences so far, the last one, findings so far."""
    noted: set[str] = field(default_factory=set)
    """Reasons that are noted once per study."""
