"""The reference scale: hedging phrases compared by judges, and ranked by certainty.

Sections 2 and 3 of docs/method/explicit.md. Every two phrases are compared, and all
valid answers of all judges are played in random orders, over which mu and sigma are
averaged; or the published scale is taken. The arithmetic of one match is in
`trueskill.py`, the intervals are in `intervals.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.intervals import (
    ORDERS_PER_RESAMPLE,
    READING_SD,
    bootstrap_intervals,
)
from lunguage_assets.explicit.probability import (
    Anchor,
    CalibrationError,
    calibrate,
    ranked_phrases,
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

Matches = Mapping[str, pd.DataFrame]
"""`COMPARISON_MATCHES` frame by judge, in panel order."""

# Mixed into the hash of a pair and repetition, so that its draws are independent.
_SENTENCE_A = 0
_SENTENCE_B = 1
_COIN = 2

_PAIR = ["phrase_a", "phrase_b", "sentence_a", "sentence_b"]


def is_published_scale(phrases: pd.DataFrame) -> bool:
    """Tell whether phrases have the published scale, and no ranking of this corpus.

    Args:
        phrases: `REFERENCE_RANKING` or `HEDGE_VOCABULARY` frame.
    """
    return bool((phrases["ruler"] == "published").all())


class Examples:
    """Distinct masked sentences that show each phrase, by the number of the phrase.

    Args:
        sentences: of each phrase.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self.sentences = [np.array(texts, dtype=object) for texts in sentences]
        self._hashes = [text_hashes(texts) for texts in sentences]

    def draw(self, phrases: Integers, draws: U64) -> NDArray[np.object_]:
        """Draw a sentence of each phrase; one that is added later changes few draws.

        Args:
            phrases: numbers of the phrases, shape (n,).
            draws: hashes that the draws follow from, shape (n,).
        """
        drawn = np.empty(len(phrases), dtype=object)
        for phrase in np.unique(phrases).tolist():
            is_phrase = phrases == phrase
            numbers = smallest(draws[is_phrase], self._hashes[phrase])
            drawn[is_phrase] = self.sentences[phrase][numbers]
        return drawn


# Comparison matches


def comparison_matches(
    vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings
) -> pd.DataFrame:
    """Ask a judge about all matches of a vocabulary.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        judge: who is asked.
        settings: `repetitions`, seed, position.

    Returns:
        A `COMPARISON_MATCHES` frame, sorted by phrases and repetition.
    """
    matches = schedule(vocabulary, settings)
    is_swapped = matches["swapped"].to_numpy()
    pair = matches[["sentence_a", "sentence_b"]].to_numpy()
    shown = np.where(is_swapped[:, None], pair[:, ::-1], pair)
    repetitions = matches["repetition"].tolist()
    questions = list(map(ComparisonQuestion, *shown.T.tolist(), repetitions))
    matches["answer"] = pd.Series(judge.compare(questions), dtype="str")
    # The phrase whose sentence was chosen, on whichever side it was shown.
    has_a_won = (matches["answer"] == "sentence_1") != is_swapped
    winner = matches["phrase_a"].where(has_a_won, matches["phrase_b"])
    matches["winner"] = winner.mask(matches["answer"] == "invalid")
    return COMPARISON_MATCHES.frame(matches)


