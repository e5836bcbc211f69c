"""What the rule-based judges share: the hedges of a masked finding, and what they give.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is, and scores.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from typing import NamedTuple

from lunguage_assets.assertion.named import PREFERRED, governing_cues
from lunguage_assets.assertion.units import Edge
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import (
    MASK,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.packaged_data import resource

VERSION = "8"
"""Part of a judge's identity: raise it with every change that changes an answer."""

DOUBTING = ("doubted", "mimic", "reservation")
"""Categories of cues that speak against a finding without excluding it: "a small one
may be missed".
"""
_ROLES = {
    **dict.fromkeys(("hedged", "question", "setting", *DOUBTING), "hedge"),
    "alternative": "joint",
    "negated": "denial",
    "ended": "denial",
    PREFERRED: "preferred",
    # "Edema is less likely than <finding>"
    "hedged.than": "preferred",
}
"""Id or category of a cue -> what it does to the finding; others do nothing."""
_WORD = re.compile(r"and/or|vs\.|\w+(?:['’-]\w+)*|[;:.,?()/]")
_BEGINS = r"(?:(?<![\w'’-])|(?!\w))"
_ENDS = r"(?:(?![\w'’-])|(?<!\w))"
"""Where a phrase may begin and end: "specific" does not stand in "non-specific"."""
_ADVERBS = r"\s+(?:[a-z]+ly\s+)*"
"""What does not matter inside a phrase of three words or more: "cannot be confidently
excluded".
"""

_governing_cues = remembered(governing_cues)
"""Both judges ask for the cues of a sentence, one soon after the other."""


class Hedging(NamedTuple):
    """A cue of the finding, as a judge reads it.

    Attributes:
        cue: with its characters.
        words: its words.
        phrases: those of the judge that begin in it.
        is_doubt: whether it speaks against the finding.
    """

    cue: Edge
    words: Sequence[str]
    phrases: Sequence[str]
    is_doubt: bool

    def distance_to(self, mention: int, text: str) -> int:
        """Count the words of a text between it and a mention."""
        begin = min(self.cue.end, mention + len(MASK))
        end = max(self.cue.begin, mention)
        return len(text[begin:end].split())


class Scope(NamedTuple):
    """How a sentence hedges its masked finding.

    Attributes:
        hedges: of the finding ("could possibly represent"), in the order of the text.
        joints: what joins it to alternatives.
        denials: what denies it.
        is_preferred: whether another finding is dismissed for it ("<finding> rather
            than edema").
        context: words of its clauses, outside of its hedges.
    """

    hedges: Sequence[Hedging]
    joints: Sequence[Hedging]
    denials: Sequence[Hedging]
    is_preferred: bool
    context: Sequence[str]


def total(weights: Mapping[str, float], words: Sequence[str]) -> float:
    """Add up the weights of words; others weigh nothing."""
    return sum(weights.get(word, 0.0) for word in words)


