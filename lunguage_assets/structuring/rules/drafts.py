"""A mention while its sentence is being read: its head, places and modifiers.

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
        places: where all its rows lie.
        place_groups: places that each make a row of their own: "on the right and in the
            lingula".
        modifiers: words that describe it.
        signs: the findings that support it: of "opacity may represent pneumonia", the
            opacity.
        sub_heading: organs of the sub-heading that it stands under; its place if it has
            no other.
        is_divided: whether another row of the same part judges it along another axis.
    """

    __slots__ = (
        "head", "is_divided", "modifiers", "place_groups", "places", "signs",
        "sub_heading",
    )  # fmt: skip

    def __init__(
        self,
        head: TaggedToken,
        places: list[TaggedToken],
        modifiers: list[TaggedToken],
    ) -> None:
        self.head = head
        self.places = places
        self.modifiers = modifiers
        self.place_groups: list[list[TaggedToken]] = []
        self.signs: list[MentionDraft] = []
        self.sub_heading: list[TaggedToken] = []
        self.is_divided = False

    @classmethod
    def of_part(
        cls,
        head: TaggedToken,
        place_words: list[TaggedToken],
        modifiers: list[TaggedToken],
    ) -> MentionDraft:
        """Draft a part of the body: "right hilum" is the hilum, at "right".

        Args:
            head: the part.
            place_words: words of the place, the head among them.
            modifiers: words that describe it.
        """
        places = [token for token in place_words if token is not head]
        return cls(head, places, modifiers)

    @property
    def is_finding(self) -> bool:
        """Whether it is no part of the body."""
        return self.head.kind == "finding"

    @property
    def is_device(self) -> bool:
        """Whether it is a device, an operation or a procedure."""
        return self.head.code == DEVICE

    @property
    def all_places(self) -> list[TaggedToken]:
        """Places of every row that it makes."""
        places = list(self.places)
        for group in self.place_groups:
            places += group
        return places

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
    def has_definite_place(self) -> bool:
        """Whether a finding lies somewhere; what it is only near to is then no place.

        A mere side is none: a nodule "on the right, over the fifth rib" has no better
        place than the rib.
        """
        return not self.is_device and any(
            _is_definite_place(place) for place in self.all_places
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
        """Give it the place that no words gave it, and the name that this makes."""
        if not self.place_groups:
            self.places = self.places or self.sub_heading
        if self._lies_where_its_sign_lies():
            placed_sign = next(filter(_has_place, self.signs), self)
            self.places = placed_sign.places
            self.place_groups = placed_sign.place_groups
        # "Abnormality of the ribs" is one of bones.
        is_of_bones = any(place.name in WORDS["bones"] for place in self.all_places)
        if is_of_bones and self.head.name in WORDS["abnormalities"]:
            osseous = LexiconEntry("finding", "osseous abnormality", self.head.code)
            self.head.become(osseous)

    def _lies_where_its_sign_lies(self) -> bool:
        """ "Opacity at the left base, likely pneumonia": the pneumonia lies there."""
        is_everywhere = self.head.name in WORDS["everywhere"]
        return not (self.all_places or is_everywhere or self.head.negation)


def _has_place(draft: MentionDraft) -> bool:
    return bool(draft.places or draft.place_groups)


def _is_definite_place(place: TaggedToken) -> bool:
    # "Bones" and findings are what a shadow projects over.
    if place.name == "bones" or place.kind == "finding":
        return False
    is_within_a_side = place.form in WORDS["within_a_side"]
    return place.kind == "anatomy" or not place.is_single_word or is_within_a_side


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
