"""A mention while its sentence is being read: its head, locations and modifiers.

Places and words are added phrase by phrase (`phrase_reader.py`); `mentions.py` makes
the rows of it.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import DEVICE, TaggedToken
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

COURSES = frozenset({"no_change", "improved", "worsened"})
"""Columns of words that say how something has changed."""

_COURSE_OF_SIZE = {
    "increased": "worsened",
    "decreased": "improved",
    "reduced": "improved",
    "diminished": "improved",
}


class MentionDraft:
    """A finding or part of the body of one sentence, with what is said of it.

    Attributes:
        head: the word or words that name it.
        locations: where all its rows lie.
        location_groups: locations that each make a row of their own: "on the right and
            in the lingula".
        modifiers: words that describe it.
        signs: the findings that support it: of "opacity may represent pneumonia", the
            opacity.
        sub_heading: organs of the sub-heading that it stands under; its location if it
            has no other.
        is_divided: whether another row of the same part judges it along another axis.
    """

    __slots__ = (
        "head",
        "is_divided",
        "location_groups",
        "locations",
        "modifiers",
        "signs",
        "sub_heading",
    )  # fmt: skip

    def __init__(
        self,
        head: TaggedToken,
        locations: list[TaggedToken],
        modifiers: list[TaggedToken],
    ) -> None:
        self.head = head
        self.locations = locations
        self.modifiers = modifiers
        self.location_groups: list[list[TaggedToken]] = []
        self.signs: list[MentionDraft] = []
        self.sub_heading: list[TaggedToken] = []
        self.is_divided = False

    @classmethod
    def of_part(
        cls,
        head: TaggedToken,
        location_words: list[TaggedToken],
        modifiers: list[TaggedToken],
    ) -> MentionDraft:
        """Draft a part of the body: "right hilum" is the hilum, at "right".

        Args:
            head: the part.
            location_words: words of the location, the head among them.
            modifiers: words that describe it.
        """
        locations = [token for token in location_words if token is not head]
        return cls(head, locations, modifiers)

    @property
    def is_finding(self) -> bool:
        """Whether it is no part of the body."""
        return self.head.kind == "finding"

    @property
    def is_device(self) -> bool:
        """Whether it is a device, an operation or a procedure."""
        return self.head.code == DEVICE

    @property
    def all_locations(self) -> list[TaggedToken]:
        """Places of every row that it makes."""
        locations = list(self.locations)
        for group in self.location_groups:
            locations += group
        return locations

    @property
    def is_described(self) -> bool:
        """Whether something is said of a part of the body: a state or a change."""
        return self.is_judged or any(word.code in COURSES for word in self.modifiers)

    @property
    def is_judged(self) -> bool:
        """Whether a part of the body is called normal or abnormal: then it is a row."""
        if self.head.code == "normal" or says_state(self.modifiers):
            return True
        return self.has_modifier_of("worsened") or self.is_compared

    @property
    def is_compared(self) -> bool:
        """ "The cardiac silhouette is stable": of a silhouette that is a row."""
        return self.head.name in WORDS["sized"] and self.has_modifier_of("no_change")

    @property
    def has_definite_location(self) -> bool:
        """Whether a finding lies somewhere, so that what it is near to does not count.

        A mere side is none: a nodule "on the right over the fifth rib" has no better
        location than the rib.
        """
        return not self.is_device and any(
            _is_definite_location(location) for location in self.all_locations
        )

    @property
    def is_described_before(self) -> bool:
        """Whether words before a part of the body describe it.

        "normal heart size and ...".
        """
        describing = inherited_modifiers(self)
        return bool(describing) and describing[0].begin < self.head.begin

    def has_modifier_of(self, column: str) -> bool:
        """Whether a word of this column describes it."""
        return any(word.code == column for word in self.modifiers)

    def complete(self) -> None:
        """Give it the location that no words gave it, and the name that this makes."""
        if not self.location_groups:
            self.locations = self.locations or self.sub_heading
        if self._lies_where_its_sign_lies():
            located_sign = next(filter(_has_location, self.signs), self)
            self.locations = located_sign.locations
            self.location_groups = located_sign.location_groups
        # "Abnormality of the ribs" is one of bones.
        is_of_bones = any(
            location.name in WORDS["bones"] for location in self.all_locations
        )
        if is_of_bones and self.head.name in WORDS["abnormalities"]:
            osseous = LexiconEntry("finding", "osseous abnormality", self.head.code)
            self.head.become(osseous)

    def _lies_where_its_sign_lies(self) -> bool:
        """ "Opacity at the left base, likely pneumonia": the pneumonia lies there."""
        is_everywhere = self.head.name in WORDS["everywhere"]
        return not (self.all_locations or is_everywhere or self.head.negation)


def _has_location(draft: MentionDraft) -> bool:
    return bool(draft.locations or draft.location_groups)


def _is_definite_location(location: TaggedToken) -> bool:
    # "Bones" and findings are what a shadow projects over.
    if location.name == "bones" or location.kind == "finding":
        return False
    is_within_a_side = location.form in WORDS["within_a_side"]
    return location.kind == "anatomy" or not location.is_single_word or is_within_a_side


def inherited_modifiers(part: MentionDraft) -> list[TaggedToken]:
    """Take what is said of a joined part, too: "normal heart size and mediastinum"."""
    return [
        word for word in part.modifiers if word.kind == "normal" or word.code in COURSES
    ]


def says_state(words: list[TaggedToken]) -> bool:
    """Whether a part of the body is called normal or abnormal by one of these words."""
    return any(word.kind in ("normal", "abnormal") for word in words)


def read_as_course(token: TaggedToken) -> None:
    """Read a size as a change: a finding that "has increased" is worse.

    Of a part of the body it is the size: "the heart is increased".
    """
    token.code = _COURSE_OF_SIZE.get(token.form, token.code)
