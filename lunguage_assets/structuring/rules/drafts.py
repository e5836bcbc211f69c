"""A mention while its sentence is being read: its head, locations and modifiers.

Locations and words are added phrase by phrase (`phrase_reader.py`); `mentions.py`
makes the rows of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lunguage_assets.assertion.lists import COURSES
from lunguage_assets.assertion.units import DEVICE, TaggedToken
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_COURSE_OF_SIZE = {
    "increased": "worsened",
    "decreased": "improved",
    "reduced": "improved",
    "diminished": "improved",
}


@dataclass(eq=False, slots=True)
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
    """

    head: TaggedToken
    locations: list[TaggedToken]
    modifiers: list[TaggedToken]
    location_groups: list[list[TaggedToken]] = field(default_factory=list)
    signs: list[MentionDraft] = field(default_factory=list)

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
        """Locations of every row that it makes."""
        locations = list(self.locations)
        for group in self.location_groups:
            locations += group
        return locations

    @property
    def is_described(self) -> bool:
        """Whether something is said of a part of the body: a state or a change."""
        return self.is_judged or self.has_modifier_of(*COURSES)

    @property
    def is_judged(self) -> bool:
        """Whether a part of the body is called normal or abnormal: then it is a row."""
        if self.head.code == "normal" or any(map(judges, self.modifiers)):
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
        if self.is_device:
            return False
        return any(
            location.kind == "anatomy" or not location.is_single_word
            for location in self.all_locations
        )

    def has_modifier_of(self, *columns: str) -> bool:
        """Whether a word of one of these columns describes it."""
        return any(word.code in columns for word in self.modifiers)

    def describe(self, words: list[TaggedToken]) -> None:
        """Say words of it, and locations that stand among them."""
        if self.is_finding:
            read_as_courses(words)
        self.modifiers = self.modifiers + words
        places = [word for word in words if word.kind == "place"]
        self.locations = self.locations + places

    def complete(self) -> None:
        """Give it the location that no words gave it, and the name that this makes."""
        # "Opacity at the left base, likely pneumonia": the pneumonia lies there. Heart
        # failure that an opacity suggests lies nowhere.
        is_everywhere = self.head.name in WORDS["everywhere"]
        is_located = self.all_locations or is_everywhere
        if self.signs and not is_located:
            self.locations = self.signs[0].locations
            self.location_groups = self.signs[0].location_groups
        # "Abnormality of the ribs" is one of bones.
        is_of_bones = any(
            location.name in WORDS["bones"] for location in self.all_locations
        )
        if is_of_bones and self.head.name in WORDS["abnormalities"]:
            osseous = LexiconEntry("finding", "osseous abnormality", self.head.code)
            self.head.become(osseous)


def judges(word: TaggedToken) -> bool:
    """Whether a word calls a part of the body normal or abnormal."""
    return word.kind in ("normal", "abnormal")


def read_as_courses(words: list[TaggedToken]) -> None:
    """Read sizes as changes: a finding that "has increased" is worse.

    Of a part of the body it is the size: "the heart is increased".
    """
    for word in words:
        word.code = _COURSE_OF_SIZE.get(word.form, word.code)


def judgements_of(draft: MentionDraft) -> list[TaggedToken]:
    """Take the words that call a part of the body normal or abnormal."""
    return list(filter(judges, draft.modifiers))


def is_wrong(judgement: TaggedToken) -> bool:
    """Whether a judgement calls a part of the body abnormal.

    "enlarged", "not normal".
    """
    return (judgement.kind == "abnormal") != judgement.is_denied
