"""Scores the sentences of a batch by a distilled model: no match is played.

docs/distilled.md. What the model has learnt nothing like is left to the panel, or takes
the probability of its phrases.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.explicit.distilled.scorer import DistilledScorer
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.judges.asking.progress import steps_of

SCORED = "scored"
OUT_OF_DISTRIBUTION = "unlike what was learnt"
"""Words of the column `stop`."""


def score_sentences(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    ranking: pd.DataFrame,
    scorer: DistilledScorer,
    *,
    ask_panel: bool,
) -> pd.DataFrame:
    """Score the masked sentences of a batch, as `fit_pairs` takes them.

    Args:
        findings: `FINDINGS` frame of the batch.
        hedges: its `HEDGE_PHRASES` frame.
        ranking: the `REFERENCE_RANKING` frame in whose units the scores are.
        scorer: the distilled model.
        ask_panel: whether sentences out of the model's distribution are left out, so
            that the panel is asked; else they are there without a score.

    Returns:
        A row per masked sentence, by its key.
    """
    rows = tentative_rows(findings)
    pairs = rows.loc[rows["mask_state"] == "masked", ["finding_id", "masked_sentence"]]
    sentence_by_key = {
        sentence_key(sentence): sentence
        for sentence in pairs["masked_sentence"].unique()
    }
    sentences = list(sentence_by_key.values())
    scores = scorer.read(sentences, steps_of("reading sentences", len(sentences)))
    new_sentences = _sentences_with_new_phrases(pairs, hedges, scorer)
    has_new_phrase = [sentence in new_sentences for sentence in sentences]
    # A vector may lie near what was learnt, though its hedge was never seen.
    is_unlike = scores.out_of_distribution | np.array(has_new_phrase, dtype=bool)
    # As a fit counts it: 0 is more certain than every phrase.
    phrase_mu = ranking["mu"].to_numpy(dtype=np.float64)
    rank = (phrase_mu > scores.mu[:, None]).sum(axis=1)
    scored = pd.DataFrame(
        {
            "mu": scores.mu,
            "sigma": scores.mu_sd,
            "mu_centre": scores.mu,
            "mu_sd": scores.mu_sd,
        },
        pd.Index(list(sentence_by_key), dtype="str"),
    ).assign(
        rank=pd.array(rank, dtype="Int64"),
        steps=0,
        answers=0,
        invalid_answers=0,
        stop=np.where(is_unlike, OUT_OF_DISTRIBUTION, SCORED),
    )
    scored.loc[is_unlike, ["mu", "sigma", "mu_centre", "mu_sd", "rank"]] = None
    return scored[~is_unlike] if ask_panel else scored


def _sentences_with_new_phrases(
    pairs: pd.DataFrame, hedges: pd.DataFrame, scorer: DistilledScorer
) -> set[str]:
    """Find the sentences with a phrase that the model has not learnt from."""
    phrases_by_finding = dict(zip(hedges["finding_id"], hedges["phrases"], strict=True))
    sentences = set()
    for finding_id, sentence in zip(
        pairs["finding_id"], pairs["masked_sentence"], strict=True
    ):
        if not scorer.phrases.issuperset(phrases_by_finding.get(finding_id, ())):
            sentences.add(sentence)
    return sentences


def chosen_studies(findings: pd.DataFrame, sentences: int = 2000) -> list[str]:
    """Choose studies whose hedged sentences a panel should be asked about.

    Phrase by phrase in turn, the rarest phrase first, until so many different sentences
    are chosen.

    Args:
        findings: `study_id`, `sent` (the sentence) and `phrases` (a list), such as
            `annotate(frame).findings`.
        sentences: how many are chosen.
    """
    hedged = findings.explode("phrases").dropna(subset=["phrases"])
    hedged = hedged.drop_duplicates(["sent", "phrases"])
    frequency = hedged["phrases"].map(hedged["phrases"].value_counts())
    # In the first turn each phrase gives one sentence, in the second another, and so
    # on: a rare phrase is seen as soon as a frequent one.
    turn = hedged.groupby("phrases").cumcount()
    in_turn = hedged.assign(turn=turn, frequency=frequency).sort_values(
        ["turn", "frequency", "phrases"], kind="stable"
    )
    chosen = in_turn.drop_duplicates("sent").head(sentences)
    return sorted(set(chosen["study_id"]))
