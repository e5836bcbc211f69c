"""Collects what the rows of studies claim about labels.

Each row is read as the labels that it means (`resources/labels.yaml`); what follows
from other labels is in `no_finding.py`, and which claim decides in `evidence.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pandas as pd

from lunguage_assets.implicit.policy import POLICIES
from lunguage_assets.implicit.rows import Content, content_of, tokens
from lunguage_assets.implicit.statements.contradictions import qualifying
from lunguage_assets.implicit.statements.label_file import LabelList, Meaning
from lunguage_assets.implicit.statements.locations import (
    anatomy,
    says_resolved,
)
from lunguage_assets.labels.claims import Claim, LabelRow, claim_of
from lunguage_assets.labels.evidence import EvidenceByLabel, LabelEvidence
from lunguage_assets.tables.values import values_of

LABEL_COLUMNS = (*LabelRow._fields, "evidence")
"""Columns of LUNGUAGE_PLUS_PLUS that decide labels."""
LOG_COLUMNS = ("study_id", "finding_id", "name", "location_parts", "event", "source")
"""Columns of RESOLUTION_LOG that dispute labels."""

_NO_CAUSES: frozenset[str] = frozenset()
_BORDERLINE = frozenset({"upper", "top", "borderline"})

_Subject = tuple[str, str, tuple[str, ...]]
"""Study, canonical name and anatomical parts of a row."""


class RowClaims:
    """Collects claims of rows by study and label, before labels deny each other."""

    def __init__(
        self, rows: pd.DataFrame, diagnoses: Mapping[str, str], label_list: LabelList
    ) -> None:
        """Read the rows.

        Args:
            rows: LUNGUAGE_PLUS_PLUS of whole studies.
            diagnoses: diagnosis by finding id; without those of devices.
            label_list: what a finding means.
        """
        self.evidence: EvidenceByLabel = defaultdict(LabelEvidence)
        self._diagnoses = diagnoses
        self._label_list = label_list
        self._causes = _causes(rows)
        self._normal_parts: defaultdict[tuple[str, int], dict[int, Claim]]
        self._normal_parts = defaultdict(dict)
        for row in _label_rows(rows):
            self._note_normal_part(row)
            self._read(row)
        self._conclude()

    def _read(self, row: LabelRow) -> None:
        """Note the claims of a row, at most one for each label."""
        diagnosis = self._diagnoses.get(row.finding_id, "")
        # A calcified nodule, or an opacity that is a nipple shadow, is no lung lesion.
        meanings = self._label_list.admitted_meanings(
            Content._make(content_of(row)),
            diagnosis,
            cells=(row.name, row.ent, row.measurement, *row.refining),
            causes=self._causes.get(row.finding_id, _NO_CAUSES),
            words_before=row.sent.lower().partition(row.ent.lower())[0],
        )
        labels_read: set[int] = set()
        for meaning, as_it_stands in meanings:
            if meaning.label not in labels_read:
                labels_read.add(meaning.label)
                self._note(row, meaning, as_it_stands)

    def _note(self, row: LabelRow, meaning: Meaning, as_it_stands: bool) -> None:
        """Note what a row says of a label.

        Args:
            row: of the result.
            meaning: the label, and how the row is read.
            as_it_stands: whether the row's status is that of the label.
        """
        if meaning.entry.reads == "against" and not row.is_current:
            return
        evidence = self.evidence[row.study_id, meaning.label]
        is_resolved = says_resolved(row.improved)
        if row.is_positive and is_resolved:
            # "The effusion has resolved" denies one now. What is resolved is no kind of
            # a label, and does not speak against one.
            if meaning.entry.reads in ("kind", "against"):
                return
            as_it_stands = as_it_stands != (meaning.entry.reads == "presence")
        if not row.is_current:
            # "History of pneumonia": the label is past, and claimed by nobody now.
            evidence.is_past |= row.is_positive == as_it_stands
            return
        claim = self._claim(row, meaning, as_it_stands, is_resolved)
        if meaning.entry.reads != "against":
            evidence.add(claim)
        elif claim.is_stated:
            evidence.against[row.finding_id] = claim

    def _claim(
        self, row: LabelRow, meaning: Meaning, as_it_stands: bool, is_resolved: bool
    ) -> Claim:
        """Make the claim of a row, with what restricts it.

        Args:
            row: of the result.
            meaning: the label, and how the row is read.
            as_it_stands: whether the row's status is that of the label.
            is_resolved: whether the report calls it gone.
        """
        location = meaning.entry.location_of(row.location_parts)
        claim = claim_of(row, as_it_stands=as_it_stands, location=location)
        if not row.is_positive and not is_resolved:
            cells = (row.measurement, *row.refining)
            qualified = qualifying(row.name, row.ent, row.sent, cells)
            if qualified is not None:
                claim.denies_only_more = True
                qualifier = qualified[0]
                # The paper denies the whole with the certainty of the kind.
                reads_kind = POLICIES[row.mode].reads_restrictions
                if qualifier.certain and reads_kind:
                    claim.leave_open(qualifier)
        # "Heart size is at the upper limit of normal" denies no mild cardiomegaly.
        is_borderline = not _BORDERLINE.isdisjoint(tokens(row.measurement))
        if meaning.entry.reads in ("size", "whole") and is_borderline:
            claim.denies_only_more = True
        # A family has members: "no hamartoma" is no denial of a nodule.
        is_family = not self._label_list.is_diagnosis(meaning.label)
        if meaning.entry.reads == "presence" and is_family:
            claim.member = row.name
        return claim

    def _note_normal_part(self, row: LabelRow) -> None:
        """Note a part of the body that the report calls normal.

        "The heart and lungs are normal" concludes "no finding", although it says so of
        no label.
        """
        if row.name not in self._label_list.concluding:
            return
        if row.is_positive or not row.is_current:
            return
        if row.no_change and not (row.measurement or row.morphology):
            # "The heart is unchanged" calls it neither normal nor abnormal.
            return
        if not anatomy().covers(row.location_parts, ()):
            # A normal left lung says nothing of the right one.
            return
        label, part = self._label_list.concluding[row.name]
        normal_parts = self._normal_parts[row.study_id, label]
        normal_parts.setdefault(part, claim_of(row, as_it_stands=False))

    def _conclude(self) -> None:
        """Claim the labels of which every part is called normal."""
        for (study, label), claims_by_part in self._normal_parts.items():
            parts = self._label_list.labels[label].concluded_from
            if len(claims_by_part) == len(parts):
                # A conclusion is no surer than its weakest part.
                claims = claims_by_part.values()
                weakest = min(claims, key=lambda claim: claim.strength)
                self.evidence[study, label].add(weakest)

    def mark_disputes(self, rows: pd.DataFrame, log: pd.DataFrame) -> None:
        """Mark labels of which the report says both, so that rows were removed.

        A stated row loses to a stated one only (rule 1 of section 5); the claim that
        won is contested.

        Args:
            rows: LUNGUAGE_PLUS_PLUS of whole studies.
            log: RESOLUTION_LOG of these studies.
        """
        is_removed = (log["event"] == "removed") & (log["source"] == "original")
        removed = log[is_removed]
        removed_subjects: set[_Subject] = set()
        for finding, study, name, parts in _subjects(removed):
            removed_subjects.add((study, name, anatomy().location(parts).parts))
            # The report said this, too: of the label it says both.
            diagnosis = self._diagnoses.get(finding, "")
            for meaning in self._label_list.meanings(name, diagnosis, parts):
                if meaning.entry.reads != "against" and not meaning.entry.described:
                    self.evidence[study, meaning.label].is_disputed = True
        winners = _stated_findings_of(removed_subjects, rows)
        if not winners:
            return
        for evidence in self.evidence.values():
            for claim in evidence.present:
                claim.is_contested = claim.finding_id in winners


def _label_rows(rows: pd.DataFrame) -> Iterator[LabelRow]:
    return map(LabelRow._make, values_of(rows, *LabelRow._fields))


def _causes(rows: pd.DataFrame) -> dict[str, set[str]]:
    """Name what the report explains each finding by, by the finding's id."""
    # What is denied explains nothing.
    is_positive = rows["status"].str.endswith("p")
    stated = rows[(rows["source"] == "original") & is_positive]
    causes: defaultdict[str, set[str]] = defaultdict(set)
    for name, signs in values_of(stated, "name", "evidence"):
        for sign in signs:
            causes[sign].add(name)
    return causes


def _subjects(
    rows: pd.DataFrame,
) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield finding id, study, canonical name and location parts of rows."""
    return values_of(rows, "finding_id", "study_id", "name", "location_parts")


def _stated_findings_of(subjects: set[_Subject], rows: pd.DataFrame) -> set[str]:
    """Find the stated rows that are of some subjects, by their ids."""
    studies = {study for study, _, _ in subjects}
    is_of_study = rows["study_id"].isin(studies)
    stated = rows[is_of_study & (rows["source"] == "original")]
    return {
        finding
        for finding, study, name, parts in _subjects(stated)
        if (study, name, anatomy().location(parts).parts) in subjects
    }
