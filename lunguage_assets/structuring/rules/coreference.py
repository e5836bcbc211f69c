"""Sentences that speak of the finding before them: "It measures 3 cm" (method.md 7).

A sentence is read alone first, with a pointer instead of the finding that it speaks of.
When the report is put together, the pointer is resolved: what is said of it is added to
the finding before. Sentences of different sections do not speak of each other
(method.md 7, point 10). What an addendum takes back is a matter of `addenda.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lunguage_assets.assertion.units import TaggedToken, first_beyond, first_kind
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import (
    CueUse,
    Mention,
    SectionedReport,
    SentenceReading,
    Span,
)
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.mentions import mention_of, rows_of
from lunguage_assets.tables import ATTRIBUTES

_THIS = LexiconEntry("finding", "this", "PF")
_THESE = LexiconEntry("finding", "these", "PF")
_VERBS: frozenset[Kind] = frozenset(
    {"copula", "hedged", "hedged before", "link", "ended", "negated before"}
)


@dataclass(frozen=True, slots=True)
class BackReference:
    """What a sentence says of the findings before it.

    Attributes:
        explaining: numbers of its mentions that say what those findings mean.
        repeating: numbers of its mentions that name one of them again: "this nodule".
        pointer: the word that stands for them, if any, as a mention with what is said
            of it.
    """

    explaining: tuple[int, ...]
    repeating: tuple[int, ...]
    pointer: Mention | None


@dataclass(frozen=True, slots=True)
class StandaloneReading(SentenceReading):
    """What a sentence states by itself, and what it says of the findings before it."""

    mentions: tuple[Mention, ...] = ()
    back_reference: BackReference | None = None


# --- in the sentence itself


def insert_pointer(tokens: list[TaggedToken]) -> None:
    """Make the subject of a sentence a finding where it stands for one or is left out.

    Args:
        tokens: of the sentence; changed in place.
    """
    if not tokens:
        return
    first = tokens[0]
    if first.form in WORDS["points_back"] and first.kind in ("break", "other"):
        if _is_subject_of_verb(tokens):
            # "These are new", "The findings are new", "This finding is new".
            first_two = tokens[:2]
            is_plural = any(tok.form in WORDS["points_at_several"] for tok in first_two)
            first.become(_THESE if is_plural else _THIS)
    elif _lacks_subject(first):
        tokens.insert(0, TaggedToken(_THIS, "", first.begin, first.begin))


def _is_subject_of_verb(tokens: list[TaggedToken]) -> bool:
    """Whether the first word is what its verb speaks of.

    "this finding also suggests".
    """
    # "It is difficult to exclude a fracture": "it" stands for nothing.
    stands_for_nothing = any(token.form in WORDS["nobody"] for token in tokens[1:4])
    if tokens[0].form == "it" and stands_for_nothing:
        return False
    for token in tokens[1:]:
        if token.form not in WORDS["passed_over"]:
            return token.kind in _VERBS
    return False


def _lacks_subject(first: TaggedToken) -> bool:
    """ "Measures 3 cm.", "Likely represents scarring.", but not "Likely scarring."."""
    has_several_words = first.end > first.begin + len(first.form)
    begins_predicate = has_several_words and first.form in WORDS["without_subject"]
    return first.form == "measure" or begins_predicate


def is_pointer(draft: MentionDraft) -> bool:
    """Whether a draft is a word that stands for the findings before the sentence."""
    return draft.head.sense in (_THIS, _THESE)


def back_reference(
    drafts: list[MentionDraft],
    pointer: MentionDraft | None,
    tokens: list[TaggedToken],
    text: str,
) -> BackReference | None:
    """Collect what a sentence says of the findings before it.

    Args:
        drafts: the mentions that it states itself.
        pointer: the draft that stands for the findings before it.
        tokens: of the sentence.
        text: of the sentence.

    Returns:
        None where it does not speak of them.
    """
    repeated = _named_again(tokens)
    if pointer is None and not repeated:
        return None
    explaining: list[int] = []
    repeating: list[int] = []
    for number, row in enumerate(rows_of(drafts)):
        # "This may be pneumonia": the pointer is a sign of the pneumonia.
        if pointer in row.draft.signs:
            explaining.append(number)
        if row.draft.head in repeated:
            repeating.append(number)
    pointer_mention: Mention | None = None
    if pointer is not None:
        pointer_mention = _mention_of_pointer(pointer, drafts, tokens, text)
    return BackReference(tuple(explaining), tuple(repeating), pointer_mention)


def _named_again(tokens: Sequence[TaggedToken]) -> list[TaggedToken]:
    """Find the findings that "this" or "these" names again: "this small nodule"."""
    repeated: list[TaggedToken] = []
    for at, token in enumerate(tokens):
        if token.kind == "break" and token.form in ("this", "these"):
            following = first_beyond(tokens[at + 1 :], ("word", "other"))
            if following is not None and following.kind == "finding":
                repeated.append(following)
    return repeated


def _mention_of_pointer(
    pointer: MentionDraft,
    drafts: list[MentionDraft],
    tokens: list[TaggedToken],
    text: str,
) -> Mention:
    """Make a mention of the pointer, with what is said of it before its meaning.

    "This is larger and may represent a new mass": larger is said of it, new of the
    mass.
    """
    locations = pointer.all_locations
    # "This could be evaluated by CT of the chest": the location is that of the
    # examination.
    if first_kind(tokens, ("examined", "examination", "hedged", "link")):
        locations = []
    return mention_of(pointer, locations, text)


# --- in the report


class CoreferenceResolver:
    """Puts the sentences of a report together, one after the other.

    Args:
        report: whose sentences they are.

    Attributes:
        mentions: of the sentences so far.
    """

    def __init__(self, report: SectionedReport) -> None:
        self.mentions: list[Mention] = []
        self._report = report
        self._antecedents: list[int] = []
        """Numbers of the findings that the next sentence may speak of."""
        self._section = ""

    def add(self, position: int, reading: StandaloneReading) -> SentenceReading:
        """Add the next sentence.

        Returns:
            What became of it: one that only speaks of the findings before it states
            nothing itself.
        """
        sentence = self._report.sentences[position]
        # "It" at the begin of the impression speaks of no finding above it.
        if sentence.section != self._section:
            self._section = sentence.section
            self._antecedents = []
        first = len(self.mentions)
        begin = sentence.span.begin
        for mention in reading.mentions:
            self.mentions.append(_in_report(mention, position, begin, first))
        reference = reading.back_reference
        account: SentenceReading = reading
        if self._antecedents and reference is not None:
            says_something = self._resolve(reference, position, first)
            if says_something and not reading.mentions:
                account = SentenceReading("nothing stated", "finding before")
        elif self._antecedents and reading.mentions:
            self._explain_signs_before(first)
        self._remember_findings(reading, first)
        return account

    def _remember_findings(self, reading: StandaloneReading, first: int) -> None:
        """Note which findings the next sentence may speak of."""
        reference = reading.back_reference
        # "Nodule. It is unchanged. It measures 3 cm.": all three speak of the nodule.
        # After a sentence that is about something else "it" would not.
        if not reading.mentions:
            if reference is None:
                self._antecedents = []
            return
        # "Opacity. This may be pneumonia. It is unchanged.": "it" is still the opacity.
        if reference is not None and reference.explaining and self._antecedents:
            return
        self._antecedents = [
            number
            for number in range(first, len(self.mentions))
            if _may_be_pointed_at(self.mentions[number])
        ]

    def _resolve(self, reference: BackReference, position: int, first: int) -> bool:
        """Add what a sentence says of the findings before it to these findings.

        Args:
            reference: of the sentence.
            position: of the sentence in the report.
            first: number of its first mention.

        Returns:
            Whether its pointer says something of them.
        """
        antecedents = self._referents(reference)
        says_something = False
        if reference.pointer is not None:
            begin = self._report.sentences[position].span.begin
            pointer = _in_report(reference.pointer, position, begin, 0)
            says_something = self._add_attributes(antecedents, pointer)
        for number in reference.explaining:
            self._explain(antecedents, first + number)
        # "Nodule in the left apex. This nodule is new.": it is in the left apex, too.
        for number in reference.repeating:
            name = self.mentions[first + number].normed_ent
            namesakes = self._of_name(name, self._antecedents)
            self._take_location(namesakes, first + number)
        return says_something

    def _referents(self, reference: BackReference) -> list[int]:
        """Find which findings before are meant: "these" are all of them, "this" is one.

        It is one that explains no other: the last sign, else the last finding.
        """
        pointer = reference.pointer
        if pointer is not None and pointer.normed_ent == _THESE.name:
            return self._antecedents
        unexplaining = [
            number for number in self._antecedents if not self.mentions[number].evidence
        ]
        candidates = unexplaining or self._antecedents
        names = [self.mentions[number].normed_ent for number in candidates]
        # "Opacity and effusion. This may be pneumonia.": an opacity may be something
        # else, an effusion is what it is.
        signs = [name for name in names if name in WORDS["signs"]]
        last_name = (signs or names)[-1]
        # Opacities at two locations are two rows, and both are meant.
        return self._of_name(last_name, candidates)

    def _of_name(self, name: str, numbers: Sequence[int]) -> list[int]:
        return [
            number for number in numbers if self.mentions[number].normed_ent == name
        ]

    def _add_attributes(self, antecedents: list[int], pointer: Mention) -> bool:
        """Add what is said of a pointer to the findings that it stands for.

        Returns:
            Whether anything was said: "It has resolved" and "It measures 3 cm" say
            something, "It is not a nodule" does not.
        """
        attributes = dict(pointer.attributes)
        # "It was present on the prior CT": the finding before it is there all the same.
        attributes.pop("past_hx", None)
        # "It has resolved" denies the finding; "It is not a nodule" only a name for it.
        has_gone = pointer.status.endswith("n")
        if has_gone and "improved" not in attributes:
            return False
        if not attributes and not pointer.location:
            return False
        for number in antecedents:
            mention = self.mentions[number]
            if has_gone:
                mention = replace(mention, status=pointer.status)
            self.mentions[number] = replace(
                mention,
                location=mention.location or pointer.location,
                attributes=_united(mention, attributes),
            )
        return True

    def _explain(self, signs: list[int], cause: int) -> None:
        """Make signs the evidence of what explains them; it lies where they lie."""
        mention = self.mentions[cause]
        # "This is not pneumonia": what is denied explains nothing.
        if mention.status.endswith("n"):
            return
        self.mentions[cause] = replace(mention, evidence=(*mention.evidence, *signs))
        for sign in signs:
            associate = (*self.mentions[sign].associate, cause)
            self.mentions[sign] = replace(self.mentions[sign], associate=associate)
        # Heart failure does not lie where the opacity is that shows it.
        if mention.normed_ent not in WORDS["everywhere"]:
            self._take_location(signs, cause)

    def _take_location(self, antecedents: list[int], number: int) -> None:
        """Give a finding without a location that of the findings before it.

        Findings of different names give one only where they share it.
        """
        if self.mentions[number].location:
            return
        location_by_words: dict[tuple[str, ...], tuple[Span, ...]] = {}
        for antecedent in antecedents:
            location = self.mentions[antecedent].location
            words = tuple(span.of(self._report.text) for span in location)
            location_by_words[words] = location
        names = {self.mentions[antecedent].normed_ent for antecedent in antecedents}
        if len(names) != 1 and len(location_by_words) != 1:
            return
        spans: list[Span] = []
        for location in location_by_words.values():
            spans += location
        self.mentions[number] = replace(self.mentions[number], location=tuple(spans))

    def _explain_signs_before(self, first: int) -> None:
        """Make what is left open explain the signs of the sentence before.

        "Opacity in the lingula. Pneumonia cannot be excluded.": it is left open there.

        Args:
            first: number of the sentence's first mention.
        """
        signs = self._antecedents
        names = {self.mentions[sign].normed_ent for sign in signs}
        if not names <= WORDS["explained_signs"]:
            return
        for number in range(first, len(self.mentions)):
            if _is_open_cause(self.mentions[number]):
                self._explain(signs, number)


def _may_be_pointed_at(mention: Mention) -> bool:
    """Whether "it" may be this mention: a finding that is there, and no device."""
    return mention.cat in ("PF", "CF") and mention.status.endswith("p")


def _is_open_cause(mention: Mention) -> bool:
    """Whether a mention is left open, and its own sentence does not say of what it is.

    A location of its own would be another one than that of the signs.
    """
    is_open = mention.status == "tp" and not mention.location and not mention.evidence
    return is_open and mention.normed_ent in WORDS["causes_of_signs"]


def _in_report(mention: Mention, position: int, begin: int, first: int) -> Mention:
    """Make a mention of a sentence one of its report.

    Args:
        mention: with spans and numbers of its sentence.
        position: of the sentence in the report.
        begin: of the sentence in the report's text.
        first: number of the sentence's first mention in the report.
    """
    attributes: dict[str, tuple[Span, ...]] = {}
    for column, values in mention.attributes.items():
        attributes[column] = tuple(span.moved(begin) for span in values)
    return Mention(
        sentence=position,
        ent=mention.ent.moved(begin),
        normed_ent=mention.normed_ent,
        cat=mention.cat,
        status=mention.status,
        location=tuple(span.moved(begin) for span in mention.location),
        attributes=attributes,
        evidence=tuple(number + first for number in mention.evidence),
        associate=tuple(number + first for number in mention.associate),
        cues=tuple(CueUse(use.cue, use.span.moved(begin)) for use in mention.cues),
    )


def _united(
    mention: Mention, added: dict[str, tuple[Span, ...]]
) -> dict[str, tuple[Span, ...]]:
    united: dict[str, tuple[Span, ...]] = {}
    for column in ATTRIBUTES:
        values = (*mention.attributes.get(column, ()), *added.get(column, ()))
        if values:
            united[column] = values
    return united
