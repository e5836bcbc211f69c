"""The `cues` judge: adds up the evidence of single words around the finding. The words are in
resources/cues.yaml.

It knows neither phrases nor the published ranking. Each cue word speaks for or against presence with a weight
of the author's choosing, in logits, that fades with its distance from the finding and is reduced on the side
where such a word rarely belongs to it; a sentence's score is the sum. It averages where the `lexicon` judge
picks. A sentence without a cue word in the finding's clause is answered as invalid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp
from typing import Self

from pydantic import BaseModel

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.judges.protocol import MASK, ExtractionQuestion
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.judges.rules.reading import (
    SAME_CLAUSE,
    Reading,
    RuleJudge,
    contrast_of,
    denies_list,
    is_denied,
    is_predicate,
)

VERSION = "3"
"""Part of the judge's identity: raise it with every change of rules that changes an answer."""

_SURE = frozenset({"definite", "definitive", "definitely", "convincing", "obvious", "clear", "certain"})
"""Negated, a word of doubt: "no definite <finding>"."""

_EXCLUSION = frozenset({"excluded", "exclude", "ruled", "rule"})
_GRAMMAR = re.compile(
    r"""(?<!\S)(?:
      (?:can\ not|cannot|not)(?:\ be)?(?:\ \w+ly)?\ (?:excluded?|ruled\ out|rule\ out)
    | (?:difficult|hard)\ to(?:\ \w+ly)?\ (?:exclude|rule\ out)
    | if\ (?:any|present)
    | (?:may|could)\ be\ due\ to | (?:may|could)\ (?:be|represent|reflect) | may | might | could
    | (?:appears?|seems?)\ to\ be | appear(?:s|ed)? | seem(?:s|ed)?
    | (?:most\ )?(?:consistent|compatible)\ with | in\ keeping\ with
    | (?:(?:most|highly)\ )?suggestive\ of | indicative\ of | suggest(?:s|ed|ing)?
    | (?:worrisome|concerning|suspicious)\ for | suspicion\ (?:of|for) | suspected
    | favou?r(?:s|ed|ing)?
    | (?:(?:most|more|less|very|highly|not)\ )?(?:likely|probable|probably|unlikely)
    | presumed | presumably | presumptive | possible | possibly | potentially | potential """
    r"""| perhaps | maybe | conceivably | doubtful | doubt | questionable | equivocal | borderline
    | improbable | apparently | consider | query | thought | felt | believed | suspect | indeterminate
    | possibility | differential | (?:question|suggestion)\ of
    | either | and/or | or | versus | vs\.?
    )(?!\S)""",
    re.VERBOSE,
)
"""What may stand together as one phrase when cues are read off, longest first; over tokens joined by
spaces.
"""

_CONNECTORS = frozenset({"or", "and/or", "either", "versus", "vs", "vs."})
_FADE = 7.0
_OTHER_SIDE = 0.6
_AFTER = frozenset({"excluded", "ruled", "out", "if", "any", "present"})
_UNUSUAL_COST = 10
_PREFERRED, _DISMISSED = 0.8, -4.0
_KNOWN_NEARNESS = exp(-SAME_CLAUSE / _FADE) * _OTHER_SIDE
_EXTRACTED_WITHIN = 6
_BREAKS = frozenset({MASK, ",", ";", ":", ".", "and", "or", "but"})


class Words(BaseModel):
    """Word -> evidence for presence in logits, next to the finding: of words of belief, of negations, and of
    words about size, change and the picture.
    """

    cues: dict[str, float]
    negations: dict[str, float]
    context: dict[str, float]


