"""What a panel has said of sentences: what a distilled model learns, and is held to.

docs/distilled.md. Nobody is asked: what is learnt from was paid before.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit import ReferenceScale
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.randomness import Floats

MIN_SENTENCES = 50
"""Fitted sentences below which nothing is learnt."""


def panel_scores(
    findings: pd.DataFrame,
    fitted: pd.DataFrame,
    log: pd.DataFrame,
    ranking: pd.DataFrame,
    vocabulary: pd.DataFrame,
) -> pd.DataFrame:
    """Collect the sentences that a panel has fitted, and what it made of them.

    Args:
        findings: `FINDINGS` frame of all batches that the panel fitted.
        fitted: their `FITTED_PROBABILITIES`.
        log: their `FIT_LOG`.
        ranking: the `REFERENCE_RANKING` that the fits are of.
        vocabulary: the `HEDGE_VOCABULARY` that was ranked.

    Returns:
        A row for each masked sentence: `sentence_key`, `masked_sentence`, the sentence
        `sent` that it is of, its `phrases`, the panel's `mu`, and `half_0` and
        `half_1`: mu by either half of the panel's answers.

    Raises:
        MethodError: too few fitted sentences, or fits of another ranking.
    """
    if set(fitted["ranking_version"]) - set(ranking["ranking_version"]):
        raise MethodError(
            "fits belong to another ranking. `lunguage run` fits again; then distill."
        )
    rows = tentative_rows(findings)
    rows = rows[rows["mask_state"] == "masked"]
    key = rows["masked_sentence"].map(sentence_key)
    sentences = rows.assign(sentence_key=key)[
        ["sentence_key", "masked_sentence", "sent"]
    ]
    fits = fitted[["sentence_key", "phrases", "mu_centre"]].dropna(subset="mu_centre")
    panel = sentences.drop_duplicates("sentence_key").merge(
        fits.drop_duplicates("sentence_key"), on="sentence_key"
    )
    if len(panel) < MIN_SENTENCES or log.empty:
        raise MethodError(
            f"found {len(panel)} sentences that the panel has fitted, with {len(log)} "
            f"steps in fit_log; expected {MIN_SENTENCES} or more, of 2,000 that "
            "docs/distilled.md advises. Let the panel fit more reports (`lunguage run "
            "--fit panel`), with fit_log = true under [explicit] in settings.toml."
        )
    panel = panel.sort_values("sentence_key", ignore_index=True)
    keys = pd.Index(panel["sentence_key"])
    halves = _halves(log, keys, ReferenceScale.from_tables(ranking, vocabulary))
    panel[["half_0", "half_1"]] = np.column_stack(halves)
    return panel.rename(columns={"mu_centre": "mu"})


def _halves(
    log: pd.DataFrame, keys: pd.Index, reference: ReferenceScale
) -> list[Floats]:
    """Score each sentence by every second answer of a judge, and by the others.

    So both halves have all judges.

    Args:
        log: 'judge=won judge=lost' are two answers.
        keys: of the sentences.
        reference: the phrases against which they were played.
    """
    # A sentence of several batches is in the log of each, with the same plays.
    steps = log.drop_duplicates(["sentence_key", "step"])
    steps = steps[steps["sentence_key"].isin(keys)].sort_values("step")
    plays = steps.assign(answer=steps["answers"].str.split(" ")).explode("answer")
    # Split at the last sign: a judge's key may have one of its own.
    plays[["judge", "answer"]] = plays["answer"].str.rsplit("=", n=1, expand=True)
    plays = plays[plays["answer"].isin(["won", "lost"])]
    judge, judges = pd.factorize(plays["judge"], sort=True)
    half = plays.groupby(["sentence_key", "judge"]).cumcount() % 2
    sentence = keys.get_indexer(pd.Index(plays["sentence_key"]))
    phrase = pd.Index(reference.phrases).get_indexer(pd.Index(plays["opponent"]))
    has_won = (plays["answer"] == "won").astype(np.int64)
    shape = (2, len(keys), len(judges), len(reference.phrases), 2)
    counts = np.zeros(shape, dtype=np.int16)
    np.add.at(counts, (half, sentence, judge, phrase, has_won), 1)
    scale = (reference.mu, reference.variance)
    return [panel_posterior(answers, *scale).mean for answers in counts]
