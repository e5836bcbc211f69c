"""Agreement between judges over the comparison matches, diagnostics of a single judge, and correlations of
rankings (explicit.md section 3).

The published kappa was coded with phrases as categories and the published alpha with first/second, which is
why the two differ so much. Both codings are reported for both coefficients:

- `phrase`: the category is the phrase that was chosen, among all phrases of the vocabulary. Chance agreement
  is then near zero.
- `position`: the category is whether the sentence shown first or the one shown second was chosen. Chance
  agreement is about one half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.reliability import (
    NOT_DEFINED,
    MeasuredValue,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    mean_of,
    pairwise_agreement,
    wilson,
)
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS

ALL_JUDGES = "all judges"
NO_MATCHES, OTHER_VOCABULARY, ALL_INVALID = "no matches", "matches of another vocabulary", "no valid answer"
"""Why a judge is not compared with the others."""

AVERAGED = -1
"""The order number of a reference ranking, which is averaged over random orders."""

_FEWEST = 3
_INVALID, _NOT_ASKED = -1, -2
_QUESTION = ["match_id", "sentence_a", "sentence_b", "swapped"]


@dataclass(frozen=True)
class Judged:
    """Answers of several judges to the same questions.

    A question is two sentences in the order in which they were shown, so a judge who was asked with other
    sentences or in another order was not asked the same. `position` (questions, judges): 0 sentence_1, 1
    sentence_2, -1 invalid, -2 not asked. `shown` (questions, 2): numbers of the phrases that were shown first
    and second.
    """

    judges: tuple[str, ...]
    position: Integers
    shown: Integers


def judge_agreement(
    matches: Mapping[str, pd.DataFrame], vocabulary_version: str | None = None
) -> pd.DataFrame:
    """Every measure of agreement as one row, a `JUDGE_AGREEMENT` frame.

    Args:
        matches: `COMPARISON_MATCHES` frame per judge.
        vocabulary_version: judges with matches of another vocabulary are left out and listed; None: all must
            have the same.

    Shares have Wilson's intervals; means, kappa and alpha have none. Fleiss' kappa takes the questions with a
    valid answer of every judge, alpha those with two or more; pairwise agreement those with valid answers of
    both.

    Raises:
        MethodError: judges have matches of different vocabularies and no version is given.
    """
    compared, rows = comparable(matches, vocabulary_version)
    for judge, frame in compared.items():
        rows += _diagnostic_rows(judge, frame)
    answering = {judge: frame for judge, frame in compared.items() if (frame["answer"] != "invalid").any()}
    judged = same_questions(answering)
    rows += _pairwise_rows(judged)
    incomplete, unpaired = "no valid answer of every judge", "fewer than two valid answers"
    rows += coefficient_rows(judged.position, judged.shown, incomplete, unpaired, first=ALL_JUDGES)
    rows += [
        _left_out(judge, frame, ALL_INVALID) for judge, frame in compared.items() if judge not in answering
    ]
    return agreement_frame(JUDGE_AGREEMENT, [{"p_value": None, **row} for row in rows])


def comparable(
    matches: Mapping[str, pd.DataFrame], vocabulary_version: str | None
) -> tuple[dict[str, pd.DataFrame], list[dict[str, Any]]]:
    """Judges with matches of the vocabulary, by name, and a row for every other one.

    Raises:
        MethodError: judges have matches of different vocabularies and no version is given.
    """
    versions = {judge: set(frame["vocabulary_version"]) for judge, frame in matches.items() if len(frame)}
    known = set().union(*versions.values())
    if vocabulary_version is None and len(known) > 1:
        raise MethodError(
            f"judges {', '.join(sorted(versions))} have matches of {len(known)} vocabularies; expected one. "
            "Materialise comparison_matches of all judges again."
        )
    wanted = {vocabulary_version} if vocabulary_version is not None else known
    compared, rows = {}, []
    for judge in sorted(matches):
        if judge not in versions:
            rows.append(_left_out(judge, matches[judge], NO_MATCHES))
        elif versions[judge] - wanted:
            rows.append(_left_out(judge, matches[judge], OTHER_VOCABULARY))
        else:
            compared[judge] = matches[judge]
    return compared, rows


def _left_out(judge: str, frame: pd.DataFrame, reason: str) -> dict[str, Any]:
    """The row of a judge that is not compared, also of a judge without matches."""
    row = agreement_row("not compared", NOT_DEFINED, first=judge, left_out={reason: len(frame)})
    return {**row, "reasons": reason}


def same_questions(matches: Mapping[str, pd.DataFrame]) -> Judged:
    """Answers side by side, sorted by question; `matches` as `comparable` returns them."""
    if not matches:
        return Judged((), np.zeros((0, 0), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    together = pd.concat(list(matches.values()), ignore_index=True)
    judge = np.repeat(np.arange(len(matches)), [len(frame) for frame in matches.values()])
    question = np.asarray(together.groupby(_QUESTION, sort=True).ngroup(), dtype=np.int64)
    answer = together["answer"].to_numpy()
    position = np.full((question.max() + 1, len(matches)), _NOT_ASKED, dtype=np.int64)
    position[question, judge] = np.select([answer == "sentence_1", answer == "sentence_2"], [0, 1], _INVALID)
    questions = together.iloc[np.unique(question, return_index=True)[1]]
    phrases = np.unique(questions[["phrase_a", "phrase_b"]].to_numpy().astype(str))
    a, b = (
        np.searchsorted(phrases, questions[name].to_numpy().astype(str)) for name in ("phrase_a", "phrase_b")
    )
    swapped = questions["swapped"].to_numpy(dtype=bool)
    shown = np.stack([np.where(swapped, b, a), np.where(swapped, a, b)], axis=1)
    return Judged(tuple(matches), position, shown)


def _pairwise_rows(judged: Judged) -> Iterator[dict[str, Any]]:
    asked, valid = judged.position > _NOT_ASKED, judged.position >= 0
    found: dict[str, list[float | None]] = {judge: [] for judge in judged.judges}
    for a, b in combinations(range(len(judged.judges)), 2):
        both, either = asked[:, a] & asked[:, b], asked[:, a] | asked[:, b]
        left_out = {
            "invalid answer": int((both & ~(valid[:, a] & valid[:, b])).sum()),
            "not asked of both": int((either & ~both).sum()),
        }
        share = pairwise_agreement(judged.position[:, a], judged.position[:, b])
        first, second = judged.judges[a], judged.judges[b]
        found[first].append(share.value)
        found[second].append(share.value)
        yield agreement_row("pairwise agreement", share, first=first, second=second, left_out=left_out)
    for judge, values in found.items():
        if values:
            apart = {"judge without a common question": values.count(None)}
            yield agreement_row("mean pairwise agreement", mean_of(values), first=judge, left_out=apart)


def _diagnostic_rows(judge: str, frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Position bias, invalid answers and consistency over repetitions of one judge.

    A coin decides which phrase is shown first, so a judge that looks at the content only chooses sentence_1
    half the time whatever the sentences are, and the binomial test is exact. With fixed positions content and
    position cannot be told apart: no test, no effect.
    """
    from scipy.stats import binomtest  # slow to import, and definitions load this module

    answer, swapped = frame["answer"].to_numpy(), frame["swapped"].to_numpy(dtype=bool)
    first, valid = answer == "sentence_1", answer != "invalid"
    a_first = (int((first & ~swapped).sum()), int((valid & ~swapped).sum()))
    b_first = (int((first & swapped).sum()), int((valid & swapped).sum()))
    hits, n = a_first[0] + b_first[0], a_first[1] + b_first[1]
    tested = a_first[1] > 0 and b_first[1] > 0
    p_value = float(binomtest(hits, n).pvalue) if tested else None
    invalid = {"invalid answer": len(frame) - n}
    fixed = {"positions were never swapped": n} if n and not tested else {}
    effect = _position_effect(a_first, b_first) if tested else NOT_DEFINED
    yield agreement_row("sentence_1 chosen", wilson(hits, n), first=judge, left_out=invalid, p_value=p_value)
    yield agreement_row("sentence_1 chosen, phrase_a shown first", wilson(*a_first), first=judge)
    yield agreement_row("sentence_1 chosen, phrase_b shown first", wilson(*b_first), first=judge)
    yield agreement_row("position effect", effect, first=judge, left_out={**invalid, **fixed})
    yield agreement_row("invalid answers", wilson(len(frame) - n, len(frame)), first=judge)
    wins = pair_votes(frame)[["for_a", "for_b"]].to_numpy(dtype=np.int64)
    repeated = wins[wins.sum(axis=1) > 1]
    share = mean_of((repeated.max(axis=1, initial=0) / repeated.sum(axis=1)).tolist())
    single = {"phrase pair with fewer than two valid answers": len(wins) - len(repeated)}
    yield agreement_row("majority share", share, first=judge, left_out=single)