def schedule(vocabulary: pd.DataFrame, settings: ExplicitSettings) -> pd.DataFrame:
    """List all matches: every two retained phrases, `repetitions` times.

    None for the published scale, which needs no matches, and for a vocabulary of less
    than two phrases. Pairs, sentences and positions follow from the vocabulary and the
    settings alone, so every judge is asked about the same sentence pairs. A sentence
    that exemplifies both phrases may meet itself, as in the published procedure.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        settings: `repetitions`, seed, position.

    Returns:
        `COMPARISON_MATCHES` without the columns of an answer.
    """
    # Alphabetical, so that no order of the vocabulary decides what is phrase a.
    retained = vocabulary.query("retained and ruler == 'own'").sort_values("phrase")
    phrases = retained["phrase"].to_numpy(dtype=object)
    examples = Examples([sorted(set(texts)) for texts in retained["example_sentences"]])
    a, b = np.repeat(np.triu_indices(len(phrases), 1), settings.repetitions, axis=1)
    repetition = np.arange(len(a)) % settings.repetitions
    keys = list(zip(phrases[a], phrases[b], repetition.tolist(), strict=True))
    pair = np.array([text_hash(settings.seed, *key[:2]) for key in keys], np.uint64)
    # A coin decides which sentence is shown first; the public code shows a first.
    coin = random_bits(mix(pair, repetition, _COIN))
    return pd.DataFrame(
        {
            "match_id": [digest(*key)[:24] for key in keys],
            "phrase_a": phrases[a],
            "phrase_b": phrases[b],
            "repetition": repetition,
            "sentence_a": examples.draw(a, mix(pair, repetition, _SENTENCE_A)),
            "sentence_b": examples.draw(b, mix(pair, repetition, _SENTENCE_B)),
            "swapped": coin & (settings.position == "coin"),
            "vocabulary_version": _version_of(vocabulary),
        }
    )


# Ranking


