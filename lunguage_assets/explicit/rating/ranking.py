"""The reference scale: hedging phrases ranked by how certain judges find them.

Section 3 of docs/method/explicit.md. All valid matches of all judges are played in
random orders, over which mu and sigma are averaged; or the published scale is taken.
The arithmetic of one match is in `trueskill.py`, the intervals are in `intervals.py`,
the matches in `matches.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.intervals import (
    ASSUMED_DEVIATION,
    ORDERS_PER_RESAMPLE,
    bootstrap_intervals,
    judge_sentence_deviation,
)
from lunguage_assets.randomness import (
    U64,
    Integers,
    digest,
    mix,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, REFERENCE_RANKING


def is_published_scale(phrases: pd.DataFrame) -> bool:
    """Tell whether phrases have the published scale, and no ranking of this corpus.

    Args:
        phrases: `REFERENCE_RANKING` or `HEDGE_VOCABULARY` frame.
    """
    return bool((phrases["ruler"] == "published").all())


@dataclass(frozen=True)
class CollectedAnswers:
    """Valid answers of all judges, whatever the order of the frames.

    Attributes:
        phrases: wordings, by number.
        winner: number of each answer's winner, shape (answers,) as all below.
        loser: number of its loser.
        match: hash of the match.
        identity: hash of match and judge.
        cluster: number of the sentence pair, whose answers depend on each other.
    """

    phrases: Sequence[str]
    winner: Integers
    loser: Integers
    match: U64
    identity: U64
    cluster: Integers

    @property
    def won(self) -> Integers:
        """Matches that each phrase won."""
        return np.bincount(self.winner, minlength=len(self.phrases))

    @property
    def played(self) -> Integers:
        """Matches that each phrase won or lost."""
        return self.won + np.bincount(self.loser, minlength=len(self.phrases))

    def play(self, orders: Integers) -> trueskill.Ratings:
        """Rate the phrases by the answers in each of several orders."""
        return trueskill.play(self.winner, self.loser, len(self.phrases), orders)


def reference_ranking(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str] = (),
) -> pd.DataFrame:
    """Rank the phrases of a vocabulary.

    A phrase without a valid match stays at the prior (mu 25, sigma 8.333). For a
    vocabulary of the published scale the published mu and sigma are taken as given,
    whatever the matches: `mu_sd` is 0, the interval is a point, and judges' readings
    have the default deviation.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        matches: `COMPARISON_MATCHES` frame per judge, in panel order. Invalid answers
            are left out.
        settings: seed, number of random orders, number of bootstrap resamples (0: no
            intervals, `mu_sd` is 0).
        identities: what the panel's members are, in panel order; part of the version,
            to which rankings and fits are bound.

    Returns:
        A `REFERENCE_RANKING` frame, sorted by rank.

    Raises:
        MethodError: no valid match at all; matches of another vocabulary; a judge that
            lacks matches which another one has.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    version = str(retained["vocabulary_version"].iloc[0]) if len(retained) else ""
    if len(retained) and is_published_scale(retained):
        reason = str(retained["ruler_reason"].iloc[0])
        return _published(version, list(matches), identities, reason)
    phrases = sorted(retained["phrase"].tolist())
    if len(phrases) > 1:
        _require_same_matches(matches, version)
    # All judges are pooled: an answer counts the same, whoever gave it (section 3).
    answers = collect_answers(phrases, matches)
    if not len(answers.winner):
        judges = ", ".join(matches) or "no judge"
        raise MethodError(
            f"the ranking has no valid match: every answer of {judges} is invalid or "
            "there are fewer than two phrases. Use another judge."
        )
    ratings = answers.play(random_orders(answers, settings))
    mu = ratings.mu.mean(axis=0)
    ranked = pd.DataFrame(
        {
            "phrase": phrases,
            "mu": mu,
            "sigma": ratings.sigma.mean(axis=0),
            **bootstrap_intervals(
                answers.winner, answers.loser, answers.cluster, mu, settings
            ),
            "n_matches": answers.played,
            "win_rate": answers.won / pd.Series(answers.played).replace(0, np.nan),
            "reading_sd": judge_sentence_deviation(phrases, mu, matches),
            "ruler": "own",
            "ruler_reason": "",
            "vocabulary_version": version,
            "ranking_version": ranking_version(
                vocabulary, matches, settings, identities
            ),
        }
    )
    # Stable, so that of equal phrases the first in the alphabet has the better rank.
    by_rank = ranked.sort_values("mu", ascending=False, kind="stable")
    return _ranking_frame(by_rank, list(matches))


def published_instead(
    ranking: pd.DataFrame, reason: str, identities: Sequence[str] = ()
) -> pd.DataFrame:
    """Take the published scale where a ranking gives no probabilities.

    Args:
        ranking: `REFERENCE_RANKING` frame of the corpus's own phrases.
        reason: why, as `probability.calibration_problem` says it.
        identities: as for `reference_ranking`.
    """
    first = ranking.iloc[0]
    version = str(first["vocabulary_version"])
    return _published(version, list(first["judges"]), identities, reason)