def _position_effect(a_first: tuple[int, int], b_first: tuple[int, int]) -> MeasuredValue:
    """P(phrase_a chosen | shown first) - P(phrase_a chosen | shown second) with Newcombe's interval.

    0 for a judge that looks at the content only, 1 for one that always answers sentence_1.
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    chose_a, of_a_first = a_first
    of_b_first = b_first[1]
    chose_a_shown_second = of_b_first - b_first[0]
    value = chose_a / of_a_first - chose_a_shown_second / of_b_first
    low, high = confint_proportions_2indep(
        chose_a, of_a_first, chose_a_shown_second, of_b_first, method="newcomb", compare="diff"
    )
    return MeasuredValue(value, of_a_first + of_b_first, min(float(low), value), max(float(high), value))


def pair_votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Votes of one judge over the repetitions of each phrase pair: `phrase_a` and `phrase_b`, in alphabetical
    order, and their wins `for_a` and `for_b`. A pair with invalid answers only has no votes.
    """
    wins = {
        f"for_{side}": (frame["winner"] == frame[f"phrase_{side}"]).fillna(False).astype("int64")
        for side in "ab"
    }
    votes = frame[["phrase_a", "phrase_b"]].assign(**wins)
    return votes.groupby(["phrase_a", "phrase_b"], sort=True).sum().reset_index()


