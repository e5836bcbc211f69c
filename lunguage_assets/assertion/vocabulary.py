"""What spellings mean: words of findings and places, grammar, and cues, as one tree.

The word files are `resources/structuring/*.yaml` and `resources/assertion/*.yaml`; the
header of each says what its groups mean. Which of two meanings of a spelling counts
stands on the page of the method (assertion.md, "What wins"). A meaning that hangs on
other units of the sentence is not here: `tagging.py` and `noun_phrases.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, RootModel

from lunguage_assets.assertion.categories import Category
from lunguage_assets.assertion.cues import FILES as CUE_FILES
from lunguage_assets.assertion.cues import Cue, bundled_cues, cue_path
from lunguage_assets.assertion.hedges import hedge_cues
from lunguage_assets.assertion.tokens import (
    MASK,
    Token,
    Tokenizer,
    bundled_tokenizer,
    groups_of,
)
from lunguage_assets.assertion.word_files import require, word_file, word_path
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.columns import CATEGORIES

Kind = Literal[
    # what something can be said of, and words that say something of it
    "finding", "anatomy", "place", "word", "abnormal", "normal",
    # grammar
    "break", "copula", "seen", "link", "preposition", "with", "article", "and", "comma",
    # cues, by category; doubt is a negation, and a setting a hedge
    "negated", "negated before", "ended", "partial", "partial before", "hedged",
    "hedged before", "alternative",
    "question", "past", "examination", "examined", "recommendation", "aim", "condition",
    "relative", "limitation", "limitation before", "reservation",
    "mimic before",
    "other",
]  # fmt: skip
"""What a spelling is for the rules; `other` is an unknown word."""

UNDECIDED = "undecided"
"""Name of words that are between normal and abnormal themselves: "borderline"."""
ELSEWHERE = "elsewhere"
"""Name of places that a chest film does not show."""
DEVICE_PART = "part"
"""Name of words for the end of a device."""
REPOSITIONING = "move"
"""Name of what is recommended for a device that is there."""
_CLAUSE_SIGNS = frozenset({".", ";", ",", ":", "("})
_NEAR = 12
"""Tokens that are near enough for a cue that counts beside others only."""
HARMLESS = "harmless"
"""Name of words that speak of doubt elsewhere, and not here: "than before"."""
SETTING = "setting"
"""Name of cues that leave open what is said where nothing else does."""

_WORD_FILES = (
    "attributes", "devices", "findings", "no_findings", "places", "rules", "words",
)  # fmt: skip
_GRAMMAR: Mapping[str, Kind] = {
    "prepositions": "preposition",
    "articles": "article",
    "seen": "seen",
    "links": "link",
    "with": "with",
    "copulas": "copula",
    "breaks": "break",
    "commas": "comma",
    "ands": "and",
}
"""Groups of grammar.yaml."""
_DESCRIBING: Mapping[str, tuple[Kind, str]] = {
    "words": ("word", ""),
    "abnormal": ("abnormal", ""),
    "normal": ("normal", ""),
    "undecided": ("abnormal", UNDECIDED),
}
"""Groups of attributes.yaml."""


class LexiconEntry(NamedTuple):
    """What a spelling means.

    Attributes:
        kind: what it is for the rules.
        name: canonical name of a finding or a part of the body.
        code: category of a finding, column of a describing word.
        cue: the cue that it is, if it is one.
    """

    kind: Kind
    name: str = ""
    code: str = ""
    cue: Cue | None = None


NAMED = LexiconEntry("finding", MASK)
"""The meaning of a finding that is named by whoever asks (`named.py`)."""


class SpeakingWords(BaseModel, extra="forbid"):
    """Words that speak of one thing, why, and a sentence with them."""

    reason: str
    example: str
    words: list[str]


class UnansweredFile(BaseModel, extra="forbid"):
    """The content of resources/assertion/unanswered.yaml."""

    groups: dict[str, SpeakingWords]


@cache
def unanswered_file() -> UnansweredFile:
    """Read the words of doubt that have to be answered for."""
    return read_as(cue_path("unanswered"), UnansweredFile)


class _Grammar(RootModel[dict[str, list[str]]]):
    """Groups of words that hold a sentence together."""


_Branch = dict[str | None, Any]
"""Word -> what may follow; None -> the senses of the spelling that ends here."""


class Vocabulary:
    """All spellings as one tree of words, of which the longest wins."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokens = tokenizer.tokens
        self._tree: _Branch = {}

    @classmethod
    def of_cue(cls, cue: Cue) -> Vocabulary:
        """Make a vocabulary that has the words of one cue alone."""
        vocabulary = cls(bundled_tokenizer())
        _add_cue(vocabulary, cue)
        return vocabulary

    @classmethod
    def of_cues(cls) -> Vocabulary:
        """Make a vocabulary that has grammar and bundled cues, and names nothing."""
        vocabulary = cls(bundled_tokenizer())
        for spelling, sense in _words_of_grammar():
            vocabulary.add(spelling, sense)
        for cue in (*hedge_cues(), *bundled_cues()):
            _add_cue(vocabulary, cue)
        return vocabulary

    def add(self, spelling: str, sense: LexiconEntry, *, replace: bool = True) -> None:
        """Add every alternative of a spelling.

        Group by group, so that what the alternatives have in common is walked once:
        some spellings have thousands.

        Args:
            spelling: words, with alternatives in brackets.
            sense: their meaning.
            replace: whether they lose the meaning that they had.
        """
        ends: list[_Branch] = [self._tree]
        for group in groups_of(spelling):
            choices = [self._forms(choice) for choice in group]
            # Two choices may be the same words ("effusion|effusions"): the branch where
            # they end is followed once.
            end_by_id: dict[int, _Branch] = {}
            for branch in ends:
                for forms in choices:
                    end = _descend(branch, forms)
                    end_by_id[id(end)] = end
            ends = list(end_by_id.values())
        for branch in ends:
            self._note(branch, sense, replace=replace)

    def _forms(self, words: str) -> tuple[str, ...]:
        # Blanks around tell a dash between words from a hyphen inside one.
        tokens = self.tokens(f" {words} ")
        return tuple(token.form for token in tokens)

    def add_literal(
        self, spelling: str, sense: LexiconEntry, *, replace: bool = True
    ) -> None:
        """Add a spelling in which brackets mean nothing; one without words is left out.

        Args:
            spelling: words.
            sense: their meaning.
            replace: whether they lose the meaning that they had.
        """
        branch = _descend(self._tree, self._forms(spelling))
        self._note(branch, sense, replace=replace)

    def _note(self, branch: _Branch, sense: LexiconEntry, *, replace: bool) -> None:
        """Add a meaning to the spelling that ends at a branch."""
        # A spelling without words would be found everywhere.
        if branch is self._tree:
            return
        senses = branch.setdefault(None, [])
        if _is_conditional(sense.cue):
            # Asked first; where it does not hold, the others count.
            senses.insert(0, sense)
        elif replace:
            senses[:] = [kept for kept in senses if _is_conditional(kept.cue)]
            senses.append(sense)
        elif not senses:
            senses.append(sense)

    def match(
        self, tokens: Sequence[Token], start: int, section: str = "find"
    ) -> tuple[LexiconEntry | None, int]:
        """Find the longest known spelling at a token.

        Args:
            tokens: of the sentence.
            start: position of the spelling's first token.
            section: code of the sentence's section.

        Returns:
            Its meaning and the position behind it; None and the next position where no
            spelling is known.
        """
        branches = [self._tree]
        spellings: list[tuple[list[LexiconEntry], int]] = []
        for position in range(start, len(tokens)):
            branches = _following(branches, tokens[position].form)
            if not branches:
                break
            for branch in branches:
                if None in branch:
                    spellings.append((branch[None], position + 1))
        # The longest that holds wins: "no longer" is a cue of its own, and no "no".
        for senses, end in reversed(spellings):
            for sense in senses:
                if _holds(sense.cue, tokens, start, end, section):
                    return sense, end
        return None, start + 1


