"""The reference ranking: all answers of all judges as TrueSkill matches (explicit.md section 3).

The rating arithmetic is in `trueskill.py`, the intervals in `bootstrap.py`; how the published ruler becomes a
ranking is here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import U64, digest, mix, text_hash, text_hashes
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.bootstrap import ORDERS_PER_RESAMPLE, bootstrap_intervals
from lunguage_assets.explicit.rating.readings import ASSUMED_DEVIATION, reading_deviation
from lunguage_assets.judges.rules.published import published_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import REFERENCE_RANKING

_NO_VALID_ANSWERS = (
    "the ranking has no valid match: every answer of {judges} is invalid or there are fewer "
    "than two phrases. Use another judge."
)


@dataclass(frozen=True)
class Answers:
    """Valid answers of all judges, arrays of shape (answers,).

    Their order does not depend on that of the frames.

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
        return np.bincount(self.winner, minlength=size), np.bincount(self.loser, minlength=size)


def reference_ranking(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str] = (),
) -> pd.DataFrame:
    """The measuring stick, a `REFERENCE_RANKING` frame sorted by rank.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        matches: `COMPARISON_MATCHES` frame per judge, in panel order. Invalid answers are left out.
        settings: seed, number of random orders, number of bootstrap resamples (0: no intervals, mu_sd is 0).
        identities: what the panel's members are, in panel order; part of the version, to which rankings and
            fits are bound.

    A phrase without a valid match stays at the prior (mu 25, sigma 8.333). For the published ruler the
    published mu and sigma are returned, whatever the matches; no interval is published for them (sigma is the
    filter's steady state, not an error bar), so they are taken as given: mu_sd is 0 and the interval is a
    point, and judges' readings have the default deviation.

    Raises:
        MethodError: no valid match at all; matches of another vocabulary; a judge that lacks matches which
            another one has.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    if len(retained) and (retained["ruler"] == "published").all():
        first = retained.iloc[0]
        return _published(
            str(first["vocabulary_version"]), list(matches), identities, str(first["ruler_reason"])
        )
    phrases = sorted(retained["phrase"].tolist())
    if len(phrases) > 1:
        _require_same_matches(matches, str(retained["vocabulary_version"].iloc[0]))
    answers = collect_answers(phrases, matches)
    if not len(answers):
        raise MethodError(_NO_VALID_ANSWERS.format(judges=", ".join(matches) or "no judge"))
    mus, sigmas = trueskill.play(
        answers.winner, answers.loser, len(phrases), random_orders(answers, settings)
    )
    mu = mus.mean(axis=0)
    intervals = bootstrap_intervals(answers.winner, answers.loser, answers.cluster, mu, settings)
    won, lost = answers.counts
    played = won + lost
    order = np.lexsort((np.arange(len(phrases)), -mu))
    by_phrase = {
        "mu": mu,
        "sigma": sigmas.mean(axis=0),
        **vars(intervals),
        "n_matches": played,
    }
    return _frame(
        {
            "phrase": [phrases[i] for i in order.tolist()],
            **{name: values[order] for name, values in by_phrase.items()},
            "win_rate": [w / n if n else None for w, n in zip(won[order], played[order], strict=True)],
            "reading_sd": reading_deviation(phrases, mu, matches),
            "judges": list(matches),
            "ruler": "own",
            "ruler_reason": "",
            "vocabulary_version": str(retained["vocabulary_version"].iloc[0]),
            "ranking_version": ranking_version(vocabulary, matches, settings, identities),
        }
    )


def published_instead(own: pd.DataFrame, reason: str, identities: Sequence[str] = ()) -> pd.DataFrame:
    """The published ruler for the judges of an own ranking that cannot be mapped to probabilities, and why.

    Args:
        own: `REFERENCE_RANKING` frame.
        reason: as `probability.unmapped` says it.
        identities: as for `reference_ranking`.
    """
    first = own.iloc[0]
    return _published(str(first["vocabulary_version"]), list(first["judges"]), identities, reason)


def _require_same_matches(matches: Mapping[str, pd.DataFrame], vocabulary_version: str) -> None:
    """Refuse judges that did not answer the same matches of this vocabulary.

    A ranking never claims a judge whose answers it lacks.
    """
    expected = {match_id for frame in matches.values() for match_id in frame["match_id"].tolist()}
    for judge, frame in matches.items():
        if set(frame["vocabulary_version"]) != {vocabulary_version} or set(frame["match_id"]) != expected:
            raise MethodError(
                f"matches of judge {judge!r}: found {len(frame)} of {len(expected)}, or of another "
                "vocabulary; expected one answer to every match of the vocabulary that is ranked. "
                "Materialise comparison_matches of that judge again."
            )


def collect_answers(phrases: Sequence[str], matches: Mapping[str, pd.DataFrame]) -> Answers:
    """Valid answers of all judges, sorted by match and judge."""
    number = {phrase: i for i, phrase in enumerate(phrases)}
    rows: list[tuple[str, str, str, str, tuple[str, str]]] = []
    for judge, frame in matches.items():
        columns = [
            frame[name].tolist()
            for name in ("match_id", "phrase_a", "phrase_b", "winner", "answer", "sentence_a", "sentence_b")
        ]
        for match_id, a, b, winner, answer, sentence_a, sentence_b in zip(*columns, strict=True):
            if answer == "invalid":
                continue
            if a not in number or b not in number:
                raise MethodError(
                    f"matches of judge {judge!r} are about phrases outside "
                    "the vocabulary. Materialise comparison_matches again."
                )
            rows.append((match_id, judge, winner, b if winner == a else a, (sentence_a, sentence_b)))
    rows.sort(key=lambda row: row[:2])
    pairs: dict[tuple[object, ...], int] = {}
    cluster = [pairs.setdefault((frozenset(row[2:4]), row[4]), len(pairs)) for row in rows]
    return Answers(
        phrases=tuple(phrases),
        winner=np.array([number[row[2]] for row in rows], dtype=np.int64),
        loser=np.array([number[row[3]] for row in rows], dtype=np.int64),
        match=text_hashes(row[0] for row in rows),
        identity=text_hashes(f"{row[0]} {row[1]}" for row in rows),
        cluster=np.array(cluster, dtype=np.int64),
    )


def random_orders(answers: Answers, settings: ExplicitSettings) -> Integers:
    """Random orders of play, shape (orders, answers): answers sorted by hash(seed, order, match, judge)."""
    seed = text_hash(settings.seed, "order of play")
    return np.stack(
        [np.argsort(mix(seed, order, answers.identity), kind="stable") for order in range(settings.orders)]
    )


def ranking_version(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> str:
    """Hash of everything that the ranking follows from.

    Vocabulary, answers per judge, the judges' identities, seed and constants.
    """
    constants = (trueskill.MU, trueskill.SIGMA, trueskill.BETA, trueskill.TAU, settings.seed, settings.orders)
    parts: list[object] = [
        *constants,
        settings.bootstrap,
        ORDERS_PER_RESAMPLE,
        ASSUMED_DEVIATION,
        str(vocabulary["vocabulary_version"].iloc[0]),
        *identities,
    ]
    for judge, frame in matches.items():
        rows = sorted(
            zip(frame["match_id"].tolist(), frame["answer"].tolist(), frame["swapped"].tolist(), strict=True)
        )
        parts += [judge, len(rows), *(f"{match_id} {answer} {swapped}" for match_id, answer, swapped in rows)]
    return digest(*parts)


def _frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame of phrases in ranking order; what is one value is that of all."""
    size = len(columns["phrase"])
    shared = ("reading_sd", "ruler", "ruler_reason", "vocabulary_version", "ranking_version")
    return REFERENCE_RANKING.frame(
        {
            **columns,
            "rank": range(size),
            "judges": [columns["judges"]] * size,
            **{name: [columns[name]] * size for name in shared},
        }
    )


def _published(
    vocabulary_version: str, judges: list[str], identities: Sequence[str], reason: str
) -> pd.DataFrame:
    entries = published_ranking()
    mu, ranks = [entry.mu for entry in entries], [float(entry.rank) for entry in entries]
    places = (f"{entry.phrase} {entry.mu} {entry.sigma}" for entry in entries)
    return _frame(
        {
            "phrase": [entry.phrase for entry in entries],
            "mu": mu,
            "sigma": [entry.sigma for entry in entries],
            "mu_sd": [0.0] * len(entries),
            "mu_low": mu,
            "mu_high": mu,
            "rank_low": ranks,
            "rank_high": ranks,
            "reading_sd": ASSUMED_DEVIATION,
            "n_matches": [0] * len(entries),
            "win_rate": [None] * len(entries),
            "judges": judges,
            "ruler": "published",
            "ruler_reason": reason,
            "vocabulary_version": vocabulary_version,
            "ranking_version": digest("published", ASSUMED_DEVIATION, *places, *judges, *identities),
        }
    )
