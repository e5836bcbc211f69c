"""What keeps a sub-finding from being implied: the `unless` of the pathway file.

The rule is in implicit.md section 4, "What a report does not imply".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from lunguage_assets.implicit.expansion.stated_signs import gives_reason, strongest
from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.pathways.words import Words, names_any
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, Row
from lunguage_assets.implicit.statements.contradictions import is_present, qualifier_of
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import anatomy

_DESCRIPTION_OF = attrgetter("ent", "location", *ATTRIBUTE_NAMES)


class Exceptions:
    """The stated rows of one study, as the pathway file asks for them."""

    def __init__(
        self, study: Sequence[Row], dictionary: PathwayDictionary, labels: LabelList
    ) -> None:
        self._study = study
        self._dictionary = dictionary
        self._labels = labels
        self._by_id = {row.finding_id: row for row in study}

    def are_worded(self, edge: SubFinding, parent: Row) -> bool:
        """Whether words of the report keep a sub-finding out.

        "Small effusion": no hazy opacity of it. They are those of the diagnosis' row,
        of the signs that the report gives for it, and of the signs in its sentence.
        """
        return names_any(self._cells_about(parent), edge.unless.said)

    def _cells_about(self, parent: Row) -> Iterator[str]:
        # One that is implied is no row of the study.
        yield from _DESCRIPTION_OF(parent)
        for row in self._study:
            if self._is_sign_beside(row, parent) or gives_reason(row, parent):
                yield from _DESCRIPTION_OF(row)

    def _is_sign_beside(self, row: Row, parent: Row) -> bool:
        """Whether a row is a sign in the sentence that states the parent."""
        # What is implied has no sentence.
        if not parent.sent or not is_present(row):
            return False
        if row.section != parent.section or row.sent_idx != parent.sent_idx:
            return False
        return not self._labels.read(row).diagnosis

    def opponent(self, child: Row, edge: SubFinding) -> Row | None:
        """Find the statement by which the pathway file leaves a sub-finding out."""
        opponents = []
        # A statement counts wherever it is, a denial where the sign would be.
        for row in self._about_any(edge.unless.stated):
            if is_present(row):
                opponents.append(row)
        for row in self._about_any(edge.unless.denied):
            # A denial on the left leaves a sign on the right open.
            if not is_present(row) and denies_at(row, child):
                opponents.append(row)
        current = (row for row in opponents if row.currency == child.currency)
        return strongest(current, self._by_id)

    def _about_any(self, wordings: Words) -> Iterator[Row]:
        """Yield the rows about a subject, by its name or as a kind of its diagnosis."""
        for subject in map(self._dictionary.subject, wordings):
            for row in self._rows_by_subject.get(subject.name, ()):
                if subject.refinements <= self._labels.read(row).refinements:
                    yield row

    @cached_property
    def _rows_by_subject(self) -> Mapping[str, Sequence[Row]]:
        """What the report says now, by each name under which the file may know it.

        Every implied finding asks for a few subjects: to look through all rows for each
        would take the square of a long report.
        """
        rows_by_subject: dict[str, list[Row]] = {}
        for row in self._study:
            if row.disposition == "excluded":
                continue
            diagnosis = self._labels.read(row).diagnosis
            wording = self._dictionary.vocabulary.finding(row.ent)
            for name in {diagnosis or row.name, row.name, wording}:
                rows_by_subject.setdefault(name, []).append(row)
        return rows_by_subject


def denies_at(row: Row, child: Row) -> bool:
    """Whether what a row denies is denied where the child would lie."""
    # "No new effusion" leaves an old one: nothing is said against what is implied.
    qualifier = qualifier_of(row)
    if qualifier is not None and not qualifier.implied:
        return False
    return bool(anatomy().covers(row.location_parts, child.location_parts))
