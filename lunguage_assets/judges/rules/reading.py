"""What the rule-based judges share: the hedges of a masked finding, and what they give.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is, and scores.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from lunguage_assets.assertion.named import PREFERRED, governing_cues
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.packaged_data import resource

VERSION = "7"
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
}
"""Category of a cue -> what it does to the finding; others do nothing."""
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


class Phrase(NamedTuple):
    """A phrase with its characters in the sentence."""

    text: str
    begin: int
    end: int


class Hedging(NamedTuple):
    """A cue of the finding.

    Attributes:
        cue: id.
        category: of the cue.
        span: its words, as one phrase.
        phrases: those of the judge in it.
    """

    cue: str
    category: str
    span: Phrase
    phrases: Sequence[Phrase]

    @property
    def is_doubt(self) -> bool:
        """Whether it speaks against the finding."""
        return self.category in DOUBTING

    @property
    def words(self) -> list[str]:
        """Its words."""
        return self.span.text.split()


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
            patterns.append(gap.join(map(re.escape, phrase.split())))
        self._pattern = re.compile(f"{_BEGINS}(?:{'|'.join(patterns)}){_ENDS}")

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""
        return self.score_of(self.scope_of(masked_sentence))

    def scope_of(self, masked_sentence: str) -> Scope:
        """Find what hedges the masked finding of a sentence."""
        finding = _governing_cues(masked_sentence)
        text = masked_sentence.lower()
        cues_by_role: dict[str, list[Hedging]] = defaultdict(list)
        for cue in finding.cues:
            phrases = self._phrases_in(text, cue.begin, cue.end)
            if cue.category in DOUBTING:
                # Of "felt to be less likely" the last phrase is the doubt.
                phrases = phrases[-1:]
            words = " ".join(_WORD.findall(text[cue.begin : cue.end]))
            span = Phrase(words, cue.begin, cue.end)
            hedging = Hedging(cue.cue, cue.category, span, phrases)
            cues_by_role[_ROLES.get(cue.category, "")].append(hedging)
        hedges = cues_by_role["hedge"]
        joints = cues_by_role["joint"]
        if not finding.cues:
            # Whoever asks knows that it is doubted: "<finding> appears improved".
            hedges = [
                Hedging("", "hedged", phrase, [phrase])
                for clause in finding.clauses
                for phrase in self._phrases_in(text, *clause)
            ]
        if hedges:
            # "The possibility of <finding> should be considered": the nearest, and
            # those on its side ("could possibly represent").
            mention = finding.mentions[0][0]
            is_before = hedges[0].span.begin < mention
            hedges = [it for it in hedges if (it.span.begin < mention) == is_before]
            hedges.sort(key=lambda hedge: hedge.span.begin)
        for hedge in (*hedges, *joints):
            _, begin, end = hedge.span
            text = text[:begin] + " " * (end - begin) + text[end:]
        clauses = [_WORD.findall(text[begin:end]) for begin, end in finding.clauses]
        return Scope(
            hedges,
            joints,
            denials=cues_by_role["denial"],
            is_preferred=bool(cues_by_role["preferred"]),
            context=list(chain.from_iterable(clauses)),
        )

    def _phrases_in(self, text: str, begin: int, end: int) -> list[Phrase]:
        """List the judge's phrases that begin in a part of a text, in lower case."""
        phrases: list[Phrase] = []
        for match in self._pattern.finditer(text, begin):
            if match.start() >= end:
                break
            words = match.group().split()
            if " ".join(words) not in self._phrases:
                words = [word for word in words if not word.endswith("ly")]
            phrase = " ".join(words)
            # Without its own adverb, too, a phrase may be one that nobody knows.
            if phrase in self._phrases:
                phrases.append(Phrase(phrase, *match.span()))
        return phrases

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
            phrases = self._phrases_in(sentence, 0, len(sentence))
        else:
            scope = self.scope_of(question.masked_sentence)
            hedges = (*scope.hedges, *scope.joints)
            phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
            phrases = phrases or [hedge.span for hedge in hedges]
        phrases.sort(key=lambda phrase: phrase.begin)
        return tuple(dict.fromkeys(phrase.text for phrase in phrases))
