"""What spellings mean: words of findings and places, grammar, and cues.

The word files are `resources/structuring/*.yaml` and `resources/assertion/*.yaml`; the
header of each says what its groups mean. Which of two meanings of a spelling counts
stands on the page of the method (assertion.md, "What wins"). A meaning that hangs on
other units of the sentence is not here: `tagging.py` and `noun_phrases.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, cast

from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.categories import Kind as Kind
from lunguage_assets.assertion.cues import NO_CUE, Cue, bundled_cues
from lunguage_assets.assertion.tokens import (
    MASK,
    Token,
    choices_of,
    forms_of,
)
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.packaged_data import resource

UNDECIDED = "undecided"
"""Name of words that are between normal and abnormal themselves: "borderline"."""
ELSEWHERE = "elsewhere"
"""Name of places that a chest film does not show."""
_NEAR = 12
"""Tokens that are near enough for a cue that counts beside others only."""
_ADVERB = "adverb"
"""Stands for any word in -ly in a pattern."""


class LexiconEntry(NamedTuple):
    """What a spelling means.

    Attributes:
        kind: what it is for the rules.
        name: canonical name of a finding or a part of the body.
        code: category of a finding, column of a describing word.
        cue: the cue that it is.
    """

    kind: Kind
    name: str = ""
    code: str = ""
    cue: Cue = NO_CUE


_DESCRIBING = {
    "words": LexiconEntry("word"),
    "abnormal": LexiconEntry("abnormal"),
    "normal": LexiconEntry("normal"),
    "undecided": LexiconEntry("abnormal", UNDECIDED),
}
"""Groups of attributes.yaml."""
_PLACES = {
    "details": LexiconEntry("place"),
    "elsewhere": LexiconEntry("place", ELSEWHERE),
    "anatomy": LexiconEntry("anatomy"),
}
"""Groups of places.yaml."""

_Choices = list[tuple[tuple[str, ...], ...]]
"""Of each part of a spelling, the forms of words that may stand there."""
Spelling = tuple[list[list[str]], LexiconEntry]
"""Wordings of each part of a spelling (`tokens.choices_of`), and its meaning."""


class _Branch:
    """What may follow the words read so far.

    A branch is made when a text has its words: some spellings have thousands of
    wordings, hardly any of which stands in a report.
    """

    def __init__(self) -> None:
        self._expected: dict[str, list[tuple[_Choices, LexiconEntry]]] = {}
        self._branches: dict[str, _Branch] = {}
        self.entries: list[LexiconEntry] = []

    def expect(self, choices: _Choices, entry: LexiconEntry) -> None:
        """Expect the rest of a spelling, in each of its wordings."""
        if not choices:
            self.entries.insert(0, entry)
            # What counts beside some words only is asked first, then what came last.
            self.entries.sort(key=lambda entry: not entry.cue.is_conditional)
            return
        first, *behind = choices
        for forms in first:
            if forms:
                rest = [(forms[1:],), *behind]
                self._expected.setdefault(forms[0], []).append((rest, entry))
            else:
                self.expect(behind, entry)

    def after(self, form: str) -> _Branch | None:
        """Go on by a word, or as any adverb; None: no spelling does.

        "Cannot be entirely excluded" is a spelling of its own; "cannot be entirely
        ruled out" is not, and must not end there.
        """
        # Most words of a text were read before, or go on with nothing.
        if form in self._branches:
            return self._branches[form]
        expected = self._expected.get(form, [])
        if form.endswith("ly"):
            expected = expected + self._expected.get(_ADVERB, [])
        if not expected:
            return None
        branch = self._branches[form] = _Branch()
        for choices, entry in expected:
            branch.expect(choices, entry)
        return branch


class Vocabulary:
    """All spellings, of which the longest wins; of several meanings the last one.

    Args:
        spellings: in the order in which they count.
    """

    def __init__(self, spellings: Iterable[Spelling]) -> None:
        self._root = _Branch()
        for choices, entry in spellings:
            forms = [tuple(map(forms_of, part)) for part in choices]
            self._root.expect(forms, entry)

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
        longest: tuple[LexiconEntry | None, int] = (None, start + 1)
        branch = self._root.after(tokens[start].form)
        end = start
        while branch is not None:
            end += 1
            for entry in branch.entries:
                # "No longer" is a cue of its own, and no "no".
                if _holds(entry.cue, tokens, start, end, section):
                    longest = (entry, end)
                    break
            branch = branch.after(tokens[end].form) if end < len(tokens) else None
        return longest


def _holds(
    cue: Cue, tokens: Sequence[Token], start: int, end: int, section: str
) -> bool:
    """Whether a cue counts in this section and beside these words.

    Args:
        cue: that the spelling is.
        tokens: of the sentence.
        start: position of the spelling's first token.
        end: position behind its last token.
        section: code of the sentence's section.
    """
    if not cue.is_conditional:
        return True
    earlier = _clause(reversed(tokens[max(0, start - _NEAR) : start]))
    later = _clause(tokens[end : end + _NEAR])
    is_excluded = earlier[0] in cue.not_after or later[0] in cue.not_before
    if is_excluded or (cue.sections and section not in cue.sections):
        return False
    required = (
        (cue.only_after, earlier[:1]),
        (cue.after_any, earlier),
        (cue.before_any, later),
    )
    return all(not words or words.intersection(near) for words, near in required)


def _clause(tokens: Iterable[Token]) -> list[str]:
    """Take the forms up to the end of the clause, which is "."."""
    forms = (token.form for token in tokens)
    return [*takewhile(lambda form: form not in (".", ";"), forms), "."]


# --- the words put together


def content_hash(*more: bytes, own_cues: Path | None = None) -> str:
    """Hash the bundled words, and what widens them; no vocabulary is built for it.

    Args:
        more: what else widens them.
        own_cues: a home's cue file.
    """
    paths = [resource("hedges.yaml"), resource("terms.yaml")]
    for folder in ("assertion", "structuring"):
        paths += sorted(resource(folder).glob("*.yaml"))
    if own_cues is not None:
        paths.append(own_cues)
    joined = b"\x1f".join([*(path.read_bytes() for path in paths), *more])
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


@cache
def bundled_vocabulary() -> Vocabulary:
    """Build the bundled vocabulary once; nobody widens this one."""
    return build_vocabulary()


@cache
def vocabulary_of_cues() -> Vocabulary:
    """Build a vocabulary once that has grammar and cues, and names nothing."""
    return Vocabulary([*_grammar(), *words_of_cues(bundled_cues())])


def build_vocabulary(
    own_cues: Iterable[Cue] = (), terms: Iterable[Spelling] = ()
) -> Vocabulary:
    """Build the bundled vocabulary anew, and wider.

    Args:
        own_cues: a home's cues (`own_cues.read_own_cues`), whose spellings lose the
            meaning that they have in the bundled files.
        terms: further spellings, which add a meaning and never take one away.

    Raises:
        ConfigurationError: a word file that cannot be read; names file and field.
    """
    return Vocabulary([*terms, *_bundled_words(), *words_of_cues(own_cues)])


def words_of_cues(cues: Iterable[Cue]) -> Iterator[Spelling]:
    """Yield the spellings of cues with their meaning."""
    for cue in cues:
        yield from _meaning(cue.patterns, entry_of(cue))


def entry_of(cue: Cue) -> LexiconEntry:
    """Give the meaning of a cue's words for the rules."""
    rule = CATEGORIES[cue.category]
    kind = rule.kind or cue.category
    if cue.direction == "before" and rule.kind_before:
        kind = rule.kind_before
    return LexiconEntry(cast(Kind, kind), code=rule.code, cue=cue)


