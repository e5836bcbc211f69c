"""Comparison matches (explicit.md section 2) and the reference ranking made of them (section 3), or of the
published ruler. The rating arithmetic is in `trueskill.py`, the intervals in `bootstrap.py`.

The schedule (pairs, sentences, positions) is a function of the vocabulary, the settings and the seed alone,
so every judge is asked about the same sentence pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.bootstrap import (
    ORDERS_PER_RESAMPLE,
    bootstrap_intervals,
)
from lunguage_assets.explicit.rating.readings import (
    ASSUMED_DEVIATION,
    reading_deviation,
)
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.randomness import (
    U64,
    Integers,
    digest,
    mix,
    random_bits,
    smallest,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, REFERENCE_RANKING


@dataclass(frozen=True)
class CollectedAnswers:
    """Valid answers of all judges, arrays of shape (answers,), whatever the order of the frames.

    `match` hashes the match, `identity` match and judge; `cluster` numbers the sentence pairs, whose answers
    depend on each other.
    """

    phrases: tuple[str, ...]
    winner: Integers
    loser: Integers
    match: U64
    identity: U64
    cluster: Integers

    def __len__(self) -> int:
        return len(self.winner)

    @property
    def counts(self) -> tuple[Integers, Integers]:
        """Matches won and lost per phrase."""
        size = len(self.phrases)
        return np.bincount(self.winner, minlength=size), np.bincount(
            self.loser, minlength=size
        )


def reference_ranking(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str] = (),
) -> pd.DataFrame:
    """The reference scale, a `REFERENCE_RANKING` frame sorted by rank.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        matches: `COMPARISON_MATCHES` frame per judge, in panel order. Invalid answers are left out.
        settings: seed, number of random orders, number of bootstrap resamples (0: no intervals, mu_sd is 0).
        identities: what the panel's members are, in panel order; part of the version, to which rankings and
            fits are bound.

    A phrase without a valid match stays at the prior (mu 25, sigma 8.333). For the published ruler the
    published mu and sigma are returned, whatever the matches, and taken as given: mu_sd is 0 and the interval
    is a point, and judges' readings have the default deviation.

    Raises:
        MethodError: no valid match at all; matches of another vocabulary; a judge that lacks matches which
            another one has.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    version = str(retained["vocabulary_version"].iloc[0]) if len(retained) else ""
    if len(retained) and (retained["ruler"] == "published").all():
        return _published(
            version, list(matches), identities, str(retained["ruler_reason"].iloc[0])
        )
    phrases = sorted(retained["phrase"].tolist())
    if len(phrases) > 1:
        _require_same_matches(matches, version)
    answers = collect_answers(phrases, matches)
    if not len(answers):
        raise MethodError(
            f"the ranking has no valid match: every answer of {', '.join(matches) or 'no judge'} is invalid "
            "or there are fewer than two phrases. Use another judge."
        )
    orders = random_orders(answers, settings)
    mus, sigmas = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
    mu, (won, lost) = mus.mean(axis=0), answers.counts
    intervals = bootstrap_intervals(
        answers.winner, answers.loser, answers.cluster, mu, settings
    )
    played = won + lost
    ranked = pd.DataFrame(
        {
            "phrase": phrases,
            "mu": mu,
            "sigma": sigmas.mean(axis=0),
            **intervals,
            "n_matches": played,
            "win_rate": np.divide(
                won, played, out=np.full(len(phrases), np.nan), where=played > 0
            ),
            "reading_sd": reading_deviation(phrases, mu, matches),
            "ruler": "own",
            "ruler_reason": "",
            "vocabulary_version": version,
            "ranking_version": ranking_version(
                vocabulary, matches, settings, identities
            ),
        }
    )
    return _frame(ranked.iloc[np.argsort(-mu, kind="stable")], list(matches))


def published_instead(
    own: pd.DataFrame, reason: str, identities: Sequence[str] = ()
) -> pd.DataFrame:
    """The published ruler for the judges of an own ranking that cannot be mapped to probabilities, and why.

    Args:
        own: `REFERENCE_RANKING` frame.
        reason: as `probability.unmapped` says it.
        identities: as for `reference_ranking`.
    """
    first = own.iloc[0]
    return _published(
        str(first["vocabulary_version"]), list(first["judges"]), identities, reason
    )


