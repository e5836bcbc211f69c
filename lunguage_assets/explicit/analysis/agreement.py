"""Agreement between judges over the comparison matches, and between extractors over hedging phrases
(explicit.md sections 1 and 3).

The published kappa was coded with phrases as categories and the published alpha with first/second, which is
why the two differ so much. Both codings are reported for both coefficients:

- `phrase`: the category is the phrase that was chosen, among all phrases of the vocabulary. Chance agreement
  is then near zero.
- `position`: the category is whether the sentence shown first or the one shown second was chosen. Chance
  agreement is about one half.

Diagnostics of a single judge are in `diagnostics.py`, the coefficients themselves in `reliability.py`.
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
    Resampling,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    pairwise_agreement,
    shares,
)
from lunguage_assets.explicit.analysis.trust.diagnostics import diagnostic_rows
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT

ALL_JUDGES = "all judges"
NO_MATCHES, OTHER_VOCABULARY, ALL_INVALID = "no matches", "matches of another vocabulary", "no valid answer"
"""Why a judge is not compared with the others."""

_INVALID, _NOT_ASKED = -1, -2
_QUESTION = ["match_id", "sentence_a", "sentence_b", "swapped"]
_PAIR = ["phrase_a", "phrase_b", "sentence_a", "sentence_b"]


@dataclass(frozen=True)
class Judged:
    """Answers of several judges to the same questions.

    A question is two sentences in the order in which they were shown, so a judge who was asked with other
    sentences or in another order was not asked the same. `position` (questions, judges): 0 sentence_1, 1
    sentence_2, -1 invalid, -2 not asked. `shown` (questions, 2): numbers of the phrases that were shown first
    and second. `cluster`: number of the question's sentence pair, whose answers depend on each other.
    """

    judges: tuple[str, ...]
    position: Integers
    shown: Integers
    cluster: Integers


def judge_agreement(
    matches: Mapping[str, pd.DataFrame],
    hedges: Mapping[tuple[str, str], pd.DataFrame],
    settings: ExplicitSettings,
    vocabulary_version: str | None = None,
) -> pd.DataFrame:
    """Every measure of agreement as one row, a `JUDGE_AGREEMENT` frame.

    Args:
        matches: `COMPARISON_MATCHES` frame per judge.
        hedges: `HEDGE_PHRASES` frame per (judge, batch), for the agreement of extractors.
        settings: seed and number of bootstrap resamples (fewer than two: no intervals from resampling).
        vocabulary_version: judges with matches of another vocabulary are left out and listed; None: all must
            have the same.

    Intervals of pairwise agreement come from a bootstrap of sentence pairs; kappa and alpha have none.
    Fleiss' kappa takes the questions with a valid answer of every judge, alpha those with two or more;
    pairwise agreement those with valid answers of both.

    Raises:
        MethodError: judges have matches of different vocabularies and no version is given.
    """
    compared, rows = comparable(matches, vocabulary_version)
    for judge, frame in compared.items():
        rows += diagnostic_rows(judge, frame, settings)
    answering = {judge: frame for judge, frame in compared.items() if (frame["answer"] != "invalid").any()}
    judged = same_questions(answering)
    resampling = Resampling(judged.cluster, settings.seed, settings.bootstrap)
    rows += _pairwise_rows(judged, resampling)
    incomplete, unpaired = "no valid answer of every judge", "fewer than two valid answers"
    rows += coefficient_rows(judged.position, judged.shown, incomplete, unpaired, first=ALL_JUDGES)
    rows += [
        _left_out(judge, frame, ALL_INVALID) for judge, frame in compared.items() if judge not in answering
    ]
    rows += extractor_rows(hedges, settings)
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


def same_questions(matches: Mapping[str, pd.DataFrame]) -> Judged:
    """Answers side by side, sorted by question; `matches` as `comparable` returns them."""
    if not matches:
        none = np.zeros((0, 0), dtype=np.int64)
        return Judged((), none, np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64))
    together = pd.concat(list(matches.values()), ignore_index=True)
    judge = np.repeat(np.arange(len(matches)), [len(frame) for frame in matches.values()])
    question = np.asarray(together.groupby(_QUESTION, sort=True).ngroup(), dtype=np.int64)
    answer = together["answer"].to_numpy()
    position = np.full((question.max() + 1, len(matches)), _NOT_ASKED, dtype=np.int64)
    position[question, judge] = np.select([answer == "sentence_1", answer == "sentence_2"], [0, 1], _INVALID)
    first = np.unique(question, return_index=True)[1]
    questions = together.iloc[first]
    phrases = np.unique(questions[["phrase_a", "phrase_b"]].to_numpy().astype(str))
    a, b = (
        np.searchsorted(phrases, questions[name].to_numpy().astype(str)) for name in ("phrase_a", "phrase_b")
    )
    swapped = questions["swapped"].to_numpy(dtype=bool)
    shown = np.stack([np.where(swapped, b, a), np.where(swapped, a, b)], axis=1)
    cluster: Integers = np.asarray(questions.groupby(_PAIR, sort=True).ngroup(), dtype=np.int64)
    return Judged(tuple(matches), position, shown, cluster)


def _pairwise_rows(judged: Judged, resampling: Resampling) -> Iterator[dict[str, Any]]:
    table = pairwise_agreement(judged.position, resampling)
    asked, valid = judged.position > _NOT_ASKED, judged.position >= 0
    for number, (a, b) in enumerate(table.pairs):
        both, either = asked[:, a] & asked[:, b], asked[:, a] | asked[:, b]
        left_out = {
            "invalid answer": int((both & ~(valid[:, a] & valid[:, b])).sum()),
            "not asked of both": int((either & ~both).sum()),
        }
        pair = {"first": judged.judges[a], "second": judged.judges[b]}
        yield agreement_row("pairwise agreement", table.of_pair(number), **pair, left_out=left_out)
    if len(judged.judges) > 1:
        for number, judge in enumerate(judged.judges):
            mean = table.mean(number)
            apart = {"judge without a common question": len(judged.judges) - 1 - mean.n}
            yield agreement_row("mean pairwise agreement", mean, first=judge, left_out=apart)


def _left_out(judge: str, frame: pd.DataFrame, reason: str) -> dict[str, Any]:
    """The row of a judge that is not compared, also of a judge without matches."""
    row = agreement_row("not compared", NOT_DEFINED, first=judge, left_out={reason: len(frame)})
    return {**row, "reasons": reason}


_MEASURES = ("extraction: same phrases", "extraction: jaccard", "extraction: f1")


def extractor_rows(
    hedges: Mapping[tuple[str, str], pd.DataFrame], settings: ExplicitSettings
) -> Iterator[dict[str, Any]]:
    """Rows of `JUDGE_AGREEMENT` for every two judges that share a batch.

    Args:
        hedges: `HEDGE_PHRASES` frame per (judge, batch).
        settings: seed and number of resamples; intervals come from a bootstrap of studies.

    Compared are the phrases that the filters left, over all pairs that both could read and nobody corrected
    (a correction is the same for every extractor). `same phrases` is the share of equal sets; `jaccard` the
    mean overlap, 1 where both found nothing; `f1` counts phrases over all pairs (2 x common / sum of both)
    and is null when nobody found any.
    """
    for first, second in combinations(sorted({judge for judge, _ in hedges}), 2):
        batches = sorted(batch for judge, batch in hedges if judge == first and (second, batch) in hedges)
        if batches:
            yield from _pair_rows(
                first, second, [(hedges[first, batch], hedges[second, batch]) for batch in batches], settings
            )


def _pair_rows(
    first: str, second: str, frames: list[tuple[pd.DataFrame, pd.DataFrame]], settings: ExplicitSettings
) -> Iterator[dict[str, Any]]:
    left_out = {"corrected by a person": 0, "invalid answer": 0, "pair that one of them lacks": 0}
    overlaps: list[tuple[float, float, float, float]] = []
    studies: list[str] = []
    for one, other in frames:
        answers, others = _answers(one), _answers(other)
        left_out["pair that one of them lacks"] += len(answers.keys() ^ others.keys())
        for finding_id in sorted(answers.keys() & others.keys()):
            study, phrases, obstacle = answers[finding_id]
            _, further, second_obstacle = others[finding_id]
            if obstacle or second_obstacle:
                left_out[min(filter(None, (obstacle, second_obstacle)))] += 1
                continue
            union, common = len(phrases | further), len(phrases & further)
            jaccard = common / union if union else 1.0
            overlaps.append((float(phrases == further), jaccard, 2.0 * common, len(phrases) + len(further)))
            studies.append(study)
    hits = np.array(overlaps).reshape(-1, 4)
    cases = np.stack([np.ones(len(hits)), np.ones(len(hits)), hits[:, 3]], axis=1)
    cluster = pd.factorize(np.array(studies, dtype=object), sort=True)[0].astype(np.int64)
    estimates = shares(hits[:, :3], cases, Resampling(cluster, settings.seed, settings.bootstrap))
    for measure, estimate in zip(_MEASURES, estimates, strict=True):
        silent = {"no phrase in either": len(hits) - estimate.n} if measure.endswith("f1") else {}
        yield agreement_row(measure, estimate, first=first, second=second, left_out={**left_out, **silent})


def _answers(frame: pd.DataFrame) -> dict[str, tuple[str, frozenset[str], str]]:
    """Study, phrases, and the obstacle to a comparison (empty: none), by finding id."""
    obstacle = np.where(frame["answer_state"] == "valid", "", "invalid answer")
    obstacle = np.where(frame["corrected"], "corrected by a person", obstacle)
    columns = [frame[name].tolist() for name in ("finding_id", "study_id", "phrases")]
    return {
        finding_id: (study, frozenset(phrases), why)
        for finding_id, study, phrases, why in zip(*columns, obstacle.tolist(), strict=True)
    }