def _bundled_words() -> Iterator[Spelling]:
    """Yield all spellings: of one that stands in several files the last one counts."""
    yield from _grammar()
    for group, entry in _DESCRIBING.items():
        for column, spellings in word_file("attributes")[group].items():
            yield from _meaning(spellings, entry._replace(code=column))
    locations = word_file("places")
    for group, entry in _PLACES.items():
        for name, spellings in locations[group].items():
            named = entry._replace(name=name or entry.name)
            yield from _meaning([name, *spellings], named)
    # "Normal chest" is normal as a whole, whatever its words mean one by one.
    for name, spellings in locations["normal"].items():
        yield from _meaning(spellings, LexiconEntry("anatomy", name, "normal"))
    yield from words_of_cues(bundled_cues())
    for file in ("findings", "devices"):
        for code, findings in word_file(file).items():
            for name, spellings in findings.items():
                finding = LexiconEntry("finding", name, code)
                yield from _meaning([name, *spellings], finding)
    # What a judge is asked about stands masked in its sentence.
    yield from _meaning([MASK], LexiconEntry("finding", MASK))


def _grammar() -> Iterator[Spelling]:
    for group, listed in word_file("grammar").items():
        for code, spellings in listed.items():
            yield from _meaning(spellings, LexiconEntry(cast(Kind, group), code=code))


def _meaning(spellings: Iterable[str], entry: LexiconEntry) -> Iterator[Spelling]:
    yield from ((choices_of(spelling), entry) for spelling in spellings if spelling)