def _require_same_matches(
    matches: Mapping[str, pd.DataFrame], vocabulary_version: str
) -> None:
    """Refuse judges that did not answer the same matches of this vocabulary.

    A ranking never claims a judge whose answers it lacks.
    """
    expected = {
        match_id
        for frame in matches.values()
        for match_id in frame["match_id"].tolist()
    }
    for judge, frame in matches.items():
        if (
            set(frame["vocabulary_version"]) != {vocabulary_version}
            or set(frame["match_id"]) != expected
        ):
            raise MethodError(
                f"matches of judge {judge!r}: found {len(frame)} of {len(expected)}, or of another "
                "vocabulary; expected one answer to every match of the vocabulary that is ranked. "
                "Materialise comparison_matches of that judge again."
            )


def collect_answers(
    phrases: Sequence[str], matches: Mapping[str, pd.DataFrame]
) -> CollectedAnswers:
    """Valid answers of all judges, sorted by match and judge."""
    valid = [
        frame.dropna(subset="winner").assign(judge=judge)
        for judge, frame in matches.items()
    ]
    rows = pd.concat(
        [COMPARISON_MATCHES.frame().assign(judge=""), *valid], ignore_index=True
    )
    rows = rows.sort_values(["match_id", "judge"], kind="stable")
    number = pd.Index(list(phrases), dtype="str")
    a, b, winner = (
        number.get_indexer(pd.Index(rows[name]))
        for name in ("phrase_a", "phrase_b", "winner")
    )
    if (a < 0).any() or (b < 0).any():
        judge = rows["judge"].to_numpy()[(a < 0) | (b < 0)][0]
        raise MethodError(
            f"matches of judge {judge!r} are about phrases outside the vocabulary. Materialise "
            "comparison_matches again."
        )
    pair = rows.groupby(
        ["phrase_a", "phrase_b", "sentence_a", "sentence_b"], sort=False
    )
    return CollectedAnswers(
        phrases=tuple(phrases),
        winner=winner.astype(np.int64),
        loser=np.where(winner == a, b, a).astype(np.int64),
        match=text_hashes(rows["match_id"]),
        identity=text_hashes(rows["match_id"] + " " + rows["judge"]),
        cluster=np.asarray(pair.ngroup(), dtype=np.int64),
    )


def random_orders(answers: CollectedAnswers, settings: ExplicitSettings) -> Integers:
    """Random orders of play, shape (orders, answers): answers sorted by hash(seed, order, match, judge)."""
    seed = text_hash(settings.seed, "order of play")
    return np.stack(
        [
            np.argsort(mix(seed, order, answers.identity), kind="stable")
            for order in range(settings.orders)
        ]
    )


