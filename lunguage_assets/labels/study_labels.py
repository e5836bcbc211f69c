"""Labels of a study: stated, implied, denied, or nothing, by the rules of implicit.md section 6.

A label asks whether something is present anywhere in the study, so the rules of conflict resolution (section
5) are applied without the place, as far as they can be: rows make claims, and one of them decides.

In the shape of `mimic-cxr-2.0.0-chexpert.csv` (reports.md, "Which labels do I train on?") a cell is what the
report itself says: 1, 0 (also where only a kind is denied: "no large effusion"), -1 where it hedges in either
direction, blank where it says nothing of the present. What only a pathway implies is blank. "No Finding"
follows the former file: it is concluded from the other labels, not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.policy import POLICIES
from lunguage_assets.implicit.rows import column_values, natural, rounded
from lunguage_assets.implicit.statements.contradictions import (
    QUALIFIER,
    belief_of,
    is_course_alone,
    qualifying,
)
from lunguage_assets.implicit.statements.label_file import (
    REFINING,
    LabelList,
    Meaning,
    is_borderline,
)
from lunguage_assets.implicit.statements.locations import (
    Qualifier,
    anatomical_parts,
    anatomy,
    says_resolved,
)
from lunguage_assets.tables.released import (
    CHEXPERT,
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    CLAIMED,
    LABELS,
    NO_FINDING,
)
from lunguage_assets.tables.schema import Table

_PREFERRED = {"dp": 0, "tp": 1, "tn": 2, "dn": 3}
_INVERTED = {"dp": "dn", "tp": "tn", "tn": "tp", "dn": "dp"}
_COLUMNS = (
    "study_id", "finding_id", "name", "ent", "sent", "location", "location_parts", "measurement", "improved",
    "no_change", "status", "currency", "section", "mode", *REFINING,
)  # fmt: skip
_BELIEF = ("prob", "p_low", "p_high", "support", "p_source", "prob_is_bound", "source")
READ = (*_COLUMNS, *_BELIEF, "evidence")
"""Columns of LUNGUAGE_PLUS_PLUS that decide labels."""
_DEVICES = "Support Devices"
_PLACE = {name: place for place, name in enumerate(CHEXPERT)}
_FINDINGS = [
    place for name, place in _PLACE.items() if name not in (NO_FINDING, _DEVICES)
]


@dataclass(slots=True)
class Claim:
    """Claim of one row about one label; `order` is the place of the row's own status in rule 3."""

    finding_id: str
    status: str
    stated: bool
    support: float
    order: int
    p: float
    p_low: float
    p_high: float
    p_source: str
    is_bound: bool
    place: tuple[str, ...] = ()
    refinements: frozenset[str] = frozenset()
    denies_only_more: bool = False
    """"No large effusion", "heart size at the upper limit of normal": denies nothing stated elsewhere."""
    is_contested: bool = False
    """Whether the report states the opposite of the same place, in a row that resolution removed."""
    member: str = ""
    """Which finding it is of a label that is a family of them: no hamartoma is no denial of a nodule."""

    @property
    def present(self) -> bool:
        return self.status[1] == "p"

    @property
    def strength(self) -> tuple[float, int]:
        """What the higher of wins, where presence and denial of what was generated contradict each other."""
        return self.support, -self.order

    def overrules(self, claim: Claim) -> bool:
        """Whether this denial leaves nothing of a claim of presence, or the report says both."""
        if not self._reaches(claim):
            return False
        return self.stated or (not claim.stated and self.strength > claim.strength)

    def disputes(self, claim: Claim) -> bool:
        """Whether the report says both."""
        return self.stated and claim.stated and self._reaches(claim)

    def _reaches(self, claim: Claim) -> bool:
        """Whether this denial is about what the claim says, at its place."""
        if self.denies_only_more or not self.refinements <= claim.refinements:
            return False
        if self.member and claim.member and self.member != claim.member:
            return False
        return anatomy().covers(self.place, claim.place)


