"""Weighs labels that other labels deny, such as "no finding" (implicit.md, section 6).

Whatever the report finds speaks against them. Which labels those are is data
(`denied_by` in `resources/labels.yaml`).
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
    for label, entry in enumerate(label_list.labels):
        opponents = frozenset(map(label_list.names.index, entry.denied_by))
        if opponents:
            _weigh(evidence, label, opponents)


def _weigh(evidence: EvidenceByLabel, label: int, opponents: frozenset[int]) -> None:
    """Weigh a label of every study.

    Args:
        evidence: changed in place.
        label: that is denied by others.
        opponents: labels that speak against it.
    """
    against_by_study: dict[str, dict[str, Claim]] = {}
    disputed_studies: set[str] = set()
    for (study, number), of_label in evidence.items():
        if number == label:
            against_by_study.setdefault(study, {}).update(of_label.against)
        if number not in opponents:
            continue
        # What pathways imply adds nothing: only what is stated counts.
        claim = of_label.stated()
        if claim is not None and claim.p > 0.0:
            against_by_study.setdefault(study, {})[claim.finding_id] = claim
        elif of_label.decide().is_contradictory:
            disputed_studies.add(study)
    for study in against_by_study.keys() | disputed_studies:
        of_label = evidence.setdefault((study, label), LabelEvidence())
        own = of_label.decide().claim
        against = list(against_by_study.get(study, {}).values())
        is_found = any(claim.is_present for claim in against)
        if is_found or (own is not None and against):
            own = _weighed(own, against)
            of_label.replace_claims(own, is_disputed=False)
        if own is not None and own.p > 0.0 and study in disputed_studies:
            # Whether something is found is disputed, so this label is, too.
            of_label.replace_claims(is_disputed=True)


def _weighed(own: Claim | None, against: Sequence[Claim]) -> Claim:
    """Weigh a label against what speaks against it.

    What is present counts as independent, so p is the product of 1 - p; it is no more
    than 1 - p of what is denied with doubt. The interval holds however the claims
    depend on each other (Fréchet's bounds).

    Args:
        own: what the report says of the label itself; None: nothing.
        against: claims of other labels, at least one.
    """
    own_p = 1.0 if own is None else own.p
    own_low = 0.0 if own is None else own.p_low
    own_high = 1.0 if own is None else own.p_high
    strongest = max(
        against, key=lambda claim: (claim.p, -claim.status_order, claim.finding_id)
    )
    present = [claim for claim in against if claim.is_present]
    p = own_p * prod(1.0 - claim.p for claim in present)
    p = min(p, 1.0 - strongest.p)
    low = max(0.0, own_low - sum(claim.p_high for claim in against))
    high = min(own_high, *(1.0 - claim.p_low for claim in against))

    is_stated = own is not None and own.is_present and p >= _STILL_STATED
    status = "tp" if is_stated else "tn"
    is_certain = any(claim.status == "dp" for claim in against)
    if is_certain or (own is not None and own.status == "dn"):
        status = "dn"
    deciding = own if own is not None and is_stated else strongest
    p_source = strongest.p_source
    if any(claim.p_source == "none" for claim in present):
        p_source = "none"
    return Claim(
        finding_id=deciding.finding_id,
        status=status,
        is_stated=True,
        support=rounded(p if is_stated else 1.0 - p),
        status_order=STATUS_ORDER[status],
        p=rounded(p),
        p_low=rounded(low),
        p_high=rounded(high),
        p_source=p_source,
        is_bound=True,
    )
