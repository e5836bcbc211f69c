"""What a sub-finding inherits of its parent's probability (implicit.md section 4).

Experts kept an edge when they put p(sub-finding | diagnosis) above 0.8. So the support of a child is its
parent's, and the lower end of its interval is 0.8 times the parent's: after d edges 0.8^d of the stated
diagnosis'. The easy version, the parent's interval, claims that every edge is certain.
"""

from __future__ import annotations

from lunguage_assets.implicit.rows import PAPER, Row, rounded

KEPT_ABOVE = 0.8
"""p(sub-finding | diagnosis) above which experts kept an edge (paper, section 4)."""


def derive_belief(child: Row, parent: Row, strength: float | None) -> None:
    """Give a generated row the probability, interval and support that follow from its parent.

    `prob` is P(present): of a positive child its support, of a negative one half way from 0 to 1 - support.
    In mode `paper` a negative child has the parent's p.

    Args:
        child: generated row; its certainty becomes the parent's.
        parent: positive row.
        strength: of the edge, from the pathway file; None: the support passes on as it is, and the bound is
            `KEPT_ABOVE`.
    """
    as_the_paper = child.mode == PAPER
    child.status = parent.status[0] + child.status[1]
    child.support = rounded(parent.support * (1.0 if strength is None else strength))
    bound = strength if strength is not None else 1.0 if as_the_paper else KEPT_ABOVE
    low = min(rounded(parent.p_low * bound), parent.p_low)
    if child.positive:  # present at least as surely as the parent implies: it may be there for other reasons
        # Not above the parent's, not by a last digit either: printed, both are rounded.
        child.prob, child.p_low, child.p_high = min(child.support, parent.prob), low, 1.0
    elif as_the_paper:  # the parent's p, although the sign is denied
        child.prob, child.p_low, child.p_high = child.support, low, rounded(parent.p_high * bound)
    else:
        half = rounded((1.0 - child.support) / 2.0)
        child.prob, child.p_low, child.p_high = half, 0.0, rounded(1.0 - low)
