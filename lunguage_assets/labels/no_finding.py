"""Weighs labels that other labels deny, such as "no finding" (implicit.md, section 6).

"No acute disease. Small effusion.": whatever the report finds speaks against it. Which
labels those are is data (`denied_by` in `resources/labels.yaml`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from lunguage_assets.implicit.rows import rounded
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.labels.claims import STATUS_ORDER, Claim
from lunguage_assets.labels.evidence import EvidenceByLabel, LabelEvidence

_STILL_STATED = 0.5
"""From this p on a stated "no finding" stays stated, with doubt; below it is denied."""


def weigh_denied_labels(evidence: EvidenceByLabel, label_list: LabelList) -> None:
    """Weigh every label that others deny against what is found of them."""
    studies = sorted({study for study, _ in evidence})
    for label, entry in enumerate(label_list.labels):
        opponents = [label_list.names.index(name) for name in entry.denied_by]
        if opponents:
            for study in studies:
                _weigh(evidence, study, label, opponents)


def _weigh(
    evidence: EvidenceByLabel, study: str, label: int, opponents: Sequence[int]
) -> None:
    """Weigh what a study says of a label against what speaks against it.

    Args:
        evidence: of all studies and labels; changed in place.
        study: that is looked at.
        label: that is denied by others.
        opponents: labels that speak against it.
    """
    of_label = evidence.get((study, label), LabelEvidence())
    said = [evidence.get((study, opponent)) for opponent in opponents]
    found, is_disputed = _found_by(list(filter(None, said)))
    # What speaks against it: its denials, and what its opponents state.
    against = list({**of_label.against, **found}.values())
    statement = of_label.decide().claim
    is_found = any(claim.is_present for claim in against)
    # "Pneumonia is unlikely" alone says nothing of "no finding"; it only bounds its p.
    if is_found or (statement is not None and against):
        statement = _weighed(statement, against)
        of_label.replace_claims(statement, is_disputed=False)
    # Whether something is found is disputed, so this label is, too.
    if statement is not None and statement.p > 0.0 and is_disputed:
        of_label.replace_claims(is_disputed=True)
    if against or is_disputed:
        evidence[study, label] = of_label


def _found_by(opponents: Sequence[LabelEvidence]) -> tuple[dict[str, Claim], bool]:
    """Collect what is found, by the row that states it, and whether one is disputed."""
    found: dict[str, Claim] = {}
    is_disputed = False
    for opponent in opponents:
        claim = opponent.stated()
        if claim is not None and claim.p > 0.0:
            found[claim.finding_id] = claim
        # The report says both that something is found and that it is not. What pathways
        # imply adds nothing: only what is stated counts.
        elif opponent.decide().is_contradictory:
            is_disputed = True
    return found, is_disputed


def _weighed(statement: Claim | None, against: Sequence[Claim]) -> Claim:
    """Weigh a label against what speaks against it.

    Args:
        statement: what the report says of the label itself; None: nothing.
        against: claims of other labels, at least one.
    """
    p, low, high = _probability(statement, against)
    strongest = _strongest(against)
    deciding = strongest
    status = "tn"
    support = 1.0 - p
    if statement is not None and statement.is_present and p >= _STILL_STATED:
        deciding = statement
        status = "tp"
        support = p
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
        p=rounded(p),
        p_low=rounded(low),
        p_high=rounded(high),
        p_source=p_source,
        is_bound=True,
        is_unresolved=deciding.is_unresolved and status != "dn",
    )


def _probability(
    statement: Claim | None, against: Sequence[Claim]
) -> tuple[float, float, float]:
    """Compute the probability of a label, and the ends of its interval.

    What is present counts as independent, so p is the product of 1 - p; it is no more
    than 1 - p of what is denied with doubt. The interval holds however the claims
    depend on each other (Fréchet's bounds).
    """
    # Without a statement q is 1, and only what is found speaks about the label.
    stated = (1.0, 0.0, 1.0)
    if statement is not None:
        stated = (statement.p, statement.p_low, statement.p_high)
    p, low, high = stated
    p *= prod(1.0 - claim.p for claim in against if claim.is_present)
    most = 1.0 - _strongest(against).p
    # Fréchet's bounds: p is least where no two claims hold together, and most where
    # all hold together with the likeliest.
    sum_against = sum(claim.p_high for claim in against)
    least_against = max(claim.p_low for claim in against)
    least = max(0.0, low - sum_against)
    return min(p, most), least, min(high, 1.0 - least_against)


def _strongest(claims: Sequence[Claim]) -> Claim:
    return max(
        claims, key=lambda claim: (claim.p, -claim.status_order, claim.finding_id)
    )
