"""What spellings mean: words of findings and places, grammar, and cues.

The word files are `resources/structuring/*.yaml` and `resources/assertion/*.yaml`; the
header of each says what its groups mean. Which of two meanings of a spelling counts
stands on the page of the method (assertion.md, "What wins"). A meaning that hangs on
other units of the sentence is not here: `tagging.py` and `noun_phrases.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, takewhile
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import RootModel

from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.categories import Kind as Kind
from lunguage_assets.assertion.cues import Cue, bundled_cues, cue_path
from lunguage_assets.assertion.hedges import hedge_cues
from lunguage_assets.assertion.tokens import (
    MASK,
    Token,
    bundled_tokenizer,
    choices_of,
)
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.packaged_data import read_as, resource

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
        cue: the cue that it is, if it is one.
    """

    kind: Kind
    name: str = ""
    code: str = ""
    cue: Cue | None = None


NAMED = LexiconEntry("finding", MASK)
"""The meaning of a finding that is named by whoever asks (`named.py`)."""

_DESCRIBING = {
    "words": LexiconEntry("word"),
    "abnormal": LexiconEntry("abnormal"),
    "normal": LexiconEntry("normal"),
    "undecided": LexiconEntry("abnormal", UNDECIDED),
}
"""Groups of attributes.yaml."""


class _Grammar(RootModel[dict[Kind, list[str]]]):
    """Groups of words that hold a sentence together."""


class _Spelling(NamedTuple):
    """A spelling that was added.

    Attributes:
        choices: of each of its parts, the forms of words that may stand there.
        entry: its meaning.
        replaces: whether it takes away the meaning that its wordings had.
    """

    choices: list[tuple[tuple[str, ...], ...]]
    entry: LexiconEntry
    replaces: bool


class _Branch:
    """What may follow the words read so far.

    A branch is made when a text has its words: some spellings have thousands of
    wordings, hardly any of which stands in a report.
    """

    def __init__(self) -> None:
        self._expected: dict[str, list[tuple[_Spelling, int, tuple[str, ...]]]] = {}
        self._branches: dict[str, _Branch] = {}
        self.entries: list[LexiconEntry] = []

    def open(self, spelling: _Spelling, part: int) -> None:
        """Expect a spelling from one of its parts on.

        Args:
            spelling: whose words were read so far.
            part: number of the part; beyond the last one: the spelling ends here.
        """
        self._branches.clear()
        if part == len(spelling.choices):
            self._note(spelling)
            return
        for forms in spelling.choices[part]:
            if forms:
                self._expect(spelling, part, forms)
            else:
                self.open(spelling, part + 1)

    def _expect(self, spelling: _Spelling, part: int, forms: tuple[str, ...]) -> None:
        continuation = (spelling, part, forms[1:])
        self._expected.setdefault(forms[0], []).append(continuation)

    def _note(self, spelling: _Spelling) -> None:
        entry = spelling.entry
        if entry.cue is not None and entry.cue.is_conditional:
            # Asked first; where it does not hold, the others count.
            self.entries.insert(0, entry)
        elif spelling.replaces or not self.entries:
            self.entries = [
                other
                for other in self.entries
                if other.cue is not None and other.cue.is_conditional
            ]
            self.entries.append(entry)

    def after(self, form: str) -> _Branch | None:
        """Go on by a word, or as any adverb; None: no spelling does.

        "Cannot be entirely excluded" is a spelling of its own; "cannot be entirely
        ruled out" is not, and must not end there.
        """
        # Most words of a text were read before, or go on with nothing.
        if form in self._branches:
            return self._branches[form]
        continuations = self._expected.get(form, [])
        if form.endswith("ly"):
            continuations = continuations + self._expected.get(_ADVERB, [])
            # One branch for all adverbs that are in no spelling.
            form = form if form in self._expected else _ADVERB
        if continuations and form not in self._branches:
            branch = _Branch()
            for spelling, part, forms in continuations:
                if forms:
                    branch._expect(spelling, part, forms)
                else:
                    branch.open(spelling, part + 1)
            self._branches[form] = branch
        return self._branches.get(form)


class Vocabulary:
    """All spellings, of which the longest wins."""

    def __init__(self) -> None:
        self.tokens = bundled_tokenizer().tokens
        self._root = _Branch()

    @classmethod
    def of_cues(cls, cues: Iterable[Cue]) -> Vocabulary:
        """Make a vocabulary that has the words of some cues alone."""
        vocabulary = cls()
        vocabulary.add_all(_words_of_cues(cues))
        return vocabulary

    def add_all(self, entries: Iterable[tuple[str, LexiconEntry]]) -> None:
        """Add spellings with alternatives in brackets; the last meaning counts."""
        for pattern, entry in entries:
            choices = [tuple(map(_forms, part)) for part in choices_of(pattern)]
            # Words of a request, and harmless ones, count where they mean nothing else.
            is_weak = entry.cue is not None and entry.cue.category in _WEAK
            self._root.open(_Spelling(choices, entry, replaces=not is_weak), 0)

    def add_literal(
        self, spelling: str, entry: LexiconEntry, *, replace: bool = True
    ) -> None:
        """Add a spelling in which brackets mean nothing.

        Args:
            spelling: words.
            entry: their meaning.
            replace: whether they lose the meaning that they had.
        """
        self._root.open(_Spelling([(_forms(spelling),)], entry, replace), 0)

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
        spellings: list[list[LexiconEntry]] = []
        branch = self._root.after(tokens[start].form)
        while branch is not None:
            spellings.append(branch.entries)
            end = start + len(spellings)
            branch = branch.after(tokens[end].form) if end < len(tokens) else None
        # The longest that holds wins: "no longer" is a cue of its own, and no "no".
        while spellings:
            end = start + len(spellings)
            for entry in spellings.pop():
                if _holds(entry.cue, tokens, start, end, section):
                    return entry, end
        return None, start + 1

    def knows_any_of(self, text: str, section: str) -> bool:
        """Whether any of its spellings counts in a sentence.

        Args:
            text: of the sentence.
            section: code of its section.
        """
        tokens = self.tokens(text)
        entries = (self.match(tokens, at, section)[0] for at in range(len(tokens)))
        return any(entry is not None for entry in entries)


