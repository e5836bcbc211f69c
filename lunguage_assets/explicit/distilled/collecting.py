"""Collects a panel's answers from its stored comparisons, and the plays of its fits.

docs/distilled.md. Nobody is asked: what a distilled model learns from was paid before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled.answers import NO_PHRASE, NO_SENTENCE, Answers
from lunguage_assets.explicit.distilled.folds import patient_groups
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.explicit.rating import trueskill

MIN_SENTENCES = 50
"""Fitted sentences below which nothing is learnt."""
_ARRAY_TYPES = {
    **dict.fromkeys(["sentence", "other_sentence", "phrase"], np.int64),
    **dict.fromkeys(["judge", "step"], np.int64),
    **dict.fromkeys(["phrase_mu", "noise"], np.float64),
    "won": np.bool_,
}
"""Types of the arrays of `Answers`, as they are hashed."""


def panel_answers(
    findings: pd.DataFrame,
    fitted: pd.DataFrame,
    log: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    ranking: pd.DataFrame,
) -> Answers:
    """Collect the answers of a panel, every one once.

    Args:
        findings: `FINDINGS` frame of all batches that the panel fitted.
        fitted: their `FITTED_PROBABILITIES`.
        log: their `FIT_LOG`.
        matches: `COMPARISON_MATCHES` of the panel's judges.
        ranking: the `REFERENCE_RANKING` that the fits are of.

    Raises:
        MethodError: too few fitted sentences, or fits of another ranking.
    """
    if set(fitted["ranking_version"]) - set(ranking["ranking_version"]):
        raise MethodError(
            "fits belong to another ranking. `lunguage run` fits again; then distill."
        )
    rows = tentative_rows(findings)
    rows = rows[rows["mask_state"] == "masked"]
    rows = rows.assign(key=rows["masked_sentence"].map(sentence_key))
    judges = tuple(matches)
    compared = _comparisons(matches, judges)
    # A comparison shows example sentences, of which many were never fitted.
    all_sentences = pd.concat(
        [rows["masked_sentence"], compared["sentence_a"], compared["sentence_b"]]
    )
    sentence_by_key = {
        sentence_key(sentence): sentence for sentence in all_sentences.unique()
    }
    plays = _plays(log, judges, ranking)
    plays = plays[plays["sentence_key"].isin(sentence_by_key)]
    sentences = _sentences(sentence_by_key, rows, fitted)
    fitted_sentences = int(sentences["mu_centre"].notna().sum())
    if fitted_sentences < MIN_SENTENCES or plays.empty:
        raise MethodError(
            f"found {fitted_sentences} sentences that the panel has fitted, with "
            f"{len(plays)} answers in fit_log; expected {MIN_SENTENCES} or more, of "
            "2,000 that docs/distilled.md advises. Let the panel fit more reports "
            "(`lunguage run --fit panel`), with fit_log = true under [explicit] in "
            "settings.toml."
        )
    return _joined(sentences, judges, plays, compared, ranking)


def _joined(
    sentences: pd.DataFrame,
    judges: tuple[str, ...],
    plays: pd.DataFrame,
    compared: pd.DataFrame,
    ranking: pd.DataFrame,
) -> Answers:
    """Join the plays of fits with the comparisons, as arrays: the plays come first."""
    number_of_judge = {judge: number for number, judge in enumerate(judges)}
    number_of_sentence = sentences.index.get_indexer
    phrase = pd.Index(ranking["phrase"]).get_indexer(pd.Index(plays["opponent"]))
    phrase_sigma = ranking["sigma"].to_numpy(dtype=np.float64)[phrase]
    against_phrases = pd.DataFrame(
        {
            "sentence": number_of_sentence(pd.Index(plays["sentence_key"])),
            "other_sentence": NO_SENTENCE,
            "phrase": phrase,
            "phrase_mu": ranking["mu"].to_numpy(dtype=np.float64)[phrase],
            # A phrase's own uncertainty adds to the noise of an answer against it.
            "noise": np.sqrt(2.0 * trueskill.BETA**2 + phrase_sigma**2),
            "won": plays["answer"] == "won",
            "judge": plays["judge"].map(number_of_judge),
            "step": plays["step"],
        }
    )
    first_key = compared["sentence_a"].map(sentence_key)
    second_key = compared["sentence_b"].map(sentence_key)
    of_two_sentences = pd.DataFrame(
        {
            "sentence": number_of_sentence(pd.Index(first_key)),
            "other_sentence": number_of_sentence(pd.Index(second_key)),
            "phrase": NO_PHRASE,
            "phrase_mu": 0.0,
            "noise": trueskill.DIFFERENCE_SD,
            "won": compared["winner"] == compared["phrase_a"],
            "judge": compared["judge"].map(number_of_judge),
            "step": compared["repetition"],
        }
    )
    joined = pd.concat([against_phrases, of_two_sentences]).astype(_ARRAY_TYPES)
    arrays: dict[str, Any] = {name: joined[name].to_numpy() for name in _ARRAY_TYPES}
    return Answers(sentences, judges, **arrays, count=np.ones(len(joined)))


def _plays(
    log: pd.DataFrame, judges: Sequence[str], ranking: pd.DataFrame
) -> pd.DataFrame:
    """Make a row per valid answer in the log: 'judge=won judge=lost' are two."""
    # A sentence of several batches is in the log of each, with the same plays.
    log = log.drop_duplicates(["sentence_key", "step"])
    log = log.sort_values(["sentence_key", "step"])
    plays = log.assign(answer=log["answers"].str.split(" ")).explode("answer")
    # Split at the last sign: a judge's key may have one of its own.
    judge_and_answer = plays["answer"].str.rsplit("=", n=1, expand=True)
    plays[["judge", "answer"]] = judge_and_answer.reindex(columns=[0, 1])
    is_member = plays["judge"].isin(judges)
    is_ranked = plays["opponent"].isin(ranking["phrase"])
    is_valid = plays["answer"].isin(["won", "lost"])
    return plays[is_member & is_ranked & is_valid].reset_index(drop=True)


def _comparisons(
    matches: Mapping[str, pd.DataFrame], judges: Sequence[str]
) -> pd.DataFrame:
    """Make a row per valid comparison of two different sentences.

    A sentence that exemplifies both phrases may have met itself: nothing is learnt.
    """
    compared = pd.concat([matches[judge].assign(judge=judge) for judge in judges])
    is_different = compared["sentence_a"] != compared["sentence_b"]
    return compared[is_different & compared["winner"].notna()].reset_index(drop=True)


def _sentences(
    sentence_by_key: Mapping[str, str], rows: pd.DataFrame, fitted: pd.DataFrame
) -> pd.DataFrame:
    """Make the rows of `Answers.sentences`, sorted by key."""
    sentences = pd.DataFrame({"sentence": sentence_by_key}).sort_index()
    fitted = fitted[fitted["sentence_key"] != ""]
    hedged = fitted.explode("phrases").dropna(subset=["phrases"])
    phrases_by_key = {
        str(key): tuple(sorted(set(phrases)))
        for key, phrases in hedged.groupby("sentence_key")["phrases"]
    }
    sentences["phrases"] = [phrases_by_key.get(key, ()) for key in sentences.index]
    scored = fitted[fitted["mu"].notna()].drop_duplicates("sentence_key")
    scores = scored.set_index("sentence_key")[["mu", "mu_centre", "mu_sd"]]
    sentences[["mu", "mu_centre", "mu_sd"]] = scores.reindex(sentences.index)
    sentences["group"] = patient_groups(sentences.index, rows)
    # Two findings of one sentence of a report: the mask alone tells them apart.
    unmasked = rows["study_id"] + "\x1f" + rows["sent"]
    pair = unmasked.groupby(rows["key"]).min()
    sentences["pair"] = pair.reindex(sentences.index).fillna("")
    return sentences
