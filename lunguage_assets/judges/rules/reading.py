"""What the rule-based judges share: comparing by scores, and the hedges of a masked finding.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases of its own, from
which it knows how sure a cue is.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lunguage_assets.assertion.governing import (
    PREFERRED,
    GoverningCue,
    NamedFinding,
    governing_cues,
    hedges_in,
)
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import (
    MASK,
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.scoring import chosen, unknown_deviation
from lunguage_assets.randomness import Floats

_TOKEN = re.compile(
    r"<finding>|and/or|vs\.|[a-z]+(?:['’-][a-z]+)*|\d+(?:[.,]\d+)*|[;:.,?()/]"
)
DOUBTING = frozenset({"doubted", "mimic", "reservation"})
"""Categories of cues that speak against a finding without excluding it: "a small one may be missed"."""
_HEDGING = frozenset({"hedged", "setting", "question"}) | DOUBTING
_DENYING = ("negated", "ended")
_BESIDE = 3
"""Words that may stand between a mention and a phrase that no cue of the engine explains."""
_CHAIN_BREAKS = frozenset({MASK, ".", ",", ";", ":", "and", "or", "but"})


class Words(NamedTuple):
    """A phrase, or a single word, with its characters in the sentence."""

    text: str
    begin: int
    end: int


def words_of(sentence: str, begin: int = 0, end: int | None = None) -> list[Words]:
    """Cut a sentence, or a part of it, into words and signs in lower case."""
    lower = sentence.lower()
    # A few letters have a longer lower case, which would shift all characters behind them.
    compared = lower if len(lower) == len(sentence) else sentence
    found = _TOKEN.finditer(compared, begin, len(sentence) if end is None else end)
    return [Words(match.group(), *match.span()) for match in found]


class PhraseTable:
    """Phrases that a judge knows, found in a sentence: the longest first, none overlapping.

    An adverb inside a phrase does not matter: "cannot be confidently excluded".
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[list[str]]] = {}
        for phrase in sorted(set(phrases), key=lambda text: (-text.count(" "), text)):
            words = phrase.split()
            self._by_first.setdefault(words[0], []).append(words)

    def found_in(self, sentence: str) -> list[Words]:
        """List the phrases of a sentence in order."""
        words = words_of(sentence)
        found: list[Words] = []
        at = 0
        while at < len(words):
            phrase, end = self._match(words, at)
            if phrase:
                found.append(Words(phrase, words[at].begin, words[end - 1].end))
            at = end
        return found

    def _match(self, words: Sequence[Words], at: int) -> tuple[str, int]:
        for phrase in self._by_first.get(words[at].text, ()):
            end = self._end(phrase, words, at)
            if end:
                return " ".join(phrase), end
        return "", at + 1

    def _end(self, phrase: Sequence[str], words: Sequence[Words], at: int) -> int:
        """Find the word behind a phrase that begins here, or 0."""
        for expected in phrase:
            is_inside = expected is not phrase[0] and len(phrase) > 2
            while (
                is_inside
                and at < len(words)
                and words[at].text != expected
                and self._is_adverb(words[at])
            ):
                at += 1
            if at == len(words) or words[at].text != expected:
                return 0
            at += 1
        return at

    def _is_adverb(self, word: Words) -> bool:
        return word.text.endswith("ly") and word.text not in self._by_first


class Hedging(NamedTuple):
    """A cue that hedges the finding, and the judge's phrases in it."""

    cue: GoverningCue
    phrases: tuple[Words, ...]

    @property
    def begin(self) -> int:
        """Where the cue begins, or a phrase that is longer ("low" of "low suspicion for")."""
        return min([self.cue.begin, *(phrase.begin for phrase in self.phrases)])

    @property
    def end(self) -> int:
        return max([self.cue.end, *(phrase.end for phrase in self.phrases)])


class Scope(NamedTuple):
    """How a sentence hedges its masked finding.

    Attributes:
        chain: the nearest hedge, and those next to it ("could possibly represent"), in the order of the text.
        farther: other hedges of the finding.
        joints: what joins it to alternatives.
        denials: what denies it.
        is_preferred: whether another finding is dismissed for it ("<finding> rather than edema").
        clauses: characters of the clauses in which it stands.
    """

    chain: tuple[Hedging, ...]
    farther: tuple[Hedging, ...]
    joints: tuple[Hedging, ...]
    denials: tuple[GoverningCue, ...]
    is_preferred: bool
    clauses: tuple[tuple[int, int], ...]

    @property
    def all(self) -> tuple[Hedging, ...]:
        """Hedges and joints."""
        return (*self.chain, *self.farther, *self.joints)


def scope_of(masked_sentence: str, table: PhraseTable) -> Scope:
    """Find what hedges the masked finding of a sentence."""
    named = governing_cues(masked_sentence)
    phrases = table.found_in(masked_sentence)
    is_preferred = any(cue.reason == PREFERRED for cue in named.cues)
    hedges = [
        _with_phrases(cue, phrases)
        for cue in named.cues
        if cue.category in _HEDGING and cue.reason != PREFERRED
    ]
    joints = [
        _with_phrases(cue, phrases)
        for cue in named.cues
        if cue.category == "alternative"
    ]
    denials = tuple(cue for cue in named.cues if cue.category in _DENYING)
    # "Not suggestive of" is a denial for the engine, and a phrase with a place of its own.
    denied_phrases = [_with_phrases(cue, phrases) for cue in denials]
    hedges += [hedge for hedge in denied_phrases if hedge.phrases]
    is_denied = any(cue.category == "negated" for cue in denials)
    if not (hedges or joints or is_preferred or is_denied):
        hedges = _beside(named, phrases, masked_sentence)
    chain = _chain(masked_sentence, hedges)
    farther = tuple(hedge for hedge in hedges if hedge not in chain)
    return Scope(chain, farther, tuple(joints), denials, is_preferred, named.clauses)


