"""What the rule-based judges share: the hedges of a masked finding, and what they give.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is, and scores.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
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
    **dict.fromkeys(("hedged", "setting", *DOUBTING), "hedge"),
    "alternative": "joint",
    "negated": "denial",
    "ended": "denial",
    PREFERRED: "preferred",
    # "Edema is less likely than <finding>"
    "hedged.than": "preferred",
}
"""Id or category of a cue -> what it does to the finding; others do nothing."""
_WORD = re.compile(r"and/or|vs\.|\w+(?:['’-]\w+)*|[;:.,?()/]")

_governing_cues = remembered(governing_cues)
"""Both judges ask for the cues of a sentence, one soon after the other."""


class Hedging(NamedTuple):
    """A cue of the finding, as a judge reads it.

    Attributes:
        cue: with its characters.
        words: its words.
        phrases: those of the judge that begin in it.
        is_doubt: whether it speaks against the finding.
        distance: words between it and the finding.
    """

    cue: Edge
    words: Sequence[str]
    phrases: Sequence[str]
    is_doubt: bool
    distance: int


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
        digest = hashlib.blake2b(words, digest_size=6).hexdigest()
        identity = f"{method}/{VERSION}/{digest}"
        super().__init__(key, identity, partial(map, self.score), method)
        self._phrases = set(phrases)
        patterns: list[str] = []
        # The first phrase that fits is then the longest.
        for phrase in sorted(self._phrases, key=len, reverse=True):
            gap = r"\s+"
            if phrase.count(" ") > 1:
                # Inside three words or more an adverb does not matter: "cannot be
                # confidently excluded".
                gap = r"\s+(?:[a-z]+ly\s+)*"
            patterns.append(re.escape(phrase).replace(r"\ ", gap))
        # "Specific" does not stand in "non-specific".
        self._pattern = re.compile(
            rf"(?:(?<![\w'’-])|(?!\w))(?:{'|'.join(patterns)})(?:(?![\w'’-])|(?<!\w))"
        )

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""

    def scope_of(self, masked_sentence: str) -> Scope:
        """Find what hedges the masked finding of a sentence."""
        finding = _governing_cues(masked_sentence)
        text = masked_sentence.lower()
        mention = masked_sentence.find(MASK)
        # Where nothing governs it, whoever asks knows that it is doubted: "<finding>
        # appears improved".
        cues = sorted(finding.cues) or [
            cue for clause in finding.clauses for cue in self._phrases_in(text, *clause)
        ]
        by_role: dict[str, list[Hedging]] = defaultdict(list)
        for cue in cues:
            role = _ROLES.get(cue.cue, _ROLES.get(cue.category, ""))
            by_role[role].append(self._hedging(cue, text, mention))
        hedges = by_role["hedge"]
        if hedges:
            # "The possibility of <finding> should be considered": the nearest, and
            # those on its side ("could possibly represent").
            is_before = min(hedges, key=lambda it: it.distance).cue.begin < mention
            hedges = [it for it in hedges if (it.cue.begin < mention) == is_before]
        hedge_words = set().union(*(it.words for it in (*hedges, *by_role["joint"])))
        clauses = " ".join(text[begin:end] for begin, end in finding.clauses)
        return Scope(
            hedges,
            joints=by_role["joint"],
            denials=by_role["denial"],
            is_preferred="preferred" in by_role,
            context=[
                word for word in _WORD.findall(clauses) if word not in hedge_words
            ],
        )

    def _hedging(self, cue: Edge, text: str, mention: int) -> Hedging:
        """Read the words and phrases of a cue in a text in lower case.

        Args:
            cue: with its characters.
            text: in lower case.
            mention: where the finding stands.
        """
        words = _WORD.findall(text[cue.begin : cue.end])
        phrases = list(self._phrases_in(text, cue.begin, cue.end).values())
        is_doubt = cue.category in DOUBTING
        if is_doubt:
            # Of "felt to be less likely" the last phrase is the doubt.
            phrases = phrases[-1:]
        between = text[min(cue.end, mention + len(MASK)) : max(cue.begin, mention)]
        return Hedging(cue, words, phrases, is_doubt, len(between.split()))

    def _phrases_in(self, text: str, begin: int, end: int) -> dict[Edge, str]:
        """Find the judge's phrases that begin in a part of a text in lower case.

        Args:
            text: in lower case.
            begin: of the part.
            end: of the part.

        Returns:
            Each by the hedge that it is.
        """
        phrases: dict[Edge, str] = {}
        for match in self._pattern.finditer(text, begin):
            if match.start() >= end:
                break
            words = match.group().split()
            without_adverbs = [word for word in words if not word.endswith("ly")]
            hedge = Edge(*match.span(), "", "hedged")
            # The last of these that the judge knows: an adverb may be the phrase's own.
            for phrase in (" ".join(without_adverbs), " ".join(words)):
                if phrase in self._phrases:
                    phrases[hedge] = phrase
        return phrases

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
        answers: list[ExtractionAnswer] = []
        for question in questions:
            if question.masked_sentence is None:
                sentence = question.sentence.lower()
                phrases = list(self._phrases_in(sentence, 0, len(sentence)).values())
            else:
                scope = self.scope_of(question.masked_sentence)
                hedges = sorted((*scope.hedges, *scope.joints))
                phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
                phrases = phrases or [" ".join(hedge.words) for hedge in hedges]
            answers.append(ExtractionAnswer(tuple(dict.fromkeys(phrases))))
        return answers