def _descend(branch: _Branch, forms: Sequence[str]) -> _Branch:
    """Follow words through the tree, which grows where it has them not."""
    for form in forms:
        branch = branch.setdefault(form, {})
    return branch


def _following(branches: list[_Branch], form: str) -> list[_Branch]:
    """Go on by a word, and, where it is one, by "any adverb".

    "Cannot be entirely excluded" is a spelling of its own; "cannot be entirely ruled
    out" is not, and must not end there.
    """
    following = [branch[form] for branch in branches if form in branch]
    if form.endswith("ly"):
        following += [branch["adverb"] for branch in branches if "adverb" in branch]
    return following


def _is_conditional(cue: Cue | None) -> bool:
    return cue is not None and cue.is_conditional


def _holds(
    cue: Cue | None, tokens: Sequence[Token], start: int, end: int, section: str
) -> bool:
    """Whether a cue counts in this section and beside these words.

    Args:
        cue: that the spelling is; None: it is none, and counts everywhere.
        tokens: of the sentence.
        start: position of the spelling's first token.
        end: position behind its last token.
        section: code of the sentence's section.
    """
    if cue is None or not _is_conditional(cue):
        return True
    if cue.sections and section not in cue.sections:
        return False
    before = tokens[start - 1].form if start > 0 else "."
    behind = tokens[end].form if end < len(tokens) else "."
    if before in cue.not_after or behind in cue.not_before:
        return False
    if cue.only_after and before not in cue.only_after:
        return False
    if cue.begins and before not in _CLAUSE_SIGNS:
        return False
    if cue.after_any:
        earlier = tokens[max(0, start - _NEAR) : start]
        if cue.after_any.isdisjoint(_forms_of_clause(reversed(earlier))):
            return False
    if cue.before_any:
        later = tokens[end : end + _NEAR]
        return not cue.before_any.isdisjoint(_forms_of_clause(later))
    return True


