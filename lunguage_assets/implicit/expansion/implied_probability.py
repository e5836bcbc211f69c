"""The probability of an implied finding: a bound that follows from its parent.

The rules are in implicit.md section 4.
"""

from __future__ import annotations

from lunguage_assets.implicit.rows import Row, rounded

KEPT_ABOVE = 0.8
"""p(sub-finding | diagnosis) above which experts kept an edge (paper, section 4)."""


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
    if strength is not None:
        bound = strength
        child.support = rounded(parent.support * strength)
    else:
        bound = KEPT_ABOVE if widens else 1.0
        child.support = rounded(parent.support)
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
