"""Decides a label of a study from the claims about it (implicit.md, section 6).

The rules of conflict resolution (section 5) are applied without the location, as far as
they can be. `LabelEvidence.decide` is the line that decides; which rows make which
claims is in `row_claims.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lunguage_assets.implicit.rows import natural
from lunguage_assets.labels.claims import Claim


class Decision(NamedTuple):
    """What is decided of a label.

    Attributes:
        claim: that speaks for the label; None where none does.
        is_contradictory: the report says both, and therefore none does.
    """

    claim: Claim | None
    is_contradictory: bool


@dataclass(slots=True)
class LabelEvidence:
    """All claims about one label of one study.

    Attributes:
        present: claims that it is present.
        denied: claims that it is not.
        against: by row, what is present and speaks against a label such as "no
            finding", without being a label itself.
        is_past: the report names the finding as past.
        is_disputed: a stated row was removed, because the report states the opposite.
    """

    present: list[Claim] = field(default_factory=list)
    denied: list[Claim] = field(default_factory=list)
    against: dict[str, Claim] = field(default_factory=dict)
    is_past: bool = False
    is_disputed: bool = False

    def add(self, claim: Claim) -> None:
        """Take a claim among those that it agrees with."""
        if claim.is_present:
            self.present.append(claim)
        else:
            self.denied.append(claim)

    def replace_claims(self, *claims: Claim, is_disputed: bool) -> None:
        """Take other claims in the place of all."""
        self.present = []
        self.denied = []
        self.is_disputed = is_disputed
        for claim in claims:
            self.add(claim)

    def decide(self) -> Decision:
        """Find the claim that decides the label."""
        claim = _strongest(self.present, self.denied)
        if self._is_contradicted(claim):
            return Decision(None, is_contradictory=True)
        return Decision(claim, is_contradictory=False)

    def stated(self) -> Claim | None:
        """Find the claim that decides in the report's own words; None without one."""
        present = [claim for claim in self.present if claim.is_stated]
        denied = [claim for claim in self.denied if claim.is_stated]
        claim = _strongest(present, denied)
        return None if self._is_contradicted(claim) else claim

    def _is_contradicted(self, claim: Claim | None) -> bool:
        """Whether the report says both, so that a claim cannot decide."""
        # "Effusion on the right, none on the left": nobody contests the right one.
        if claim is not None and claim.is_uncontested_statement:
            return False
        if self.is_disputed:
            return True
        return any(
            denial.disputes(presence)
            for denial in self.denied
            for presence in self.present
        )


EvidenceByLabel = dict[tuple[str, int], LabelEvidence]
"""By study and number of the label; what is not in it is unmentioned."""


def _strongest(present: Sequence[Claim], denied: Sequence[Claim]) -> Claim | None:
    """Find the first presence that no denial overrules, else the first denial."""
    candidates = list(present)
    for denial in denied:
        # "Effusion on the left. No effusion.": the denial leaves nothing of it.
        candidates = [claim for claim in candidates if not denial.overrules(claim)]
    return min(candidates or denied, key=_priority, default=None)


def _priority(claim: Claim) -> tuple[Any, ...]:
    """Order claims by support, then rule 3's order, the report before pathways, the id.

    The ids only make the choice the same in every run.
    """
    return (
        -claim.support,
        claim.status_order,
        not claim.is_stated,
        *natural(claim.finding_id),
    )
