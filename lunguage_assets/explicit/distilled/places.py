"""Direct places of sentences, read by a distilled model: no match is played (docs/distilled.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lunguage_assets.explicit.pairs import (
    sentence_key,
    tentative_rows,
)
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.judges.distilled import DistilledScorer


def scored_places(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    ranking: pd.DataFrame,
    scorer: DistilledScorer,
    *,
    ask_panel: bool,
) -> pd.DataFrame:
    """A line per masked sentence of a batch, by its key, as `fit_pairs` takes them.

    A sentence that is unlike all that the scorer learnt from, or has a phrase that was not among them, gets
    no score: with `ask_panel` it is left out, so that the panel is asked; else its p is that of its phrases.

    Args:
        findings, hedges: `FINDINGS` and `HEDGE_PHRASES` frames of the batch.
        ranking: the `REFERENCE_RANKING` frame in whose units the scores are.
    """
    rows = tentative_rows(findings)
    located = rows.loc[
        rows["mask_state"] == "masked", ["finding_id", "masked_sentence"]
    ]
    by_key = {sentence_key(one): one for one in located["masked_sentence"].unique()}
    read = scorer.read(
        list(by_key.values()), steps_of("reading sentences", len(by_key))
    )
    said = dict(zip(hedges["finding_id"], hedges["phrases"], strict=True))
    new: Mapping[str, bool] = {
        str(sentence): not scorer.phrases.issuperset(
            phrase for one in of for phrase in said.get(one, ())
        )
        for sentence, of in located.groupby("masked_sentence")["finding_id"]
    }
    unlike = read.unlike | np.array([new[one] for one in by_key.values()], dtype=bool)
    above = ranking["mu"].to_numpy(dtype=np.float64)
    places = pd.DataFrame(
        {"mu": read.mu, "sigma": read.mu_sd, "mu_centre": read.mu, "mu_sd": read.mu_sd},
        pd.Index(list(by_key), dtype="str"),
    )
    rank = (above > places["mu"].to_numpy()[:, None]).sum(axis=1)
    places = places.assign(
        rank=pd.array(rank, dtype="Int64"), steps=0, answers=0, invalid_answers=0
    )
    places["stop"] = np.where(unlike, UNLIKE, "scored")
    places.loc[unlike, ["mu", "sigma", "mu_centre", "mu_sd", "rank"]] = None
    return places[~unlike] if ask_panel else places


UNLIKE = "unlike what was learnt"
"""Reason why a sentence was not scored."""


def chosen_studies(findings: pd.DataFrame, sentences: int = 2000) -> list[str]:
    """Studies whose hedged sentences a panel should be asked about: phrase by phrase in turn, the rarest
    phrase first, until so many different sentences are chosen.

    Args:
        findings: `study_id`, `sent` (the sentence) and `phrases` (a list), such as
            `annotate(frame).findings`.
    """
    each = (
        findings.explode("phrases")
        .dropna(subset=["phrases"])
        .drop_duplicates(["sent", "phrases"])
    )
    common = each["phrases"].map(each["phrases"].value_counts())
    turn = each.groupby("phrases").cumcount()
    order = each.assign(turn=turn, common=common).sort_values(
        ["turn", "common", "phrases"], kind="stable"
    )
    taken = order.drop_duplicates("sent").head(sentences)
    return sorted(set(taken["study_id"]))
