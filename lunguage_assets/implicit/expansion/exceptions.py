"""What keeps a sub-finding from being implied: the `unless` of the pathway file.

The rule is in implicit.md section 4, "What a report does not imply".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from lunguage_assets.implicit.expansion.stated_signs import StatedSigns
from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row
from lunguage_assets.implicit.statements.contradictions import is_present
from lunguage_assets.implicit.statements.label_file import LabelList

_DESCRIPTION_OF = attrgetter("ent", "location", *ATTRIBUTE_NAMES)


def is_worded(
    edge: SubFinding, parent: Row, study: Sequence[Row], labels: LabelList
) -> bool:
    """Whether words of the report keep a sub-finding out.

    "Small effusion": no hazy opacity of it. They are those of the diagnosis' row, and
    of the signs in its sentence.

    Args:
        edge: that implies it.
        parent: whose diagnosis implies it.
        study: the stated rows.
        labels: what they mean.
    """
    if not edge.unless.said:
        return False
    rows = [parent, *_signs_beside(parent, study, labels)]
    return any(names_any(_DESCRIPTION_OF(row), edge.unless.said) for row in rows)


def _signs_beside(
    parent: Row, study: Sequence[Row], labels: LabelList
) -> Iterator[Row]:
    for row in study:
        is_beside = (row.section, row.sent_idx) == (parent.section, parent.sent_idx)
        # What is implied has no sentence.
        is_sign = is_present(row) and not labels.read(row).diagnosis
        if parent.sent and is_beside and is_sign:
            yield row


def opponent(child: Row, edge: SubFinding, signs: StatedSigns) -> Row | None:
    """Find the statement by which the pathway file leaves a sub-finding out.

    Args:
        child: the sub-finding.
        edge: that implies it.
        signs: what the report states.
    """
    opponents: list[Row] = []
    for wording in edge.unless.stated:
        opponents += signs.named(wording, child.currency, positive=True)
    return signs.strongest(filter(is_present, opponents))