class RuleJudge(Scorer, ABC):
    """A judge without chance or cost: the sentence with the higher score is surer.

    Args:
        key: of the judge.
        method: name of the rules; coins of different methods fall independently.
        files: resources with its words: other words are another judge.
        phrases: those that the judge knows.
    """

    def __init__(
        self,
        key: str,
        method: str,
        files: Sequence[str],
        phrases: Iterable[str],
    ) -> None:
        words = b"".join(resource(file).read_bytes() for file in files)
        digest = hashlib.blake2b(words, digest_size=6)
        identity = f"{method}/{VERSION}/{digest.hexdigest()}"
        super().__init__(key, identity, partial(map, self.score), method)
        self._phrases = set(phrases)
        patterns: list[str] = []
        # The first phrase that fits is then the longest.
        for phrase in sorted(self._phrases, key=len, reverse=True):
            gap = _ADVERBS if phrase.count(" ") > 1 else r"\s+"
            patterns.append(re.escape(phrase).replace(r"\ ", gap))
        self._pattern = re.compile(f"{_BEGINS}(?:{'|'.join(patterns)}){_ENDS}")

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""
        return self.score_of(self.scope_of(masked_sentence))

    def scope_of(self, masked_sentence: str) -> Scope:
        """Find what hedges the masked finding of a sentence."""
        finding = _governing_cues(masked_sentence)
        text = masked_sentence.lower()
        cues = finding.cues
        if not cues:
            # Whoever asks knows that it is doubted: "<finding> appears improved".
            phrases = chain.from_iterable(self._in(text, it) for it in finding.clauses)
            cues = tuple(Edge(*phrase.span(), "", "hedged") for phrase in phrases)
        by_role: dict[str, list[Hedging]] = defaultdict(list)
        for cue in sorted(cues):
            role = _ROLES.get(cue.cue, _ROLES.get(cue.category, ""))
            by_role[role].append(self._hedging(cue, text))
        hedges = by_role["hedge"]
        if hedges:
            # "The possibility of <finding> should be considered": the nearest, and
            # those on its side ("could possibly represent").
            mention = masked_sentence.find(MASK)
            nearest = min(hedges, key=lambda it: it.distance_to(mention, text))
            is_before = nearest.cue.begin < mention
            hedges = [it for it in hedges if (it.cue.begin < mention) == is_before]
        joints = by_role["joint"]
        words_of_hedges = {*chain.from_iterable(it.words for it in (*hedges, *joints))}
        context: list[str] = []
        for begin, end in finding.clauses:
            words = _WORD.findall(text[begin:end])
            context += [word for word in words if word not in words_of_hedges]
        return Scope(
            hedges,
            joints,
            denials=by_role["denial"],
            is_preferred="preferred" in by_role,
            context=context,
        )

    def _hedging(self, cue: Edge, text: str) -> Hedging:
        """Read the words and phrases of a cue in a text in lower case."""
        words = _WORD.findall(text[cue.begin : cue.end])
        phrases = self._phrases_in(text, (cue.begin, cue.end))
        is_doubt = cue.category in DOUBTING
        if is_doubt:
            # Of "felt to be less likely" the last phrase is the doubt.
            phrases = phrases[-1:]
        return Hedging(cue, words, phrases, is_doubt)

    def _phrases_in(self, text: str, part: tuple[int, int]) -> list[str]:
        """List the judge's phrases in a part of a text in lower case."""
        phrases: list[str] = []
        for match in self._in(text, part):
            words = match.group().split()
            if " ".join(words) not in self._phrases:
                words = [word for word in words if not word.endswith("ly")]
            phrases.append(" ".join(words))
        # Without its own adverb, too, a phrase may be one that nobody knows.
        return [phrase for phrase in phrases if phrase in self._phrases]

    def _in(self, text: str, part: tuple[int, int]) -> Iterator[re.Match[str]]:
        """Yield matches that begin in a part of a text (begin, end)."""
        begin, end = part
        matches = self._pattern.finditer(text, begin)
        return takewhile(lambda match: match.start() < end, matches)

    @abstractmethod
    def score_of(self, scope: Scope) -> float | None:
        """Score how certain a finding is; None: no hedge that the judge knows."""

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the phrases of each question, in the questions' order.

        These are the nearest hedge, those that it is chained to, and what joins the
        finding to alternatives; where no phrase of the judge is among them, the words
        of the cues themselves. Without a masked sentence nobody knows where the finding
        is, and every hedge of the sentence is given: such pairs are reviewed by a
        person.
        """
        return [ExtractionAnswer(self._phrases_of(question)) for question in questions]

    def _phrases_of(self, question: ExtractionQuestion) -> tuple[str, ...]:
        if question.masked_sentence is None:
            sentence = question.sentence.lower()
            phrases = self._phrases_in(sentence, (0, len(sentence)))
        else:
            scope = self.scope_of(question.masked_sentence)
            hedges = sorted((*scope.hedges, *scope.joints))
            phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
            phrases = phrases or [" ".join(hedge.words) for hedge in hedges]
        return tuple(dict.fromkeys(phrases))
