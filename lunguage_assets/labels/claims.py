"""What one row of the result claims about one label.

A label asks whether something is present anywhere in the study. Rows make claims about
it, and one of them decides (`evidence.py`). Which findings mean which label is in
`implicit/statements/label_file.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from lunguage_assets.implicit.expansion.sub_findings import KEPT_ABOVE
from lunguage_assets.implicit.rows import POSITIVE, rounded
from lunguage_assets.implicit.statements.contradictions import QUALIFIER, belief_of
from lunguage_assets.implicit.statements.locations import Qualifier, anatomy
from lunguage_assets.structuring.contract import UNANSWERED

STATUS_ORDER = {"dp": 0, "tp": 1, "tn": 2, "dn": 3}
"""Which status goes first where claims have equal support (rule 3 of section 5)."""
_OPPOSITE = {"dp": "dn", "tp": "tn", "tn": "tp", "dn": "dp"}


class LabelRow(NamedTuple):
    """The cells of a LUNGUAGE_PLUS_PLUS row that decide labels, by column."""

    study_id: str
    finding_id: str
    name: str
    ent: str
    sent: str
    location: str
    location_parts: tuple[str, ...]
    measurement: str
    improved: str
    no_change: str
    status: str
    currency: str
    section: str
    mode: str
    morphology: str
    distribution: str
    severity: str
    onset: str
    prob: float
    p_low: float
    p_high: float
    support: float
    p_source: str
    prob_is_bound: bool
    source: str
    cues: str

    @property
    def is_positive(self) -> bool:
        return self.status in POSITIVE

    @property
    def is_current(self) -> bool:
        return self.currency == "current dx"

    @property
    def refining(self) -> tuple[str, ...]:
        """Attributes that may name a refinement of a diagnosis, in REFINING's order."""
        return (self.morphology, self.distribution, self.severity, self.onset)


@dataclass(slots=True)
class Claim:
    """The claim of one row about one label.

    Attributes:
        finding_id: of the row.
        status: that the row gives the label.
        is_stated: the report says so, rather than a pathway.
        support: how strongly it is claimed.
        status_order: of the row's own status (`STATUS_ORDER`).
        p, p_low, p_high: probability that the label is present, and its interval.
        p_source: where p comes from.
        is_bound: p follows from something else, and is no estimate.
        is_unresolved: the reader did not understand what is said of it.
        location: parts of it; empty is everywhere.
        denies_only_more: "no large effusion", "heart size at the upper limit of normal"
            deny nothing that is stated elsewhere.
        is_contested: the report states the opposite of the same location too, in a row
            that resolution removed.
        member: which finding it is of a label that is a family of them: no hamartoma is
            no denial of a nodule. Empty for a label that is one diagnosis.
    """

    finding_id: str
    status: str
    is_stated: bool
    support: float
    status_order: int
    p: float
    p_low: float
    p_high: float
    p_source: str
    is_bound: bool
    is_unresolved: bool = False
    location: tuple[str, ...] = ()
    denies_only_more: bool = False
    is_contested: bool = False
    member: str = ""

    @property
    def is_present(self) -> bool:
        """Whether it claims that the label is present."""
        return self.status in POSITIVE

    @property
    def strength(self) -> tuple[float, int]:
        """By which the stronger of two claims that pathways imply is found."""
        return self.support, -self.status_order

    @property
    def is_uncontested_statement(self) -> bool:
        """Whether the report states it present, and nowhere the opposite of it."""
        return self.is_present and self.is_stated and not self.is_contested

    def overrules(self, presence: Claim) -> bool:
        """Whether this denial leaves nothing of a claim of presence."""
        if not self._is_about(presence):
            return False
        if self.is_stated:
            # What the report denies outranks what a pathway implies (rule 1). Against
            # what it states too, it says both: no presence stands then.
            return True
        return not presence.is_stated and self.strength > presence.strength

    def disputes(self, presence: Claim) -> bool:
        """Whether the report states both, this denial and the presence."""
        return self.is_stated and presence.is_stated and self._is_about(presence)

    def _is_about(self, presence: Claim) -> bool:
        """Whether this denial is of what is claimed present, where it is claimed."""
        if self.denies_only_more:
            return False
        # "No hamartoma" is no denial of a nodule.
        if self.member and presence.member and self.member != presence.member:
            return False
        return anatomy().covers(self.location, presence.location)

    def leave_open(self, qualifier: Qualifier) -> None:
        """Read the certain denial of a kind as an uncertain denial of the whole.

        "No large effusion" is certain of large ones; a small one may be there, and p is
        the share of such denials beside which people coded the finding.
        """
        if self.status != "dn":
            return
        self.status = "tn"
        self.status_order = STATUS_ORDER["tn"]
        self.p_source = QUALIFIER
        self.p, self.p_low, self.p_high = belief_of(qualifier)
        self.support = rounded(1.0 - self.p)


def claim_of(
    row: LabelRow, *, as_it_stands: bool, location: tuple[str, ...] = (), **more: Any
) -> Claim:
    """Make the claim of a row about a label.

    Args:
        row: of the result.
        as_it_stands: else the other way round: what says that the heart is normal
            denies cardiomegaly.
        location: of the claim; empty where it is of the whole chest.
        more: further fields of the claim.
    """
    p = row.prob
    p_low = row.p_low
    p_high = row.p_high
    is_stated = row.source == "original"
    if not is_stated and row.is_positive:
        # What the pathway leaves at least: 0.8 of p for every edge from the stated row.
        depth = row.finding_id.count("/")
        p = rounded(max(p_low, p * KEPT_ABOVE**depth))
    elif not is_stated:
        # A pathway bounds an implied absence from above, and nothing is known below.
        # Mode `paper` stores the diagnosis' p here, so the bound is made again.
        p_low = 0.0
        p_high = rounded(1.0 - row.support)
        p = p_high / 2.0
    status = row.status
    if not as_it_stands:
        status = _OPPOSITE[row.status]
        p = rounded(1.0 - p)
        # What was the upper end is the lower end of the opposite.
        opposite_low = rounded(1.0 - p_high)
        p_high = rounded(1.0 - p_low)
        p_low = opposite_low
    return Claim(
        finding_id=row.finding_id,
        status=status,
        is_stated=is_stated,
        support=row.support,
        status_order=STATUS_ORDER[row.status],
        p=p,
        p_low=p_low,
        p_high=p_high,
        p_source=row.p_source,
        is_bound=row.prob_is_bound,
        is_unresolved=UNANSWERED in row.cues,
        location=location,
        **more,
    )
