"""The `cues` judge: adds up the evidence of single words around the finding.

It knows neither phrases nor the published ranking. Each cue word speaks for or against presence with a weight
of the author's choosing, in logits, that fades with its distance from the finding and is reduced on the side
where such a word rarely belongs to it; a sentence's score is the sum. So its order of phrases is its own, and
it can disagree with the `lexicon` judge for reasons: it averages where that one picks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import exp

from lunguage_assets.judges.protocol import (
    MASK,
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.rules.reading import (
    SAME_CLAUSE,
    Reading,
    choose_by_score,
    denies_list,
    is_predicate,
)

VERSION = "1"
"""Part of the judge's identity: raise it with every change of rules that changes an answer."""

CUES: Mapping[str, float] = {
    # modals
    "may": -0.3, "might": -0.8, "could": -0.9, "can": -0.6, "would": -0.2,
    # adverbs and adjectives of belief
    "likely": 1.5, "probable": 1.4, "probably": 1.1, "presumably": 0.8,
    "presumed": 0.9, "possible": -0.6, "possibly": -0.7, "potentially": -1.0,
    "perhaps": -0.8, "conceivably": -1.3, "unlikely": -3.0,
    "doubtful": -2.8, "questionable": -1.3, "equivocal": -1.2,
    "apparently": 0.4, "suspected": 0.7, "suspicious": 0.6, "suspicion": 0.4,
    # verbs of appearance and inference
    "appears": 0.9, "appear": 0.2, "seems": 0.5, "seem": 0.2,
    "suggests": 0.9, "suggest": 0.1, "suggesting": 0.6, "suggestive": 0.9,
    "represent": 0.3, "represents": 0.8, "reflect": 0.1, "reflects": 0.6,
    "indicate": 0.3, "indicative": 1.4, "favor": 0.7, "favors": 0.8,
    "favored": 0.9, "favoring": 0.7,
    "consistent": 1.8, "compatible": 1.5, "keeping": 1.3, "concerning": 0.9, "worrisome": 0.8, "concern": 0.4,
    # degree
    "most": 1.2, "more": 0.2, "highly": 0.7, "very": 0.5, "strongly": 0.7,
    "less": -4.2, "somewhat": -0.3, "entirely": -0.8, "completely": -0.8,
    # exclusion
    "excluded": -1.3, "exclude": -1.3, "ruled": -1.3, "rule": -1.2, "difficult": -0.2, "hard": -0.2,
    # alternatives
    "or": -0.9, "and/or": -0.3, "either": -0.3, "versus": -1.6, "vs": -1.6,
    "vs.": -1.6, "differential": -2.2, "possibility": -1.6, "question": -1.2,
    "alternatively": -1.0, "?": -1.2,
    # conditions
    "if": -1.0, "any": -0.8, "unless": -1.0,
}  # fmt: skip
"""Cue word -> evidence for presence in logits, next to the finding."""