def ranking_version(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> str:
    """Hash of everything that the ranking follows from: vocabulary, answers per judge, the judges'
    identities, seed and constants.
    """
    parts: list[object] = [
        trueskill.MU,
        trueskill.SIGMA,
        trueskill.BETA,
        trueskill.TAU,
        settings.seed,
    ]
    parts += [
        settings.orders,
        settings.bootstrap,
        ORDERS_PER_RESAMPLE,
        ASSUMED_DEVIATION,
    ]
    parts += [str(vocabulary["vocabulary_version"].iloc[0]), *identities]
    for judge, frame in matches.items():
        columns = (frame[name].tolist() for name in ("match_id", "answer", "swapped"))
        rows = sorted(zip(*columns, strict=True))
        parts += [
            judge,
            len(rows),
            *(f"{match_id} {answer} {swapped}" for match_id, answer, swapped in rows),
        ]
    return digest(*parts)


def _frame(ranked: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    """The table of phrases in ranking order."""
    columns = {str(name): values.tolist() for name, values in ranked.items()}
    return REFERENCE_RANKING.frame(
        {**columns, "rank": range(len(ranked)), "judges": [judges] * len(ranked)}
    )


def _published(
    vocabulary_version: str, judges: list[str], identities: Sequence[str], reason: str
) -> pd.DataFrame:
    entries = published_ranking()
    places = (f"{entry.phrase} {entry.mu} {entry.sigma}" for entry in entries)
    mu, ranks = (
        [entry.mu for entry in entries],
        [float(entry.rank) for entry in entries],
    )
    ranked = pd.DataFrame(
        {
            "phrase": [entry.phrase for entry in entries],
            "mu": mu,
            "sigma": [entry.sigma for entry in entries],
            "mu_sd": 0.0,
            "mu_low": mu,
            "mu_high": mu,
            "rank_low": ranks,
            "rank_high": ranks,
            "reading_sd": ASSUMED_DEVIATION,
            "n_matches": 0,
            "win_rate": np.nan,
            "ruler": "published",
            "ruler_reason": reason,
            "vocabulary_version": vocabulary_version,
            "ranking_version": digest(
                "published", ASSUMED_DEVIATION, *places, *judges, *identities
            ),
        }
    )
    return _frame(ranked, judges)


def comparison_matches(
    vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings
) -> pd.DataFrame:
    """One judge's answers for all matches of a vocabulary, a `COMPARISON_MATCHES` frame.

    It is sorted by phrases and repetition. Every unordered pair of retained phrases is compared `repetitions`
    times. The published ruler needs no matches and gives an empty frame, as does a vocabulary of no or one
    phrase.
    """
    plan = schedule(vocabulary, settings)
    pairs = list(zip(plan["phrase_a"], plan["phrase_b"], plan["swapped"], strict=True))
    said = judge.compare(match_questions(plan))
    winner = [
        None
        if answer == "invalid"
        else (b if (answer == "sentence_1") == swapped else a)
        for answer, (a, b, swapped) in zip(said, pairs, strict=True)
    ]
    version = str(vocabulary["vocabulary_version"].iloc[0]) if len(vocabulary) else ""
    versions = [version] * len(pairs)
    return COMPARISON_MATCHES.frame(
        {**plan, "answer": said, "winner": winner, "vocabulary_version": versions}
    )


def match_questions(plan: Mapping[str, list[Any]]) -> list[ComparisonQuestion]:
    """What every judge is asked in the matches of a `schedule`."""
    shown = zip(
        plan["sentence_a"],
        plan["sentence_b"],
        plan["repetition"],
        plan["swapped"],
        strict=True,
    )
    return [
        ComparisonQuestion(*((b, a) if swapped else (a, b)), number)
        for a, b, number, swapped in shown
    ]


def schedule(
    vocabulary: pd.DataFrame, settings: ExplicitSettings
) -> dict[str, list[Any]]:
    """Sentences and positions of all matches: columns of `COMPARISON_MATCHES`, one entry per match.

    The position is a coin per match, or fixed (as published). A sentence that exemplifies both phrases may
    meet itself, as in the published procedure.
    """
    names = (
        "match_id",
        "phrase_a",
        "phrase_b",
        "repetition",
        "sentence_a",
        "sentence_b",
        "swapped",
    )
    plan: dict[str, list[Any]] = {name: [] for name in names}
    own = (vocabulary["retained"] & (vocabulary["ruler"] == "own")).to_numpy(dtype=bool)
    retained = vocabulary[own]
    examples = dict(
        zip(
            retained["phrase"].tolist(),
            retained["example_sentences"].tolist(),
            strict=True,
        )
    )
    distinct = {
        phrase: sorted(set(sentences)) for phrase, sentences in examples.items()
    }
    hashes = {phrase: text_hashes(sentences) for phrase, sentences in distinct.items()}
    repetitions = np.arange(settings.repetitions, dtype=np.uint64)
    for a, b in combinations(sorted(distinct), 2):
        pair = text_hash(settings.seed, a, b)
        plan["match_id"] += [
            digest(a, b, repetition)[:24] for repetition in range(settings.repetitions)
        ]
        plan["repetition"] += range(settings.repetitions)
        for side, (name, phrase) in enumerate((("a", a), ("b", b))):
            plan[f"phrase_{name}"] += [phrase] * settings.repetitions
            drawn = smallest(mix(pair, repetitions, side), hashes[phrase])
            plan[f"sentence_{name}"] += [distinct[phrase][i] for i in drawn.tolist()]
        swapped = random_bits(mix(pair, repetitions, 2)) & (settings.position == "coin")
        plan["swapped"] += swapped.tolist()
    return plan