_WEAK = ("question", "harmless")


@cache
def _forms(words: str) -> tuple[str, ...]:
    return bundled_tokenizer().forms(words)


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
    if cue is None or not cue.is_conditional:
        return True
    if cue.sections and section not in cue.sections:
        return False
    earlier = _clause(reversed(tokens[max(0, start - _NEAR) : start]))
    later = _clause(tokens[end : end + _NEAR])
    before = tokens[start - 1].form if start > 0 else "."
    behind = tokens[end].form if end < len(tokens) else "."
    if before in cue.not_after or behind in cue.not_before:
        return False
    required = (
        (cue.only_after, {before}), (cue.after_any, earlier), (cue.before_any, later),
    )  # fmt: skip
    return all(words & near for words, near in required if words)


def _clause(tokens: Iterable[Token]) -> set[str]:
    """Take the forms up to the end of the clause."""
    forms = (token.form for token in tokens)
    return set(takewhile(lambda form: form not in (".", ";"), forms))


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
    contents = [path.read_bytes() for path in paths]
    joined = b"\x1f".join([*contents, *more])
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


@cache
def bundled_vocabulary() -> Vocabulary:
    """Build the bundled vocabulary once; nobody widens this one."""
    return build_vocabulary()


@cache
def vocabulary_of_cues() -> Vocabulary:
    """Build a vocabulary once that has grammar and cues, and names nothing."""
    vocabulary = Vocabulary()
    vocabulary.add_all(_words_of_grammar())
    vocabulary.add_all(_words_of_cues((*hedge_cues(), *bundled_cues())))
    return vocabulary


def build_vocabulary(own_cues: Iterable[Cue] = ()) -> Vocabulary:
    """Build the bundled vocabulary anew, so that a caller may widen it.

    Args:
        own_cues: a home's cues (`own_cues.read_own_cues`), whose spellings lose the
            meaning that they have in the bundled files.

    Raises:
        ConfigurationError: a word file that cannot be read; names file and field.
    """
    vocabulary = Vocabulary()
    no_findings = word_file("no_findings")["no_findings"]
    # Of a spelling that stands in several files the last one counts: findings before
    # cues, cues of `resources/assertion/` before hedging phrases (assertion.md).
    vocabulary.add_all(
        chain(
            _words_of_grammar(),
            _describing_words(),
            _places(),
            _words_of_cues((*hedge_cues(), *bundled_cues())),
            _findings(),
            # "Loss of muscle mass" names no mass.
            _spellings(no_findings, LexiconEntry("other")),
        )
    )
    # What a judge is asked about stands masked in its sentence.
    vocabulary.add_literal(MASK, NAMED)
    vocabulary.add_all(_words_of_cues(own_cues))
    return vocabulary


def _spellings(
    listed: Mapping[str, list[str]], entry: LexiconEntry
) -> Iterator[tuple[str, LexiconEntry]]:
    """Yield names and their spellings, with what they mean."""
    for name, spellings in listed.items():
        named = entry._replace(name=name or entry.name)
        yield from ((spelling, named) for spelling in (name, *spellings) if spelling)


def _words_of_cues(cues: Iterable[Cue]) -> Iterator[tuple[str, LexiconEntry]]:
    for cue in cues:
        yield from ((pattern, entry_of(cue)) for pattern in cue.patterns)


def entry_of(cue: Cue) -> LexiconEntry:
    """Give the meaning of a cue's words for the rules."""
    rule = CATEGORIES[cue.category]
    kind = cast(Kind, rule.kind or cue.category)
    if cue.direction == "before" and rule.kind_before:
        kind = rule.kind_before
    return LexiconEntry(kind, cue=cue)


def _words_of_grammar() -> Iterator[tuple[str, LexiconEntry]]:
    grammar = read_as(cue_path("grammar"), _Grammar).root
    for kind, spellings in grammar.items():
        yield from ((spelling, LexiconEntry(kind)) for spelling in spellings)


def _describing_words() -> Iterator[tuple[str, LexiconEntry]]:
    for group, entry in _DESCRIBING.items():
        for column, spellings in word_file("attributes")[group].items():
            described = entry._replace(code=column)
            yield from ((spelling, described) for spelling in spellings)


def _places() -> Iterator[tuple[str, LexiconEntry]]:
    places = word_file("places")
    yield from _spellings(places["details"], LexiconEntry("place"))
    yield from _spellings(places["elsewhere"], LexiconEntry("place", ELSEWHERE))
    yield from _spellings(places["anatomy"], LexiconEntry("anatomy"))
    # "Normal chest" is normal as a whole, whatever its words mean one by one.
    for name, spellings in places["normal"].items():
        normal = LexiconEntry("anatomy", name, "normal")
        yield from ((spelling, normal) for spelling in spellings)


def _findings() -> Iterator[tuple[str, LexiconEntry]]:
    for file in ("findings", "devices"):
        for code, findings in word_file(file).items():
            yield from _spellings(findings, LexiconEntry("finding", code=code))
