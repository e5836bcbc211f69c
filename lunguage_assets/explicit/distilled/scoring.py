"""Scores the sentences of a batch by a distilled model: no match is played.

docs/distilled.md. What the model has learnt nothing like is left to the panel, or takes
the probability of its phrases.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.explicit.distilled.scorer import DistilledScorer
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.judges.progress import steps_of

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
    sentences = pairs["masked_sentence"].drop_duplicates()
    progress = steps_of("reading sentences", len(sentences))
    mu, mu_sd = scorer.scores(sentences.tolist(), progress)
    phrases = pairs.merge(hedges[["finding_id", "phrases"]], on="finding_id")
    phrases = phrases.explode("phrases").dropna(subset="phrases")
    is_new = ~phrases["phrases"].isin(scorer.phrases)
    # A vector may lie near what was learnt, though its hedge was never seen.
    has_new_phrase = sentences.isin(phrases["masked_sentence"][is_new])
    is_unlike = has_new_phrase.to_numpy(dtype=bool) | (mu_sd > scorer.largest_sd)
    # As a fit counts it: 0 is more certain than every phrase.
    phrase_mu = ranking["mu"].to_numpy(dtype=np.float64)
    rank = (phrase_mu > mu[:, None]).sum(axis=1)
    scored = pd.DataFrame(
        {
            "mu": mu,
            "sigma": mu_sd,
            "mu_centre": mu,
            "mu_sd": mu_sd,
            "rank": pd.array(rank, dtype="Int64"),
            "steps": 0,
            "answers": 0,
            "invalid_answers": 0,
            "stop": np.where(is_unlike, OUT_OF_DISTRIBUTION, SCORED),
        },
        pd.Index(sentences.map(sentence_key), dtype="str"),
    )
    scored.loc[is_unlike, ["mu", "sigma", "mu_centre", "mu_sd", "rank"]] = None
    return scored[~is_unlike] if ask_panel else scored