@lru_cache(maxsize=1)
def bundled_words() -> Words:
    """The words of resources/cues.yaml, those of belief in every inflection.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    remedy = 'Give every word a weight in logits, and quote words such as "no" and "?".'
    words = read_as(resource("cues.yaml"), Words, remedy)
    forms = bundled_lexicon().inflections
    inflected = {form: weight for word, weight in words.cues.items() for form in forms.get(word, (word,))}
    return words.model_copy(update={"cues": inflected})


class CuesJudge(RuleJudge):
    """Answers from the sum of cues."""

    def __init__(self, key: str, words: Words) -> None:
        self._words = words
        tables = [sorted(table.items()) for table in (words.cues, words.negations, words.context)]
        super().__init__(key, "cues", VERSION, *tables, _GRAMMAR.pattern, _FADE, _OTHER_SIDE)

    @classmethod
    def bundled(cls, key: str) -> Self:
        return cls(key, bundled_words())

    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """Cue words near the finding, with the small words that belong to them ("may be due to").

        The nearest such phrase, those that touch it, and those that join alternatives next to the finding.
        Without a masked sentence all are given.
        """
        masked = question.masked_sentence
        reading = Reading.of(question.sentence if masked is None else masked)
        runs = _runs(reading) if masked is None else _near(reading, _runs(reading))
        return tuple(dict.fromkeys(" ".join(reading.tokens[start:end]) for start, end in runs))

    def score(self, masked_sentence: str) -> float | None:
        """None without a word of belief in the clause of the finding, and outside a contrast of findings."""
        reading = Reading.of(masked_sentence)
        contrast = contrast_of(reading)
        total, is_known, first = 0.0, contrast is not None, 0
        if contrast is not None:
            total = _PREFERRED if contrast[1] else _DISMISSED
            first = 0 if contrast[0].first_preferred or not contrast[1] else contrast[0].end
        runs = _runs(reading)
        stronger = self._stronger(reading, runs)
        told = (run for run in runs if reading.word(run[0] - 1) == MASK and is_predicate(reading, *run))
        behind = {place for run in told for place in range(*run)}  # "<finding> less likely"
        for place, token in enumerate(reading.tokens[first:], start=first):
            belief = 0.0 if place in stronger else self._words.cues.get(token, 0.0)
            context = 0.0 if place and _doubts(reading, place - 1) else self._words.context.get(token, 0.0)
            weight = belief + context + _negation(self._words, reading, place)
            if not weight:
                continue
            near = _nearness(reading, place, token, place in behind)
            is_known |= (bool(belief) or _doubts(reading, place)) and near > _KNOWN_NEARNESS
            total += (-abs(weight) if belief and _turned(reading, place) else weight) * near
        return round(total, 9) if is_known else None

    def _stronger(self, reading: Reading, runs: Sequence[tuple[int, int]]) -> set[int]:
        """Places of the words of a hedge beside a weaker one, which wins: "could be consistent with"."""

        def belief(run: tuple[int, int]) -> float:
            return sum(self._words.cues.get(token, 0.0) for token in reading.tokens[slice(*run)])

        found: set[int] = set()
        for one, other in pairwise(run for run in runs if reading.word(run[0]) not in _CONNECTORS):
            if _touch(reading, one, other):
                found.update(range(*max(one, other, key=belief)))
        return found


def _doubts(reading: Reading, place: int) -> bool:
    """Whether a negation stands here before a word of certainty."""
    return reading.tokens[place] in {"no", "not", "without"} and reading.word(place + 1) in _SURE


def _turned(reading: Reading, place: int) -> bool:
    """Whether a `not` parts this word from the nearest finding ("probably not X")."""
    nearest = reading.nearest_mentions(place, place + 1)
    mention = min(nearest, key=lambda one: abs(one - place), default=-1)
    return (
        mention >= 0
        and abs(mention - place) <= SAME_CLAUSE
        and reading.tokens[place] not in _EXCLUSION
        and is_denied(reading, place, place + 1, mention)
    )


def _negation(words: Words, reading: Reading, place: int) -> float:
    """A negation counts against presence, unless it negates an exclusion: that idiom already has its
    weight.
    """
    weight = words.negations.get(reading.tokens[place], 0.0)
    return 0.0 if weight and any(reading.word(place + step) in _EXCLUSION for step in (1, 2, 3)) else weight


def _nearness(reading: Reading, place: int, token: str, behind: bool) -> float:
    """1 next to the nearest mention, fading with distance and clause breaks; less on the unusual side of the
    finding.
    """
    best = 0.0
    for mention in reading.nearest_mentions(place, place + 1):
        usual = (place < mention) != (behind or token in _AFTER)
        near = exp(-reading.apart(place, place + 1, mention) / _FADE)
        best = max(best, near * (1.0 if usual else _OTHER_SIDE))
    return best


def _runs(reading: Reading) -> list[tuple[int, int]]:
    """Places (start, end) of all cue phrases."""
    text = " ".join(reading.tokens)
    runs = []
    for found in _GRAMMAR.finditer(text):
        phrase = found.group().lstrip()
        start = text.count(" ", 0, found.end() - len(phrase))
        runs.append((start, start + phrase.count(" ") + 1))
    return runs


def _near(reading: Reading, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The nearest phrase that is no connector, those touching it, and the connectors next to the finding."""
    costs = {
        run: min(
            ((_run_cost(reading, run, at), at) for at in reading.nearest_mentions(*run)), default=(0, -1)
        )
        for run in runs
    }
    belief = [run for run in runs if reading.word(run[0]) not in _CONNECTORS]
    in_clause = [run for run in belief if costs[run][0] < SAME_CLAUSE]
    nearest = min(in_clause, key=lambda run: (costs[run][0], run), default=None)
    chosen = [run for run in belief if nearest and (run == nearest or _touch(reading, run, nearest))]
    inside = {place for run in belief for place in range(*run)}
    for run in runs if reading.mentions else ():
        cost, mention = costs[run]
        between = range(run[1], mention) if run[1] <= mention else range(mention + 1, run[0])
        joins = run not in belief and not denies_list(reading, run[0])
        if joins and cost <= _EXTRACTED_WITHIN and not inside.intersection(between):
            chosen.append(run)
    return sorted(chosen)


def _touch(reading: Reading, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """At most one word between, and not the finding or a break."""
    first, second = sorted((one, other))
    between = reading.tokens[first[1] : second[0]]
    return len(between) <= 1 and not set(between) & _BREAKS


def _run_cost(reading: Reading, run: tuple[int, int], mention: int) -> int:
    start, end = run
    before = end <= mention
    predicate = not before and is_predicate(reading, start, end)
    usual = reading.word(start) in _CONNECTORS or before != (reading.word(end - 1) in _AFTER) or predicate
    return reading.apart(start, end, mention) + (0 if usual else _UNUSUAL_COST)