def ranking_correlations(
    matches: Mapping[str, pd.DataFrame],
    rankings: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    vocabulary_version: str | None = None,
) -> pd.DataFrame:
    """Correlations of every two of all rankings, a `RANKING_CORRELATIONS` frame; each pair once.

    Args:
        matches: `COMPARISON_MATCHES` frame per judge. Each judge's matches alone are played in
            `settings.orders` random orders.
        rankings: `REFERENCE_RANKING` frame per ranker (the pooled ranking, and any other).
        vocabulary_version: as in `judge_agreement`, which lists the judges that are left out; rankings of
            another vocabulary are left out likewise.

    A phrase counts where both sides have a valid match of it.

    Raises:
        MethodError: judges have matches of different vocabularies and no version is given.
    """
    compared, _ = comparable(matches, vocabulary_version)
    versions = {version for frame in compared.values() for version in frame["vocabulary_version"].unique()}
    phrases = sorted(
        {phrase for frame in compared.values() for name in ("phrase_a", "phrase_b") for phrase in frame[name]}
    )
    rated: dict[tuple[str, int], Floats] = {}
    for judge, frame in compared.items():
        answers = collect_answers(phrases, {judge: frame})
        if len(answers):
            orders = random_orders(answers, settings)
            mus, _ = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
            played = np.sum(answers.counts, axis=0) > 0
            rated |= {(judge, order): np.where(played, mu, np.nan) for order, mu in enumerate(mus)}
    for ranker, frame in sorted(rankings.items()):
        if len(frame) and (frame["ruler"] == "own").all() and set(frame["vocabulary_version"]) == versions:
            mu = frame[frame["n_matches"] > 0].set_index("phrase")["mu"]
            rated[ranker, AVERAGED] = mu.reindex(phrases).to_numpy(dtype=np.float64)
    labels, places = list(rated), np.array(list(rated.values())).reshape(len(rated), len(phrases))
    first, second = np.triu_indices(len(labels), k=1)
    present = np.isfinite(places).astype(np.int64)
    correlation = pd.DataFrame(places.T).corr(method="spearman", min_periods=_FEWEST).to_numpy()
    return RANKING_CORRELATIONS.frame(
        {
            "first": [labels[i][0] for i in first.tolist()],
            "first_order": [labels[i][1] for i in first.tolist()],
            "second": [labels[i][0] for i in second.tolist()],
            "second_order": [labels[i][1] for i in second.tolist()],
            "spearman": [value if np.isfinite(value) else None for value in correlation[first, second]],
            "n_phrases": (present @ present.T)[first, second].tolist(),
        }
    )