def _forms_of_clause(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.form in (".", ";"):
            return
        yield token.form


# --- the words put together


def content_hash(*more: bytes, own_cues: Path | None = None) -> str:
    """Hash the bundled words, and what widens them; no vocabulary is built for it.

    Args:
        more: what else widens them.
        own_cues: a home's cue file.
    """
    word_files = (*_WORD_FILES, "languages")
    cue_files = (
        *CUE_FILES, "axes", "grammar", "shorthand", "unanswered", "harmless",
    )  # fmt: skip
    paths = [word_path(name) for name in word_files]
    paths += [cue_path(name) for name in cue_files]
    paths.append(resource("hedges.yaml"))
    paths.append(resource("terms.yaml"))
    if own_cues is not None:
        paths.append(own_cues)
    contents = [path.read_bytes() for path in paths]
    joined = b"\x1f".join([*contents, *more])
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


@cache
def bundled_vocabulary() -> Vocabulary:
    """Build the bundled vocabulary once; nobody widens this one."""
    return build_vocabulary()


def build_vocabulary(own_cues: Iterable[Cue] = ()) -> Vocabulary:
    """Build the bundled vocabulary anew, so that a caller may widen it.

    Args:
        own_cues: a home's cues (`own_cues.read_own_cues`), whose spellings lose the
            meaning that they have in the bundled files.

    Raises:
        ConfigurationError: a word file that cannot be read; names file and field.
    """
    vocabulary = Vocabulary(bundled_tokenizer())
    # Of a spelling that stands in several files the last one counts: findings before
    # cues, cues of `resources/assertion/` before hedging phrases (assertion.md).
    for spelling, sense in (*_words_of_grammar(), *_describing_words(), *_places()):
        vocabulary.add(spelling, sense)
    for cue in (*hedge_cues(), *bundled_cues()):
        _add_cue(vocabulary, cue)
    for spelling, sense in _findings():
        vocabulary.add(spelling, sense)
    # "Loss of muscle mass" names no mass.
    for spelling in word_file("no_findings")["no_findings", ""]:
        vocabulary.add(spelling, LexiconEntry("other"))
    # What a judge is asked about stands masked in its sentence.
    vocabulary.add_literal(MASK, NAMED)
    for cue in own_cues:
        _add_cue(vocabulary, cue)
    return vocabulary


def _add_cue(vocabulary: Vocabulary, cue: Cue) -> None:
    sense = sense_of(cue)
    # Words of a request, and harmless ones, count where they mean nothing else.
    replaces = cue.category not in ("question", "harmless")
    for pattern in cue.patterns:
        vocabulary.add(pattern, sense, replace=replaces)


def sense_of(cue: Cue) -> LexiconEntry:
    """Give the meaning of a cue's words for the rules."""
    sense = _SENSE_BY_CATEGORY[cue.category]._replace(cue=cue)
    if cue.direction == "before" and cue.category in _KIND_BEFORE:
        return sense._replace(kind=_KIND_BEFORE[cue.category])
    return sense


_SENSE_BY_CATEGORY: Mapping[Category, LexiconEntry] = {
    "negated": LexiconEntry("negated"),
    "doubted": LexiconEntry("negated"),
    "mimic": LexiconEntry("negated"),
    "ended": LexiconEntry("ended"),
    "partial": LexiconEntry("partial"),
    "hedged": LexiconEntry("hedged"),
    "alternative": LexiconEntry("alternative"),
    "setting": LexiconEntry("hedged before", SETTING),
    "question": LexiconEntry("question"),
    "past": LexiconEntry("past"),
    "examination": LexiconEntry("examination"),
    "examined": LexiconEntry("examined"),
    "recommendation": LexiconEntry("recommendation"),
    "repositioning": LexiconEntry("recommendation", REPOSITIONING),
    "aim": LexiconEntry("aim"),
    "condition": LexiconEntry("condition"),
    "relative": LexiconEntry("relative"),
    "device_part": LexiconEntry("other", DEVICE_PART),
    "limitation": LexiconEntry("limitation"),
    "reservation": LexiconEntry("reservation"),
    "harmless": LexiconEntry("other", HARMLESS),
}
"""What the words of a cue are for the rules, by its category."""
_KIND_BEFORE: Mapping[Category, Kind] = {
    "negated": "negated before",
    "doubted": "negated before",
    "mimic": "mimic before",
    "partial": "partial before",
    "hedged": "hedged before",
    "limitation": "limitation before",
}
"""The kind of cues that look before them alone."""


def _words_of_grammar() -> Iterator[tuple[str, LexiconEntry]]:
    grammar = read_as(cue_path("grammar"), _Grammar).root
    require("grammar", grammar, _GRAMMAR)
    for group, kind in _GRAMMAR.items():
        for spelling in grammar.get(group, ()):
            yield spelling, LexiconEntry(kind)


def _describing_words() -> Iterator[tuple[str, LexiconEntry]]:
    attributes = word_file("attributes")
    require("attributes", (group for group, _ in attributes), _DESCRIBING)
    require("attributes", (column for _, column in attributes), ATTRIBUTES)
    for describing, (kind, name) in _DESCRIBING.items():
        for (group, column), spellings in attributes.items():
            if group != describing:
                continue
            for spelling in spellings:
                yield spelling, LexiconEntry(kind, name, column)


def _places() -> Iterator[tuple[str, LexiconEntry]]:
    places = word_file("places")
    groups = ("anatomy", "normal", "details", "elsewhere")
    require("places", (group for group, _ in places), groups)
    for spelling in places.get(("details", ""), ()):
        yield spelling, LexiconEntry("place")
    for spelling in places.get(("elsewhere", ""), ()):
        yield spelling, LexiconEntry("place", ELSEWHERE)
    for (group, name), spellings in places.items():
        if group != "anatomy":
            continue
        for spelling in (name, *spellings):
            yield spelling, LexiconEntry("anatomy", name)
    # "Normal chest" is normal as a whole, whatever its words mean one by one.
    for (group, name), spellings in places.items():
        if group != "normal":
            continue
        for spelling in spellings:
            yield spelling, LexiconEntry("anatomy", name, "normal")


def _findings() -> Iterator[tuple[str, LexiconEntry]]:
    for file in ("findings", "devices"):
        findings = word_file(file)
        require(file, (category for category, _ in findings), CATEGORIES)
        for (category, name), spellings in findings.items():
            for spelling in (name, *spellings):
                yield spelling, LexiconEntry("finding", name, category)