_NEGATIONS = {"no": -2.5, "without": -2.5, "not": -1.6, "never": -2.0, "nor": -2.0}
_EXCLUSION = frozenset({"excluded", "exclude", "ruled", "rule"})
_SURROUNDINGS: Mapping[str, float] = {
    "small": -0.15, "minimal": -0.3, "trace": -0.25, "subtle": -0.4,
    "faint": -0.4, "vague": -0.5, "tiny": -0.2, "mild": -0.1,
    "new": 0.25, "increased": 0.25, "increasing": 0.3, "worsening": 0.35,
    "large": 0.35, "extensive": 0.35, "definite": 0.8, "clearly": 0.9,
    "limited": -0.3, "limits": -0.3, "technique": -0.2, "correlate": -0.25,
    "correlation": -0.2, "recommended": -0.2, "artifact": -0.8,
    "overlying": -0.2, "given": 0.1, "fever": 0.2, "unchanged": 0.1, "stable": 0.1,
}  # fmt: skip
_GRAMMAR = re.compile(
    r"""(?<!\S)(?:
      (?:can\ not|cannot|not)(?:\ be)?(?:\ (?:entirely|completely))?\ (?:excluded?|ruled\ out|rule\ out)
    | (?:difficult|hard)\ to\ (?:exclude|rule\ out)
    | if\ (?:any|present)
    | (?:may|could)\ be\ due\ to | (?:may|could)\ (?:be|represent|reflect) | may | might | could
    | (?:appears|seems)\ to\ be | appears? | seems?
    | (?:most\ )?(?:consistent|compatible)\ with | in\ keeping\ with
    | (?:(?:most|highly)\ )?suggestive\ of | indicative\ of | suggest(?:s|ing)?
    | (?:worrisome|concerning|suspicious)\ for | suspicion\ (?:of|for) | suspected
    | favor(?:s|ed|ing)?
    | (?:(?:most|more|less|very|highly|not)\ )?(?:likely|probable|probably|unlikely)
    | presumed | presumably | possible | possibly | potentially | perhaps | conceivably
    | doubtful | questionable | equivocal | apparently
    | possibility | differential | question\ of
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
_EXTRACTED_WITHIN = 6
_BREAKS = frozenset({MASK, ",", ";", ":", ".", "and", "or", "but"})


class CuesJudge:
    """Deterministic and free; answers from the sum of cues."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._score = lru_cache(maxsize=1 << 17)(_score)

    @classmethod
    def bundled(cls, key: str) -> CuesJudge:
        return cls(key)

    @property
    def key(self) -> str:
        return self._key

    @cached_property
    def identity(self) -> str:
        entries = repr(
            (
                sorted(CUES.items()),
                sorted(_NEGATIONS.items()),
                sorted(_SURROUNDINGS.items()),
                _GRAMMAR.pattern,
                _FADE,
                _OTHER_SIDE,
            )
        )
        return f"cues/{VERSION}/{hashlib.blake2b(entries.encode(), digest_size=6).hexdigest()}"

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Cue words near the finding, with the small words that belong to them ("may be due to").

        The nearest such phrase, those that touch it, and those that join alternatives next to the finding.
        Without a masked sentence all are given.
        """
        return [ExtractionAnswer(_phrases(question)) for question in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """The higher score wins; see `choose_by_score` for ties."""
        return choose_by_score(questions, self._score, "cues")


def _score(masked_sentence: str) -> float:
    reading = Reading.of(masked_sentence)
    total = 0.0
    for place, token in enumerate(reading.tokens):
        weight = CUES.get(token, 0.0) + _SURROUNDINGS.get(token, 0.0) + _negation(reading, place)
        if weight:
            total += weight * _nearness(reading, place, token)
    return round(total, 9)


def _negation(reading: Reading, place: int) -> float:
    """A negation counts against presence, unless it negates an exclusion: that idiom already has its
    weight.
    """
    weight = _NEGATIONS.get(reading.tokens[place], 0.0)
    return 0.0 if weight and any(reading.word(place + step) in _EXCLUSION for step in (1, 2, 3)) else weight


def _nearness(reading: Reading, place: int, token: str) -> float:
    """1 next to the nearest mention, fading with distance and clause breaks; less on the unusual side of the
    finding.
    """
    best = 0.0
    for mention in reading.mentions:
        before = place < mention
        cost = reading.between(place + 1, mention) if before else reading.between(mention + 1, place)
        usual = before != (token in _AFTER)
        best = max(best, exp(-cost / _FADE) * (1.0 if usual else _OTHER_SIDE))
    return best


def _phrases(question: ExtractionQuestion) -> tuple[str, ...]:
    masked = question.masked_sentence
    reading = Reading.of(question.sentence if masked is None else masked)
    runs = _runs(reading)
    if masked is not None:
        runs = _near(reading, runs)
    return tuple(dict.fromkeys(" ".join(reading.tokens[start:end]) for start, end in runs))


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
        run: min((_run_cost(reading, run, mention) for mention in reading.mentions), default=0)
        for run in runs
    }
    belief = [run for run in runs if reading.word(run[0]) not in _CONNECTORS]
    chosen = []
    nearest = min(
        (run for run in belief if costs[run] < SAME_CLAUSE), key=lambda run: (costs[run], run), default=None
    )
    if nearest is not None:
        chosen = [run for run in belief if run == nearest or _touch(reading, run, nearest)]
    inside = {place for run in belief for place in range(*run)}
    for run in runs:
        if (
            reading.word(run[0]) not in _CONNECTORS
            or costs[run] > _EXTRACTED_WITHIN
            or not reading.mentions
            or denies_list(reading, run[0])
        ):
            continue
        mention = min(reading.mentions, key=lambda m: _run_cost(reading, run, m))
        between = range(run[1], mention) if run[1] <= mention else range(mention + 1, run[0])
        if not inside.intersection(between):
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
    cost = reading.between(end, mention) if before else reading.between(mention + 1, start)
    predicate = not before and is_predicate(reading, start, end)
    usual = reading.word(start) in _CONNECTORS or before != (reading.word(end - 1) in _AFTER) or predicate
    return cost + (0 if usual else _UNUSUAL_COST)