@dataclass(slots=True)
class LabelEvidence:
    """All claims about one label of one study, and whether it was named as past."""

    present: list[Claim] = field(default_factory=list)
    denied: list[Claim] = field(default_factory=list)
    against: dict[str, Claim] = field(default_factory=dict)
    """What is present and speaks against a label such as "no finding", by row."""
    past: bool = False
    both: bool = False
    """Whether a stated row was removed because the report states the opposite too."""

    def add(self, claim: Claim) -> None:
        (self.present if claim.present else self.denied).append(claim)

    def decide(self) -> tuple[Claim | None, bool]:
        """The claim that speaks for the label, and whether the report says both, so that none does."""
        claim = _decided(self.present, self.denied)
        both = self._contradictory(claim)
        return None if both else claim, both

    def _contradictory(self, claim: Claim | None) -> bool:
        if (
            claim is not None
            and claim.present
            and claim.stated
            and not claim.is_contested
        ):
            return False
        if self.both or not (self.present and self.denied):
            return self.both
        return any(
            denial.disputes(presence)
            for denial in self.denied
            for presence in self.present
        )

    def stated(self) -> Claim | None:
        """The claim that speaks for the label in the report's own words; None when they say nothing now."""
        present, denied = (
            [one for one in claims if one.stated]
            for claims in (self.present, self.denied)
        )
        claim = _decided(present, denied)
        return None if self._contradictory(claim) else claim


def _decided(present: Sequence[Claim], denied: Sequence[Claim]) -> Claim | None:
    """The first claim that no denial overrules: by support, then rule 3's order, the report first, the id."""
    standing = [
        claim
        for claim in present
        if not any(denial.overrules(claim) for denial in denied)
    ]
    return min(
        standing or denied,
        key=lambda one: (
            -one.support,
            one.order,
            not one.stated,
            *natural(one.finding_id),
        ),
        default=None,
    )


EvidenceOfLabels = dict[tuple[str, int], LabelEvidence]
"""By study and number of the label; what is not in it is unmentioned."""