def reference_ranking(
    vocabulary: pd.DataFrame,
    matches: Matches,
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
        MethodError: no valid match at all.
    """
    retained = vocabulary.query("retained")
    if len(retained) and is_published_scale(retained):
        reason = str(retained["ruler_reason"].iloc[0])
        return on_published_scale(retained, list(matches), reason, identities)
    phrases = sorted(retained["phrase"].tolist())
    # All judges are pooled: an answer counts the same, whoever gave it (section 3).
    answers = collect_answers(phrases, matches)
    if answers.empty:
        judges = ", ".join(matches) or "no judge"
        raise MethodError(
            f"the ranking has no valid match: every answer of {judges} is invalid or "
            "there are fewer than two phrases. Use another judge."
        )
    version = _version_of(retained)
    ratings = trueskill.play(answers, len(phrases), random_orders(answers, settings))
    mu = ratings.mu.mean(axis=0)
    won = np.bincount(answers["winner"], minlength=len(phrases))
    played = won + np.bincount(answers["loser"], minlength=len(phrases))
    ranked = pd.DataFrame(
        {
            "phrase": phrases,
            "mu": mu,
            "sigma": ratings.sigma.mean(axis=0),
            **bootstrap_intervals(answers, mu, settings),
            "n_matches": played,
            "win_rate": won / pd.Series(played).replace(0, np.nan),
            "judges": [list(matches)] * len(phrases),
            "ruler": "own",
            "ruler_reason": "",
            "vocabulary_version": version,
            "ranking_version": ranking_version(version, matches, settings, identities),
        }
    )
    # Stable, so that of equal phrases the first in the alphabet has the better rank.
    by_rank = ranked.sort_values("mu", ascending=False, kind="stable")
    return REFERENCE_RANKING.frame(by_rank.assign(rank=range(len(by_rank))))


def ranking_on_scale(
    ranking: pd.DataFrame,
    anchors: Sequence[Anchor],
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> pd.DataFrame:
    """Take a ranking, or the published one where no probability can be read off it.

    Args:
        ranking: `REFERENCE_RANKING` frame of a corpus' own phrases.
        anchors: phrases of known probability.
        settings: whether the published ranking may stand in.
        identities: as for `reference_ranking`.

    Raises:
        CalibrationError: the settings ask for the corpus' own ranking, or the anchors
            do not go with the published one either.
    """
    try:
        calibrate(ranked_phrases(ranking), anchors)
    except CalibrationError as error:
        if settings.reference_scale != "auto":
            raise
        judges = ranking["judges"].iloc[0]
        ranking = on_published_scale(ranking, judges, error.reason, identities)
        calibrate(ranking, anchors)
    return ranking


def on_published_scale(
    phrases: pd.DataFrame,
    judges: Sequence[str],
    reason: str,
    identities: Sequence[str] = (),
) -> pd.DataFrame:
    """Take the published ranking, where that of a corpus gives no probabilities.

    Args:
        phrases: that are not ranked, or whose ranking it stands in for.
        judges: of the ranker.
        reason: why, as `probability.CalibrationError` says it.
        identities: as for `reference_ranking`.
    """
    entries = published_ranking()
    scores = [f"{entry.phrase} {entry.mu} {entry.sigma}" for entry in entries]
    ranked = pd.DataFrame(entries)
    ranked["judges"] = [list(judges)] * len(ranked)
    # Nothing was compared, so nothing is uncertain: every interval is a point.
    ranked = ranked.assign(
        mu_sd=0.0,
        mu_low=ranked["mu"],
        mu_high=ranked["mu"],
        rank_low=ranked["rank"],
        rank_high=ranked["rank"],
        n_matches=0,
        win_rate=np.nan,
        ruler="published",
        ruler_reason=reason,
        vocabulary_version=_version_of(phrases),
        ranking_version=digest("published", READING_SD, *scores, *judges, *identities),
    )
    return REFERENCE_RANKING.frame(ranked)


def collect_answers(phrases: Sequence[str], matches: Matches) -> pd.DataFrame:
    """Collect the valid answers of all judges, whatever the order of the frames.

    Args:
        phrases: that were compared.
        matches: `COMPARISON_MATCHES` frame per judge.

    Returns:
        An answer a row: its `match_id`; the numbers of the phrases `winner` and
        `loser`, and that of the sentence pair, `cluster`; a hash of match and judge,
        `identity`.
    """
    of_all = pd.concat({"": COMPARISON_MATCHES.frame(), **matches}, names=["judge"])
    valid = of_all.reset_index("judge").dropna(subset="winner")
    # Neither the order of judges nor that of rows may change a bit of the ratings.
    rows = valid.sort_values(["match_id", "judge"], kind="stable", ignore_index=True)
    has_a_won = rows["winner"] == rows["phrase_a"]
    loser = rows["phrase_b"].where(has_a_won, rows["phrase_a"])
    numbers = pd.Index(list(phrases), dtype="str")
    return pd.DataFrame(
        {
            "match_id": rows["match_id"],
            "winner": numbers.get_indexer(pd.Index(rows["winner"])),
            "loser": numbers.get_indexer(pd.Index(loser)),
            # All judges see the same two sentences: their answers go together.
            "cluster": rows.groupby(_PAIR, sort=False).ngroup(),
            "identity": text_hashes(rows["match_id"] + " " + rows["judge"]),
        }
    )


def random_orders(
    answers: pd.DataFrame, settings: ExplicitSettings, *subject: object
) -> Integers:
    """Draw orders of play, shape (orders, answers).

    Answers are sorted by hash(seed, order, match, judge).

    Args:
        answers: as `collect_answers` returns them.
        settings: seed and number of orders.
        subject: what is played, where it is not the ranking.
    """
    seed = text_hash(settings.seed, *(subject or ["order of play"]))
    order = np.arange(settings.orders, dtype=np.uint64)[:, None]
    hashes = mix(seed, order, answers["identity"].to_numpy())
    return np.argsort(hashes, axis=1, kind="stable")


def ranking_version(
    vocabulary_version: str,
    matches: Matches,
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> str:
    """Hash everything that the ranking follows from.

    Args:
        vocabulary_version: of what is ranked.
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
        READING_SD,
        vocabulary_version,
        *identities,
    ]
    for judge, frame in matches.items():
        answered = frame.sort_values("match_id")[["match_id", "answer", "swapped"]]
        parts += [judge, answered.to_csv(index=False)]
    return digest(*parts)


def _version_of(phrases: pd.DataFrame) -> str:
    return str(next(iter(phrases["vocabulary_version"]), ""))
