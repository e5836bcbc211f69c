"""Findings over time: within a patient, statements of the same finding are linked over studies (implicit.md
section 9).

A statement is followed by the next study's that speaks of the same: of the same name or diagnosis, at a place
that contains its own or lies in it; a denial must cover its place, by the one rule of `against.py`. The easy
version, names and places compared as words, would take "no pleural effusion" for silence about the left one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.implicit.rows import Row, claim_preference, read_rows
from lunguage_assets.implicit.statements.against import Assertion, Statements, Subject
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.places import anatomy, place_parts, says_resolved
from lunguage_assets.tables.courses import BECAME, COURSE_COUNTS, FINDING_COURSES
from lunguage_assets.tables.implicit import LUNGUAGE_PLUS_PLUS

CATEGORIES = ("PF", "CF")
"""Findings and diagnoses; devices, the patient's history and what is no chest finding have no course here."""
FIFTHS = ("0.0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1.0")
OTHER = "other findings"
_SAID_ORDER = {"present": 0, "tentative": 1, "resolved": 2, "denied": 3}
_AFTER_TENTATIVE = {
    "present": "confirmed",
    "tentative": "carried forward",
    "denied": "refuted",
    "resolved": "resolved",
}


@dataclass(slots=True, eq=False)
class Statement:
    """A row in the time line of its patient; `number` counts the patient's studies from 0."""

    row: Row
    said: str
    assertions: tuple[Assertion, ...]
    diagnosis: str
    place: tuple[str, ...]
    number: int
    arrived: str = "new"
    became: str = "closed"
    next: Statement | None = None
    silent: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it says that the finding is there, or may be."""
        return self.said in ("present", "tentative")

    def follows(self, own: Assertion, earlier: Assertion) -> bool:
        """Whether an assertion of this statement speaks of what an earlier one asserts."""
        if own.present != earlier.present and earlier.present:
            return earlier.contradicts(own)
        covers = anatomy().covers
        if covers(own.place, earlier.place):
            return True
        return self.is_open and bool(covers(earlier.place, own.place))

    def rank_after(self, earlier: Statement) -> tuple[Any, ...]:
        """Sort key of the statements that may follow: the same place and name first, then what is there."""
        same = (self.row.name, self.place) == (earlier.row.name, earlier.place)
        return not same, _SAID_ORDER[self.said], claim_preference(self.row)

    def outcome(self, earlier: Statement) -> str:
        """What an earlier statement became by this one."""
        if earlier.said == "tentative":
            return _AFTER_TENTATIVE[self.said]
        denies = any(not assertion.present for assertion in self.assertions)
        return "resolved" if denies or not self.is_open else "carried forward"


class _TimeLine:
    """The time line of one patient, study by study."""

    def __init__(self, subject: str, listed: LabelList) -> None:
        self.subject = subject
        self.statements: list[Statement] = []
        self._listed, self._reading = listed, Statements(listed)
        self._open: dict[Subject, dict[str, tuple[Statement, Assertion]]] = {}
        self._ended: dict[Subject, set[tuple[str, ...]]] = {}
        self._studies = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Take in the next study."""
        said = [self._statement(row) for row in rows]
        followed = self._followed(said)
        again = {id(after) for _, after in followed}
        for after in said:
            if after.is_open or id(after) in again:
                after.arrived = self._arrived(after, id(after) in again)
                self.statements.append(after)
        for earlier, after in followed:
            earlier.next, earlier.became = after, after.outcome(earlier)
            earlier.silent = after.number - earlier.number - 1
            for assertion in earlier.assertions:
                self._open[assertion.subject].pop(earlier.row.finding_id, None)
                if not after.is_open:
                    self._ended.setdefault(assertion.subject, set()).add(assertion.place)
        for after in said:
            for assertion in after.assertions if after.is_open else ():
                self._open.setdefault(assertion.subject, {})[after.row.finding_id] = (after, assertion)
        self._studies += 1

    def finished(self) -> list[Statement]:
        """All statements; those that nothing follows are silent, or of the last study."""
        for statement in self.statements:
            if statement.is_open and statement.next is None:
                statement.silent = self._studies - statement.number - 1
                statement.became = "silent" if statement.silent else "last study"
        return self.statements

    def _statement(self, row: Row) -> Statement:
        assertions = tuple(self._reading.of(row))
        definite, denials = row.status[0] == "d", tuple(one for one in assertions if not one.present)
        if row.positive and says_resolved(row.improved):
            said = "resolved"
        elif denials:
            said, assertions = ("denied" if definite else "tentative"), denials
        else:
            said = "present" if definite else "tentative"
        place = place_parts(row.location_parts)
        return Statement(row, said, assertions, self._listed.diagnosis(row), place, self._studies)

    def _followed(self, said: Sequence[Statement]) -> list[tuple[Statement, Statement]]:
        """Open statements with the one of this study that follows each."""
        found: dict[str, tuple[Statement, Statement]] = {}
        for after in said:
            for own in after.assertions:
                for identity, (earlier, assertion) in self._open.get(own.subject, {}).items():
                    if not after.follows(own, assertion):
                        continue
                    best = found.get(identity)
                    if best is None or after.rank_after(earlier) < best[1].rank_after(earlier):
                        found[identity] = (earlier, after)
        return list(found.values())

    def _arrived(self, after: Statement, again: bool) -> str:
        if again:
            return "stated before"
        covers = anatomy().covers
        ended = any(
            covers(place, own.place) or covers(own.place, place)
            for own in after.assertions
            for place in self._ended.get(own.subject, ())
        )
        return "came back" if ended else "new" if self._studies else "first study"


