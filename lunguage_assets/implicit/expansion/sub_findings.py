"""A sub-finding as a row: what it has from its parent, and what from the pathway.

The rules are in implicit.md section 4, its probability among them: a bound that follows
from that of the parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    CLINICAL_ATTRIBUTES,
    Row,
    rounded,
    united_cells,
)

KEPT_ABOVE = 0.8
"""p(sub-finding | diagnosis) above which experts kept an edge (paper, section 4)."""


def sub_finding(parent: Row, edge: SubFinding, dictionary: PathwayDictionary) -> Row:
    """Build the sub-finding that an edge implies, with location and probability.

    Args:
        parent: the row whose diagnosis implies it.
        edge: of the parent's pathway.
        dictionary: that it is of.
    """
    child = replace(
        parent,
        ent=edge.ent,
        name=dictionary.vocabulary.finding(edge.ent),
        cat=dictionary.category(edge),
        # As if the diagnosis were certain: its doubt comes with the probability, below.
        status=edge.status,
        source="expansion",
        # No words of the report say that it is there.
        sent="",
        cues="",
        parent_id=parent.finding_id,
        root_id=parent.root_id or parent.finding_id,
        # What a stated row implies is at depth 1: its bound has 0.8 once (section 4).
        depth=parent.depth + 1 if parent.is_generated else 1,
        # It has evidence of its own only when it is expanded in turn.
        evidence=(),
        associate=(parent.finding_id,),
        merged_ids=(),
        p_source="pathway",
        prob_is_bound=True,
    )
    is_symptom = dictionary.is_symptom(edge)
    # No symptom lies where the diagnosis does, nor what lies elsewhere by its pathway.
    inherits = edge.inherits or not parent.policy.withholds_children
    _locate(child, edge, dictionary, inherits and not is_symptom)
    for name in _withheld_attributes(edge, parent, is_symptom):
        setattr(child, name, "")
    for name, cell in edge.attributes.items():
        setattr(child, name, united_cells([getattr(child, name), cell]))
    derive_probability(child, parent, edge.strength)
    return child


def _locate(
    child: Row, edge: SubFinding, dictionary: PathwayDictionary, inherits: bool
) -> None:
    if not inherits:
        child.location = ""
        child.location_parts = ()
    parts = dictionary.vocabulary.location_parts(edge.location)
    added = [part for part in parts if part not in child.location_parts]
    # The parent may name a part of the pathway's location already.
    wording = edge.location
    if len(added) < len(parts):
        wording = ", ".join(added)
    child.location = united_cells([child.location, wording])
    child.location_parts = tuple(sorted({*child.location_parts, *parts}))


def _withheld_attributes(
    edge: SubFinding, parent: Row, is_symptom: bool
) -> Sequence[str]:
    """Name the attributes that a sub-finding does not have from its parent."""
    # "Small" or "worse" is said of what is there, not of the sign that is missing.
    is_withheld = edge.status == "dn" or not edge.inherits
    if parent.policy.withholds_children and is_withheld and not is_symptom:
        return ATTRIBUTE_NAMES
    # A symptom has no clinical ones.
    return CLINICAL_ATTRIBUTES if is_symptom else ()


def derive_probability(child: Row, parent: Row, strength: float | None) -> None:
    """Give a generated row the probability that follows from its positive parent.

    `prob` is P(present): of a present child its support, of an absent one half way from
    0 to 1 - support. In mode `paper` an absent child has the parent's p.

    Args:
        child: whose status is the pathway's; changed in place.
        parent: that implies it.
        strength: of the edge. Without one the support passes on as it is, and the bound
            is `KEPT_ABOVE`.
    """
    widens = child.policy.departs
    # "Possible pneumothorax" implies a possible absence of lung markings: certainty is
    # the parent's, polarity the pathway's.
    child.status = parent.status[0] + child.status[1]
    bound = strength or (KEPT_ABOVE if widens else 1.0)
    child.support = rounded(parent.support * (strength or 1.0))
    # Not above the parent's, not by a last digit either: printed, both are rounded.
    low = min(rounded(parent.p_low * bound), parent.p_low)
    if child.positive:
        # It may be there for other reasons, too.
        child.prob = min(child.support, parent.prob)
        child.p_low = low
        child.p_high = 1.0
    elif widens:
        # "Pneumothorax" speaks against lung markings: their p is between 0 and what
        # the claim of the diagnosis leaves, and half way stands for that range.
        child.prob = rounded((1.0 - child.support) / 2.0)
        child.p_low = 0.0
        child.p_high = rounded(1.0 - low)
    else:
        # The public code stores the parent's p, which says the opposite.
        child.prob = child.support
        child.p_low = low
        child.p_high = rounded(parent.p_high * bound)
