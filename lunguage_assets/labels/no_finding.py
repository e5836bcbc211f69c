"""Weighs labels that other labels deny, such as "no finding" (implicit.md, section 6).

"No acute disease. Small effusion.": whatever the report finds speaks against it. Which
labels those are is data (`denied_by` in `resources/labels.yaml`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from lunguage_assets.implicit.rows import rounded
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.labels.claims import STATUS_ORDER, Claim
from lunguage_assets.labels.evidence import EvidenceByLabel, LabelEvidence

_STILL_STATED = 0.5
"""From this p on a stated "no finding" stays stated, with doubt; below it is denied."""


@dataclass(slots=True)
class _Opposition:
    """What a study says against a label.

    Attributes:
        claims: what it finds, and what it denies with doubt, by finding id.
        is_disputed: it says both that something is found and that it is not.
    """

    claims: dict[str, Claim] = field(default_factory=dict)
    is_disputed: bool = False


class _Probability(NamedTuple):
    """The probability of a label, with its interval."""

    p: float
    low: float
    high: float


def weigh_denied_labels(evidence: EvidenceByLabel, label_list: LabelList) -> None:
    """Weigh every label that others deny against what is found of them."""
    for label, entry in enumerate(label_list.labels):
        opponents = frozenset(map(label_list.names.index, entry.denied_by))
        if not opponents:
            continue
        oppositions = _opposition_by_study(evidence, label, opponents)
        for study, opposition in oppositions.items():
            of_label = evidence.setdefault((study, label), LabelEvidence())
            _weigh(of_label, opposition)


def _opposition_by_study(
    evidence: EvidenceByLabel, label: int, opponents: frozenset[int]
) -> dict[str, _Opposition]:
    """Collect what speaks against a label in every study.

    Args:
        evidence: of all labels.
        label: that is denied by others.
        opponents: labels that speak against it.
    """
    by_study: defaultdict[str, _Opposition] = defaultdict(_Opposition)
    for (study, number), of_label in evidence.items():
        if number == label:
            by_study[study].claims.update(of_label.against)
        if number not in opponents:
            continue
        # What pathways imply adds nothing: only what is stated counts.
        claim = of_label.stated()
        if claim is not None and claim.p > 0.0:
            by_study[study].claims[claim.finding_id] = claim
        elif of_label.decide().is_contradictory:
            by_study[study].is_disputed = True
    return by_study


def _weigh(of_label: LabelEvidence, opposition: _Opposition) -> None:
    """Weigh what a study says of a label against what speaks against it."""
    against = list(opposition.claims.values())
    statement = of_label.decide().claim
    is_found = any(claim.is_present for claim in against)
    # "Pneumonia is unlikely" alone says nothing of "no finding"; it only bounds its p.
    if is_found or (statement is not None and against):
        statement = _weighed(statement, against)
        of_label.replace_claims(statement, is_disputed=False)
    if statement is not None and statement.p > 0.0 and opposition.is_disputed:
        # Whether something is found is disputed, so this label is, too.
        of_label.replace_claims(is_disputed=True)


def _weighed(statement: Claim | None, against: Sequence[Claim]) -> Claim:
    """Weigh a label against what speaks against it.

    Args:
        statement: what the report says of the label itself; None: nothing.
        against: claims of other labels, at least one.
    """
    probability = _probability(statement, against)
    strongest = _strongest(against)
    deciding = strongest
    status = "tn"
    support = 1.0 - probability.p
    if (
        statement is not None
        and statement.is_present
        and probability.p >= _STILL_STATED
    ):
        deciding = statement
        status = "tp"
        support = probability.p
    # What is found without doubt, or a denial without doubt, leaves none.
    is_denied = statement is not None and statement.status == "dn"
    if is_denied or any(claim.status == "dp" for claim in against):
        status = "dn"
    p_source = strongest.p_source
    if any(claim.is_present and claim.p_source == "none" for claim in against):
        p_source = "none"
    return Claim(
        finding_id=deciding.finding_id,
        status=status,
        is_stated=True,
        support=rounded(support),
        status_order=STATUS_ORDER[status],
        p=rounded(probability.p),
        p_low=rounded(probability.low),
        p_high=rounded(probability.high),
        p_source=p_source,
        is_bound=True,
    )


def _probability(statement: Claim | None, against: Sequence[Claim]) -> _Probability:
    """Compute the probability of a label, with its interval.

    What is present counts as independent, so p is the product of 1 - p; it is no more
    than 1 - p of what is denied with doubt. The interval holds however the claims
    depend on each other (Fréchet's bounds).
    """
    # Without a statement q is 1, and only what is found speaks about the label.
    stated = _Probability(1.0, 0.0, 1.0)
    if statement is not None:
        stated = _Probability(statement.p, statement.p_low, statement.p_high)
    p_if_independent = stated.p * prod(
        1.0 - claim.p for claim in against if claim.is_present
    )
    most = 1.0 - _strongest(against).p
    # Fréchet's bounds: p is least where no two claims hold together, and most where
    # all hold together with the likeliest.
    sum_against = sum(claim.p_high for claim in against)
    least_against = max(claim.p_low for claim in against)
    return _Probability(
        p=min(p_if_independent, most),
        low=max(0.0, stated.low - sum_against),
        high=min(stated.high, 1.0 - least_against),
    )


def _strongest(claims: Sequence[Claim]) -> Claim:
    return max(
        claims, key=lambda claim: (claim.p, -claim.status_order, claim.finding_id)
    )
