"""Claims of rows about one label of one study, and which of them speaks for it (implicit.md section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lunguage_assets.implicit.statements.places import anatomy


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
        """What the higher of wins; the report outranks what was generated only where two contradict each
        other.
        """
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
class Said:
    """All claims about one label of one study, presence and denial apart, and whether it was named as
    past.
    """

    present: list[Claim] = field(default_factory=list)
    denied: list[Claim] = field(default_factory=list)
    against: dict[str, Claim] = field(default_factory=dict)
    """What is present and speaks against a label such as "no finding", by row."""
    past: bool = False
    both: bool = False
    """Whether a stated row was removed because the report states the opposite too."""

    def add(self, claim: Claim) -> None:
        (self.present if claim.present else self.denied).append(claim)

    def verdict(self) -> tuple[Claim | None, bool]:
        """The claim that speaks for the label, and whether the report says both, so that none does."""
        claim = _decided(self.present, self.denied)
        both = self._contradictory(claim)
        return None if both else claim, both

    def _contradictory(self, claim: Claim | None) -> bool:
        if claim is not None and claim.present and claim.stated and not claim.is_contested:
            return False
        if self.both or not (self.present and self.denied):
            return self.both
        return any(denial.disputes(presence) for denial in self.denied for presence in self.present)

    def stated(self) -> Claim | None:
        """The claim that speaks for the label in the report's own words; None when they say nothing now."""
        present, denied = ([one for one in claims if one.stated] for claims in (self.present, self.denied))
        claim = _decided(present, denied)
        return None if self._contradictory(claim) else claim


def _decided(present: Sequence[Claim], denied: Sequence[Claim]) -> Claim | None:
    standing = present
    if present and denied:
        standing = [claim for claim in present if not any(denial.overrules(claim) for denial in denied)]
    left = standing or denied
    return left[0] if len(left) == 1 else min(left, key=_first, default=None)


def _first(claim: Claim) -> tuple[float, int, bool, int, str]:
    """Sorts the claim that speaks first: highest support, then rule 3's order, the report first, then the
    row's id.
    """
    return -claim.support, claim.order, not claim.stated, len(claim.finding_id), claim.finding_id
