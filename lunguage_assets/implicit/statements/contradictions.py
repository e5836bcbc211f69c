"""Which statement of a report contradicts which, and which rows are of one key.

It is one rule for sub-findings, conflicts and labels (implicit.md sections 2, 4, 5). A
denial contradicts a presence when its location contains the other's; no location
contains every one. Two rows are about the same when they have one name, or mean one
diagnosis: a heart of normal size denies cardiomegaly (`label_file.py`). What the report
calls resolved is absent now. A denial denies no more than it says: "no large effusion"
denies no effusion that the report states. Which words restrict what is denied, and how
probable the finding is beside them, is data (`resources/statements.yaml`). What is done
about a contradiction is not here (`resolution/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, permutations, product
from operator import attrgetter
from typing import Any, NamedTuple

from scipy.special import betaincinv

from lunguage_assets.assertion.named import denials_of
from lunguage_assets.caches import remembered
from lunguage_assets.implicit.rows import Row, grouped_by, priority, rounded, tokens
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.implicit.statements.locations import (
    Qualifier,
    anatomy,
    says_resolved,
    statements_file,
)

QUALIFIER = "qualifier"
"""`p_source` of a denial that is restricted."""

_DESCRIPTION_OF = attrgetter(
    "measurement", "morphology", "distribution", "severity", "onset"
)

Subject = str | int
"""A canonical name, or the number of a label that has a diagnosis."""

# What a denial denies


class QualifierWord(NamedTuple):
    """What restricts a denial, and the word of the sentence that says so."""

    qualifier: Qualifier
    word: str


def qualifying_word_of(row: Row) -> QualifierWord | None:
    """Find what restricts a denial to a kind of its finding; None of any other row."""
    if row.positive or not row.policy.reads_restrictions:
        return None
    # "The large effusion has resolved."
    if says_resolved(row.improved):
        return None
    return qualifying(row.name, row.ent, row.sent, _DESCRIPTION_OF(row))


def states_kind(row: Row, words: set[str]) -> bool:
    """Whether a presence is said to be of a kind, in its name or its attributes."""
    description = " ".join((row.name, row.ent, *_DESCRIPTION_OF(row)))
    return row.positive and not words.isdisjoint(tokens(description))


def kind_denied(row: Row) -> str:
    """Name the kind that a denial is restricted to; empty of any other row."""
    restriction = qualifying_word_of(row)
    return restriction.qualifier.name if restriction else ""


@remembered
def qualifying(
    name: str, ent: str, sentence: str, cells: tuple[str, ...]
) -> QualifierWord | None:
    """Find the qualifier of a denied finding, by the word that is nearest to it.

    Args:
        name: canonical name of the finding.
        ent: its words, as they stand in the sentence.
        sentence: that denies it.
        cells: of the row, whose words describe the finding wherever they stand.

    Returns:
        The qualifier with its word; None of a denial that nothing restricts.
    """
    description = set(tokens(" ".join((ent, *cells))))
    # "No large effusion or opacity": `large` may be said of the whole list.
    of_list = description.union(tokens(sentence))
    possible = [
        qualifier
        for qualifier in statements_file().qualifiers
        if not qualifier.words.isdisjoint(of_list if qualifier.lists else description)
        and qualifier.is_of(name)
    ]
    # Reading a sentence costs far more than looking for such a word in it.
    if not possible:
        return None
    for denial in denials_of(sentence, ent):
        for word, qualifier in product(denial.words, possible):
            if word not in qualifier.words:
                continue
            if word in description or (denial.is_behind_denial and qualifier.lists):
                return QualifierWord(qualifier, word)
    return None


class Belief(NamedTuple):
    """A probability with its 95% interval."""

    p: float
    low: float
    high: float


def belief_of(qualifier: Qualifier) -> Belief:
    """Compute p of a finding of which only a kind is denied, with Jeffreys' interval.

    "No large effusion": of so many such denials (`denied`) people coded the finding all
    the same in `coded`.
    """
    # Jeffreys' prior is half a case of either kind, so that no p is 0 or 1.
    coded = qualifier.coded + 0.5
    not_coded = qualifier.denied - qualifier.coded + 0.5
    p = coded / (coded + not_coded)
    ends = betaincinv(coded, not_coded, (0.025, 0.975))
    return Belief._make(map(rounded, (p, *ends.tolist())))


# What contradicts what


class Assertion(NamedTuple):
    """What a row says of one subject, and where."""

    row: Row
    subject: Subject
    present: bool
    location: tuple[str, ...]

    def contradicts(self, assertion: Assertion) -> bool:
        """Whether one denies, at a location that contains it, what the other states."""
        return self.denies(assertion) or assertion.denies(self)

    def denies(self, presence: Assertion) -> bool:
        """Whether this is a denial that leaves nothing of a presence of its subject."""
        if self.present or not presence.present:
            return False
        # "No large effusion": one that is stated may be small, unless it is called
        # large. Of one that only a pathway implies, it leaves nothing.
        restriction = qualifying_word_of(self.row)
        is_denied = (
            restriction is None
            or presence.row.is_generated
            or states_kind(presence.row, {restriction.word})
        )
        return is_denied and anatomy().covers(self.location, presence.location)


def is_present(row: Row) -> bool:
    """Whether a row says that its finding is there now; resolved means absent."""
    return row.positive and not says_resolved(row.improved)


class Statements:
    """The assertions of stated rows of one study, by subject.

    Many studies have nothing that could contradict: rows are read when it is asked.
    """

    def __init__(self, labels: LabelList, rows: Iterable[Row]) -> None:
        self._labels = labels
        self._rows = rows

    @cached_property
    def _assertions(self) -> dict[Any, list[Assertion]]:
        assertions = chain.from_iterable(map(self.of, self._rows))
        return grouped_by(attrgetter("row.currency", "subject"), assertions)

    def of(self, row: Row) -> list[Assertion]:
        """List what a row says: of its own name, and of the diagnoses that it means."""
        present = is_present(row)
        reading = self._labels.read(row)
        assertions = [Assertion(row, reading.name, present, row.location_parts)]
        for meaning, is_label_present in reading.meanings:
            if self._labels.labels[meaning.label].diagnoses:
                # "Resolved edema" denies it, as surely as the row states it.
                is_label_present &= present == row.positive
                location = meaning.entry.location_of(row.location_parts)
                assertion = Assertion(row, meaning.label, is_label_present, location)
                assertions.append(assertion)
        return assertions

    def about(self, row: Row) -> Iterator[tuple[Assertion, Assertion]]:
        """Yield every assertion of a row with every stated one of the same subject."""
        for assertion in self.of(row):
            for stated in self._assertions.get((row.currency, assertion.subject), ()):
                yield assertion, stated

    def against(self, row: Row) -> Row | None:
        """Find the statement that contradicts a row most strongly; None without one."""
        opponents = [
            stated.row
            for assertion, stated in self.about(row)
            if assertion.contradicts(stated)
        ]
        return min(opponents, key=priority, default=None)

    def contradictions(self) -> Iterator[tuple[Assertion, Assertion]]:
        """Yield pairs of stated assertions, the denial and what it denies.

        A pair of rows that is about two subjects comes twice.
        """
        for assertions in self._assertions.values():
            for denial, presence in permutations(assertions, 2):
                if denial.row is not presence.row and denial.denies(presence):
                    yield denial, presence


# Rows of one key


class Key(NamedTuple):
    """What one row per study remains of: rows of one key are resolved to one.

    `name` is the canonical finding, never the diagnosis; `kind` is what restricts a
    denial, which leaves its finding open.
    """

    currency: str
    name: str
    location: tuple[str, ...]
    kind: str


def rows_by_key(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Group the rows of a study by their key."""
    groups: dict[Key, list[Row]] = {}
    for key, alike in grouped_by(_unrestricted_key, rows).items():
        # A row that stands alone meets no other: its kind need not be read.
        if len(alike) == 1:
            groups[key] = alike
            continue
        for kind, of_kind in grouped_by(kind_denied, alike).items():
            groups[key._replace(kind=kind)] = of_kind
    return groups


def _unrestricted_key(row: Row) -> Key:
    location = row.location_parts
    # "Right lung base" and "base of the right lung" are one location.
    if row.policy.departs:
        location = anatomy().location(location).parts
    return Key(row.currency, row.name, location, "")


def contested_kinds(groups: Mapping[Key, Sequence[Row]]) -> dict[Key, list[Row]]:
    """Find the denials of a kind beside presences of it: "loculated", "no loculated".

    Returns:
        The rows of both, by the key of the denials.
    """
    contested: dict[Key, list[Row]] = {}
    for key, denials in groups.items():
        if not key.kind:
            continue
        restrictions = filter(None, map(qualifying_word_of, denials))
        words = {restriction.word for restriction in restrictions}
        of_any_kind = groups.get(key._replace(kind=""), ())
        presences = [row for row in of_any_kind if states_kind(row, words)]
        if presences:
            contested[key] = [*denials, *presences]
    return contested