def _require_same_matches(
    matches: Mapping[str, pd.DataFrame], vocabulary_version: str
) -> None:
    """Refuse judges that did not answer the same matches of this vocabulary.

    A ranking never claims a judge whose answers it lacks.
    """
    expected = set().union(*(frame["match_id"] for frame in matches.values()))
    for judge, frame in matches.items():
        is_of_vocabulary = set(frame["vocabulary_version"]) == {vocabulary_version}
        if not is_of_vocabulary or set(frame["match_id"]) != expected:
            raise MethodError(
                f"matches of judge {judge!r}: found {len(frame)} of {len(expected)}, "
                "or of another vocabulary; expected one answer to every match of the "
                "vocabulary that is ranked. Materialise comparison_matches of that "
                "judge again."
            )


def collect_answers(
    phrases: Sequence[str], matches: Mapping[str, pd.DataFrame]
) -> CollectedAnswers:
    """Collect the valid answers of all judges, sorted by match and judge."""
    valid = [
        frame.dropna(subset="winner").assign(judge=judge)
        for judge, frame in matches.items()
    ]
    columns = COMPARISON_MATCHES.frame().assign(judge="")
    rows = pd.concat([columns, *valid], ignore_index=True)
    # Neither the order of judges nor that of rows may change a bit of the ratings.
    rows = rows.sort_values(["match_id", "judge"], kind="stable")
    numbers = pd.Index(list(phrases), dtype="str")
    phrase_a = numbers.get_indexer(pd.Index(rows["phrase_a"]))
    phrase_b = numbers.get_indexer(pd.Index(rows["phrase_b"]))
    winner = numbers.get_indexer(pd.Index(rows["winner"]))
    is_unknown = (phrase_a < 0) | (phrase_b < 0)
    if is_unknown.any():
        judge = rows["judge"].to_numpy()[is_unknown][0]
        raise MethodError(
            f"matches of judge {judge!r} are about phrases outside the vocabulary. "
            "Materialise comparison_matches again."
        )
    # All judges see the same two sentences, so their answers depend on each other.
    sentence_pairs = rows.groupby(
        ["phrase_a", "phrase_b", "sentence_a", "sentence_b"], sort=False
    )
    return CollectedAnswers(
        phrases=phrases,
        winner=winner,
        loser=np.where(winner == phrase_a, phrase_b, phrase_a),
        match=text_hashes(rows["match_id"]),
        identity=text_hashes(rows["match_id"] + " " + rows["judge"]),
        cluster=np.asarray(sentence_pairs.ngroup(), dtype=np.int64),
    )


def random_orders(answers: CollectedAnswers, settings: ExplicitSettings) -> Integers:
    """Draw orders of play, shape (orders, answers).

    Answers are sorted by hash(seed, order, match, judge).
    """
    seed = text_hash(settings.seed, "order of play")
    order = np.arange(settings.orders, dtype=np.uint64)[:, None]
    return np.argsort(mix(seed, order, answers.identity), axis=1, kind="stable")


def ranking_version(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> str:
    """Hash everything that the ranking follows from.

    Args:
        vocabulary: what is ranked.
        matches: answers per judge.
        settings: seed, orders, resamples.
        identities: of the judges.
    """
    # The order of the parts is part of every stored version: append, never reorder.
    parts: list[object] = [
        trueskill.MU,
        trueskill.SIGMA,
        trueskill.BETA,
        trueskill.TAU,
        settings.seed,
        settings.orders,
        settings.bootstrap,
        ORDERS_PER_RESAMPLE,
        ASSUMED_DEVIATION,
        str(vocabulary["vocabulary_version"].iloc[0]),
        *identities,
    ]
    for judge, frame in matches.items():
        answered = frame.sort_values("match_id")[["match_id", "answer", "swapped"]]
        parts += [judge, len(frame)]
        parts += [" ".join(map(str, row)) for row in answered.itertuples(index=False)]
    return digest(*parts)


def _published(
    vocabulary_version: str, judges: list[str], identities: Sequence[str], reason: str
) -> pd.DataFrame:
    """Make a ranking of the published phrases, for these judges."""
    entries = published_ranking()
    scores = [f"{entry.phrase} {entry.mu} {entry.sigma}" for entry in entries]
    version = digest("published", ASSUMED_DEVIATION, *scores, *judges, *identities)
    ranked = pd.DataFrame(entries)
    # Nothing was compared, so nothing is uncertain: every interval is a point.
    ranked = ranked.assign(
        mu_sd=0.0,
        mu_low=ranked["mu"],
        mu_high=ranked["mu"],
        rank_low=ranked["rank"],
        rank_high=ranked["rank"],
        reading_sd=ASSUMED_DEVIATION,
        n_matches=0,
        win_rate=np.nan,
        ruler="published",
        ruler_reason=reason,
        vocabulary_version=vocabulary_version,
        ranking_version=version,
    )
    return _ranking_frame(ranked, judges)


def _ranking_frame(ranked: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    """Make the table of phrases that are in ranking order."""
    columns = {str(name): values.tolist() for name, values in ranked.items()}
    columns["rank"] = list(range(len(ranked)))
    columns["judges"] = [judges] * len(ranked)
    return REFERENCE_RANKING.frame(columns)