def study_labels(
    rows: pd.DataFrame,
    matches: pd.DataFrame,
    reports: pd.DataFrame,
    listed: LabelList,
    log: pd.DataFrame,
) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS, PATHWAY_MATCHES, REPORTS and RESOLUTION_LOG of the same studies to LABELS, one row
    per study and label, sorted; studies without any row have all their labels unmentioned.
    """
    return label_frame(label_evidence(rows, matches, listed, log), reports, listed)


def label_evidence(
    rows: pd.DataFrame, matches: pd.DataFrame, listed: LabelList, log: pd.DataFrame
) -> EvidenceOfLabels:
    """What LUNGUAGE_PLUS_PLUS, PATHWAY_MATCHES and RESOLUTION_LOG of whole studies say of each label."""
    of_device = matches["reason"] == "device"  # a device has no diagnosis
    diagnosis = dict(
        zip(
            matches["finding_id"],
            matches["diagnosis"].where(~of_device, ""),
            strict=True,
        )
    )
    said = _said(rows, diagnosis, listed)
    _note_both(said, rows, log, diagnosis, listed)
    for number, label in enumerate(listed.labels):
        others = [listed.names.index(name) for name in label.denied_by]
        if others:
            _weigh_others(said, number, others)
    return said


def _note_both(
    said: EvidenceOfLabels,
    rows: pd.DataFrame,
    log: pd.DataFrame,
    diagnosis: Mapping[str, str],
    listed: LabelList,
) -> None:
    """Mark the labels of which the report says both, so that rows were removed, and the claims that won: a
    stated row loses to a stated one only (rule 1).
    """
    gone = log[(log["event"] == "removed") & (log["source"] == "original")]
    names = ("study_id", "finding_id", "name", "location_parts")
    lost: set[tuple[str, str, tuple[str, ...]]] = set()
    for study, own, name, parts in zip(
        *(column_values(gone, one) for one in names), strict=True
    ):
        lost.add((study, name, anatomical_parts(parts)))
        for meaning in listed.meanings(name, name, diagnosis.get(own, "")):
            whole = meaning.reads != "against" and not meaning.entry.described
            if whole and meaning.holds_at(", ".join(parts)):
                said.setdefault((study, meaning.label), LabelEvidence()).both = True
    standing = rows[
        rows["study_id"].isin({study for study, _, _ in lost})
        & (rows["source"] == "original")
    ]
    won = {
        own
        for study, own, name, parts in zip(
            *(column_values(standing, one) for one in names), strict=True
        )
        if (study, name, anatomical_parts(parts)) in lost
    }
    for about in said.values() if won else ():
        for claim in about.present:
            claim.is_contested = claim.finding_id in won


def _said(
    rows: pd.DataFrame, diagnosis: Mapping[str, str], listed: LabelList
) -> EvidenceOfLabels:
    """Claims of the rows themselves, before labels deny each other."""
    known: dict[tuple[str, str, str], tuple[Meaning, ...]] = {}
    said: EvidenceOfLabels = {}
    concluded: dict[tuple[str, int], dict[int, Claim]] = {}
    causes = _causes(rows)
    read, beliefs = (
        zip(*(column_values(rows, name) for name in names), strict=True)
        for names in (_COLUMNS, _BELIEF)
    )
    for values, belief in zip(read, beliefs, strict=True):
        (
            study,
            own,
            name,
            ent,
            sent,
            location,
            parts,
            measurement,
            improved,
            unchanged,
            *others,
        ) = values
        (status, currency, section, mode), refining = others[:4], tuple(others[4:])
        resolved = says_resolved(improved)
        wording = name, ent, diagnosis.get(own, "")
        meanings = known.get(wording)
        if meanings is None:
            meanings = known[wording] = listed.meanings(*wording)
        is_course = is_course_alone(status, unchanged, measurement, refining[0])
        is_normal = name in listed.concluding and status[1] == "n" and not is_course
        if section == "impr" and is_normal and currency == "current dx":
            label, part = listed.concluding[name]
            if anatomy().covers(parts, ()):
                concluded.setdefault((study, label), {}).setdefault(
                    part, _claim(own, status, False, (), belief)
                )
        taken: set[int] = set()
        where, words = (
            ", ".join((location, *parts)),
            (name, ent, measurement, *refining),
        )
        for meaning in listed.held(
            meanings, where, words, causes.get(own, frozenset())
        ):
            reading = listed.read_as(meaning, status, name, measurement, refining[0])
            if meaning.label in taken or reading is None:
                continue
            taken.add(meaning.label)
            if meaning.reads == "against" and currency != "current dx":
                continue
            about = said.setdefault((study, meaning.label), LabelEvidence())
            if status[1] == "p" and resolved:
                if meaning.reads in ("kind", "against"):
                    continue
                reading = reading != (meaning.reads == "presence")
            if currency != "current dx":
                about.past |= (status[1] == "p") == reading
            else:
                claim = _claim(
                    own, status, reading, () if meaning.placeless else parts, belief
                )
                claim.refinements = listed.refinements(
                    wording[2], name, ent, (location, *parts), refining
                )
                qualifier = None
                if status[1] == "n" and not resolved:
                    qualifier = qualifying(name, ent, sent, (measurement, *refining))
                reads_kind = POLICIES[mode].reads_restrictions
                if qualifier is not None and qualifier[0].certain and reads_kind:
                    _leave_open(claim, qualifier[0])
                claim.denies_only_more = qualifier is not None or (
                    meaning.reads in ("size", "whole") and is_borderline(measurement)
                )
                if meaning.reads == "presence" and not listed.is_diagnosis(
                    meaning.label
                ):
                    claim.member = name
                if meaning.reads != "against":
                    about.add(claim)
                elif claim.stated:
                    about.against[own] = claim
    for (study, label), parts_of in concluded.items():
        if len(parts_of) == len(listed.labels[label].concluded_from):
            said.setdefault((study, label), LabelEvidence()).add(
                min(parts_of.values(), key=lambda one: one.strength)
            )
    return said


def _leave_open(denial: Claim, qualifier: Qualifier) -> None:
    """Give the certain denial of a kind, as the denial of the whole, the p of its qualifier."""
    if denial.status != "dn":
        return
    denial.status = "tn"
    denial.order = _PREFERRED["tn"]
    denial.p_source = QUALIFIER
    denial.p, denial.p_low, denial.p_high = belief_of(qualifier.name)
    denial.support = rounded(1.0 - denial.p)


def _causes(rows: pd.DataFrame) -> dict[str, set[str]]:
    """Names of what the report explains a finding by, by its id."""
    causes: dict[str, set[str]] = {}
    stated = rows[(rows["source"] == "original") & rows["status"].str.endswith("p")]
    for name, signs in zip(
        column_values(stated, "name"), column_values(stated, "evidence"), strict=True
    ):
        for sign in signs:
            causes.setdefault(sign, set()).add(name)
    return causes


def _claim(
    own: str,
    status: str,
    as_it_stands: bool,
    place: tuple[str, ...],
    belief: tuple[Any, ...],
) -> Claim:
    p, low, high, support, p_source, is_bound, source = belief
    order = _PREFERRED[status]
    if (
        source == "expansion" and status[1] == "n"
    ):  # also in mode `paper`, which stores the diagnosis' p here
        low, high = 0.0, rounded(1.0 - support)
        p = high / 2.0
    if not as_it_stands:
        status = _INVERTED[status]
        p, low, high = rounded(1.0 - p), rounded(1.0 - high), rounded(1.0 - low)
    return Claim(
        own,
        status,
        source == "original",
        support,
        order,
        p,
        low,
        high,
        p_source,
        is_bound,
        place,
    )


def _weigh_others(said: EvidenceOfLabels, number: int, others: Sequence[int]) -> None:
    """Weigh a label such as "no finding" against everything that is found (implicit.md section 6)."""
    wanted = frozenset(others)
    against: dict[str, dict[str, Claim]] = {}
    disputed: set[str] = set()
    for (study, label), about in said.items():
        if label == number:
            against.setdefault(study, {}).update(about.against)
        elif label in wanted:
            claim = about.stated()
            if claim is not None and claim.p > 0.0:
                against.setdefault(study, {})[claim.finding_id] = claim
            elif about.decide()[1]:
                disputed.add(study)
    for study in against.keys() | disputed:
        about = said.setdefault((study, number), LabelEvidence())
        own, others_of = about.decide()[0], list(against.get(study, {}).values())
        if any(claim.present for claim in others_of) or (own is not None and others_of):
            own = _weighed(own, others_of)
            about.present, about.denied, about.both = [], [], False
            about.add(own)
        if own is not None and own.p > 0.0 and study in disputed:
            about.present, about.denied, about.both = [], [], True


def _weighed(own: Claim | None, others: Sequence[Claim]) -> Claim:
    """A label with what speaks against it; `own` is what the report says of it in so many words.

    What is present counts as independent, so p is the product of 1 - p; it is no more than 1 - p of what is
    denied with doubt. The interval holds whatever depends on what.
    """
    strongest = max(others, key=lambda claim: (claim.p, -claim.order, claim.finding_id))
    present = [claim for claim in others if claim.present]
    p = (1.0 if own is None else own.p) * prod(1.0 - claim.p for claim in present)
    p = min(p, 1.0 - strongest.p)
    low = max(
        0.0, (0.0 if own is None else own.p_low) - sum(claim.p_high for claim in others)
    )
    high = min(
        1.0 if own is None else own.p_high, *(1.0 - claim.p_low for claim in others)
    )
    stated = own is not None and own.present and p >= 0.5
    sure = any(claim.status == "dp" for claim in others) or (
        own is not None and own.status == "dn"
    )
    status = "dn" if sure else "tp" if stated else "tn"
    decided = own if own is not None and stated else strongest
    support, order = rounded(p if stated else 1.0 - p), _PREFERRED[status]
    p_source = (
        "none"
        if any(claim.p_source == "none" for claim in present)
        else strongest.p_source
    )
    interval = rounded(p), rounded(low), rounded(high)
    return Claim(
        decided.finding_id,
        status,
        True,
        support,
        order,
        *interval,
        p_source,
        is_bound=True,
    )


def label_frame(
    said: EvidenceOfLabels, reports: pd.DataFrame, listed: LabelList
) -> pd.DataFrame:
    """Turn claims (`label_evidence`) and the REPORTS of the studies into LABELS."""
    names = ("study_id", "subject_id", "source_id")
    ids = sorted(zip(*(reports[name].tolist() for name in names), strict=True))
    return LABELS.frame(
        {
            **dict(zip(names, own, strict=True)),
            "label": label.name,
            "chexpert": label.chexpert,
        }
        | (_told(said[own[0], number]) if (own[0], number) in said else _NOTHING)
        for own in ids
        for number, label in enumerate(listed.labels)
    )


_NOTHING = {
    **dict.fromkeys(CLAIMED),
    **{
        "source": "unmentioned",
        "p_is_bound": False,
        "denied_at_place": False,
        "past": False,
    },
}


def _told(about: LabelEvidence) -> dict[str, Any]:
    """What LABELS says of a label."""
    claim, both = about.decide()
    if claim is None:
        return _NOTHING | {
            "source": "contradictory" if both else "unmentioned",
            "past": about.past,
        }
    return {
        **{name: getattr(claim, name) for name in CLAIMED},
        "source": "denied"
        if not claim.present
        else "stated"
        if claim.stated
        else "implied",
        "p_is_bound": claim.is_bound,
        "denied_at_place": not claim.present
        and all(denial.place for denial in about.denied),
        "past": about.past,
    }


def chexpert_labels(
    said: EvidenceOfLabels, reports: pd.DataFrame, listed: LabelList
) -> pd.DataFrame:
    """Turn claims (`label_evidence`) and the REPORTS of the studies into CHEXPERT_LABELS, sorted by study."""
    studies = sorted(reports["study_id"].tolist())
    row = {study: number for number, study in enumerate(studies)}
    cells = np.full((len(studies), len(CHEXPERT)), np.nan)
    mentioned, excluded = np.zeros((2, len(studies)), dtype=bool)
    for (study, number), about in said.items():
        name = listed.labels[number].chexpert
        if name == NO_FINDING:
            decided, both = about.decide()
            excluded[row[study]] |= both or (
                decided is not None and decided.status != "dp"
            )
        elif name and (claim := about.stated()) is not None:
            hedged = claim.status[0] == "t" and claim.p_source != QUALIFIER
            cells[row[study], _PLACE[name]] = -1.0 if hedged else float(claim.present)
        mentioned[row[study]] |= bool(about.present or about.denied)
    finding = np.isin(cells[:, _FINDINGS], (1.0, -1.0)).any(axis=1)
    cells[mentioned & ~excluded & ~finding, _PLACE[NO_FINDING]] = 1.0
    return _frame(CHEXPERT_LABELS, studies, reports, cells)


def chexpert_probabilities(labels: pd.DataFrame) -> pd.DataFrame:
    """LABELS of whole studies to CHEXPERT_PROBABILITIES, in the order of the studies."""
    studies = labels["study_id"].unique().tolist()
    wide = (
        labels["p"].to_numpy().reshape(len(studies), -1)
        if studies
        else np.empty((0, len(CHEXPERT)))
    )
    names = labels["chexpert"].iloc[: wide.shape[1]].tolist()
    cells = wide[:, [names.index(name) for name in CHEXPERT]] if studies else wide
    return _frame(CHEXPERT_PROBABILITIES, studies, labels, cells)


def _frame(
    table: Table, studies: list[str], of: pd.DataFrame, cells: NDArray[np.float64]
) -> pd.DataFrame:
    """Identifiers lose their letter: MIMIC-CXR's files write them as numbers."""
    subject = dict(zip(of["study_id"].tolist(), of["subject_id"].tolist(), strict=True))
    return table.frame(
        {
            "subject_id": [int(subject[study][1:]) for study in studies],
            "study_id": [int(study[1:]) for study in studies],
            **dict(zip(CHEXPERT, cells.T, strict=True)),
        }
    )