def finding_courses(
    parts: Iterable[tuple[pd.DataFrame, pd.DataFrame]], listed: LabelList, ranking_version: str
) -> pd.DataFrame:
    """Link the stated findings of every patient over studies; linear in the rows.

    Args:
        parts: `REPORTS` and `LUNGUAGE_PLUS_PLUS` frames of some studies after those of others, by patient and
            time; a patient may go on in the next part.
        listed: labels, by which different names mean one diagnosis.
        ranking_version: of the rows.

    Returns:
        A `FINDING_COURSES` frame by patient, time and report order. Generated rows, past diagnoses and the
        history are left out; a denial is in it when an earlier statement ends with it.
    """
    done: list[Statement] = []
    patient: _TimeLine | None = None
    for subject, rows in _studies(parts):
        if patient is None or patient.subject != subject:
            done += patient.finished() if patient is not None else ()
            patient = _TimeLine(subject, listed)
        patient.add(rows)
    done += patient.finished() if patient is not None else ()
    return FINDING_COURSES.frame([_stored(one, ranking_version) for one in done])


def _studies(parts: Iterable[tuple[pd.DataFrame, pd.DataFrame]]) -> Iterator[tuple[str, list[Row]]]:
    """Patient and rows of every study, by patient and time; studies of nobody are left out."""
    for reports, frame in parts:
        kept = frame[
            (frame["source"] == "original")
            & (frame["currency"] == "current dx")
            & (frame["section"] != "hist")
            & frame["cat"].isin(CATEGORIES)
        ]
        rows: dict[str, list[Row]] = {}
        for row in read_rows(kept.sort_values("idx", kind="stable"), LUNGUAGE_PLUS_PLUS.names):
            rows.setdefault(row.study_id, []).append(row)
        ordered = reports[reports["subject_id"] != ""].sort_values(["subject_id", "sequence", "study_id"])
        for subject, study in ordered[["subject_id", "study_id"]].itertuples(index=False):
            yield subject, rows.get(study, [])


def _stored(one: Statement, ranking_version: str) -> dict[str, Any]:
    row = one.row
    return {
        **{name: getattr(row, name) for name in ("finding_id", "subject_id", "study_id", "sequence", "name")},
        "place": ", ".join(one.place),
        "diagnosis": one.diagnosis,
        "status": row.status,
        "said": one.said,
        **{name: getattr(row, name) for name in ("prob", "p_low", "p_high")},
        "course": _course(row),
        "arrived": one.arrived,
        "became": one.became,
        "next_id": one.next.row.finding_id if one.next is not None else None,
        "next_study_id": one.next.row.study_id if one.next is not None else None,
        "silent_studies": one.silent,
        "ranking_version": ranking_version,
    }


def _course(row: Row) -> str:
    cells = {"improved": row.improved, "worsened": row.worsened, "unchanged": row.no_change}
    stated = [course for course, cell in cells.items() if cell]
    return stated[0] if len(stated) == 1 else "several" if stated else ""


def course_counts(courses: pd.DataFrame) -> pd.DataFrame:
    """A `COURSE_COUNTS` frame of a `FINDING_COURSES` frame: diagnoses by name, other findings together, and
    tentative statements by fifth of p.
    """
    stated = courses[courses["said"].isin(("present", "tentative"))]
    tentative = stated[stated["said"] == "tentative"]
    fifth = np.minimum((tentative["prob"].to_numpy(dtype=np.float64) * 5).astype(np.int64), 4)
    diagnoses = stated["diagnosis"].replace("", OTHER)
    names = [*sorted(set(diagnoses) - {OTHER}), OTHER]
    parts = (
        *(("diagnosis", name, stated[diagnoses == name]) for name in names),
        *(("p of tentative findings", name, tentative[fifth == i]) for i, name in enumerate(FIFTHS)),
    )
    return COURSE_COUNTS.frame([_counted(by, name, rows) for by, name, rows in parts])


def _counted(by: str, value: str, rows: pd.DataFrame) -> dict[str, Any]:
    became, arrived = Counter(rows["became"].tolist()), Counter(rows["arrived"].tolist())
    return {
        "by": by,
        "value": value,
        "statements": len(rows),
        "new": arrived["new"],
        "came_back": arrived["came back"],
        **{name.replace(" ", "_"): became[name] for name in BECAME if name != "closed"},
    }