def all_hedges(sentence: str, table: PhraseTable) -> list[Words]:
    """List the phrases of all hedges of a sentence, of whichever finding."""
    phrases = table.found_in(sentence)
    found = {
        phrase
        for begin, end in hedges_in(sentence)
        for phrase in _overlapping(phrases, begin, end)
    }
    return sorted(found, key=lambda phrase: phrase.begin)


def texts_of(hedges: Sequence[Hedging], sentence: str) -> tuple[str, ...]:
    """Give the phrases of hedges in the order of the text; where none has any, the cues' own words."""
    words = [phrase for hedge in hedges for phrase in hedge.phrases]
    if not words:
        for cue in (hedge.cue for hedge in hedges):
            text = " ".join(
                word.text for word in words_of(sentence, cue.begin, cue.end)
            )
            words.append(Words(text, cue.begin, cue.end))
    return tuple(
        dict.fromkeys(word.text for word in sorted(words, key=lambda word: word.begin))
    )


def _with_phrases(cue: GoverningCue, phrases: Sequence[Words]) -> Hedging:
    inside = _overlapping(phrases, cue.begin, cue.end)
    # Of "felt to be less likely" the last phrase is the doubt.
    return Hedging(cue, inside[-1:] if cue.category in DOUBTING else inside)


def _overlapping(phrases: Sequence[Words], begin: int, end: int) -> tuple[Words, ...]:
    """Take the phrases that share characters with a span; they are in the order of the text."""
    first = bisect_left(phrases, begin + 1, key=lambda phrase: phrase.end)
    last = bisect_left(phrases, end, key=lambda phrase: phrase.begin)
    return tuple(phrases[first:last])


def _chain(sentence: str, hedges: Sequence[Hedging]) -> tuple[Hedging, ...]:
    """Take the nearest hedge and those that touch it: at most one word between, which is no joint."""
    if not hedges:
        return ()
    ordered = sorted(hedges, key=lambda hedge: hedge.begin)
    first = last = ordered.index(hedges[0])
    while first and _touch(sentence, ordered[first - 1].end, ordered[first].begin):
        first -= 1
    while last + 1 < len(ordered) and _touch(
        sentence, ordered[last].end, ordered[last + 1].begin
    ):
        last += 1
    return tuple(ordered[first : last + 1])


def _touch(sentence: str, begin: int, end: int, most_words: int = 1) -> bool:
    """Whether at most so many words stand between, and no joint, break or finding."""
    between = [word.text for word in words_of(sentence, begin, max(begin, end))]
    return len(between) <= most_words and not _CHAIN_BREAKS.intersection(between)


def _beside(
    named: NamedFinding, phrases: Sequence[Words], sentence: str
) -> list[Hedging]:
    """Take the phrases beside a mention where the engine finds no hedge.

    Whoever asks knows that the finding is doubted: "borderline <finding>", "<finding> appears improved".
    """
    begins = [begin for begin, _ in named.mentions]
    found: list[Hedging] = []
    for phrase in phrases:
        behind = bisect_left(begins, phrase.end)
        is_before = behind < len(begins) and _touch(
            sentence, phrase.end, begins[behind], _BESIDE
        )
        is_behind = behind > 0 and _touch(
            sentence, named.mentions[behind - 1][1], phrase.begin, _BESIDE
        )
        if is_before or is_behind:
            cue = GoverningCue("", phrase.begin, phrase.end, "beside", "hedged", 1)
            found.append(Hedging(cue, (phrase,)))
    return found


class RuleJudge(ABC):
    """Deterministic and free: of two sentences the one with the higher score is the more certain.

    Args:
        key: the slot's name.
        method: name of the rules; coins of different methods fall independently.
        version: of the rules: raised with every change that changes an answer.
        entries: all words with what they say: other words are another judge.
    """

    def __init__(self, key: str, method: str, version: str, *entries: object) -> None:
        self.key, self._method = key, method
        digest = hashlib.blake2b(repr(entries).encode(), digest_size=6).hexdigest()
        self.identity = f"{method}/{version}/{digest}"
        # A fit asks of every sentence of a batch in every round: all of them must fit in.
        self._known_score = remembered(self.score, entries=1 << 16)

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """How certain the finding is; None without a hedge that the judge knows."""

    @abstractmethod
    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """The hedges of the finding, as the judge names them."""

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order."""
        return [ExtractionAnswer(self.phrases(question)) for question in questions]

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """The scores, in the judge's own units; how far they err is not known."""
        return unknown_deviation(list(map(self._known_score, masked_sentences)))

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """The higher score wins, as `chosen` says."""
        known = self._known_score
        return [
            chosen(self._method, one, known(one.sentence_1), known(one.sentence_2))
            for one in questions
        ]
