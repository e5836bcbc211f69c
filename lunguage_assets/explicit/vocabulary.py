"""The hedging phrases that are ranked, with sentences that show them.

Section 1 of docs/method/explicit.md: phrases of the corpus that were extracted often
enough, or the phrases of the published scale. How phrases are extracted is in
`hedges.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.hedges import SAME_NAME
from lunguage_assets.explicit.probability import (
    Anchor,
    CalibrationError,
    require_anchors,
)
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.randomness import digest
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_VOCABULARY

# Why a phrase is not retained, in the words of the column `reason`.
RETAINED = ""
TOO_FEW = "fewer examples than the minimum"
NO_EXAMPLE = "no usable example"
PUBLISHED_SCALE = "the published ruler is used"

CHOSEN = "the settings choose it"
"""Why the published scale is used, where nothing else is the reason."""

_EXAMPLE = ["phrase", "finding_id", "masked_sentence"]


def hedge_vocabulary(
    hedges: pd.DataFrame, settings: ExplicitSettings, anchors: Sequence[Anchor] = ()
) -> pd.DataFrame:
    """Collect all extracted phrases, and decide which of them are ranked.

    A phrase is retained when it was extracted often enough and one of its examples is
    usable. With `reference_scale = "published"`, and with `"auto"` where fewer phrases
    than `reference_scale_minimum` or not all anchor phrases would be retained, the 42
    published phrases with their bundled invented sentences are retained instead.

    Args:
        hedges: `HEDGE_PHRASES` frame of all batches, one extractor.
        settings: `minimum_examples`, `reference_scale`,
            `reference_scale_minimum`.
        anchors: those in use; none: none are asked for.

    Returns:
        A `HEDGE_VOCABULARY` frame: retained phrases first, then the most frequent.
        `n_examples` always counts this corpus.
    """
    extracted = hedges.rename(columns={"phrases": "phrase"}).explode("phrase")
    extracted = extracted.dropna(subset="phrase")
    # A sentence shows a phrase only where the finding is located, and alone of its
    # name. In "<finding> on the right, possible <finding> on the left" nobody could
    # tell which of the two is hedged.
    is_ambiguous = extracted["review_reason"].str.contains(SAME_NAME)
    examples = extracted.loc[~is_ambiguous, _EXAMPLE].dropna()
    # A phrase that is rare has too few matches to be ranked. One that never stands
    # alone ("<finding>, <finding>") has nothing that a judge could be shown.
    counts = extracted["phrase"].value_counts().rename("n_examples")
    is_rare = counts < settings.minimum_examples
    is_shown = counts.index.isin(examples["phrase"])
    choices = np.select([is_rare, ~is_shown], [TOO_FEW, NO_EXAMPLE], RETAINED)
    reasons = pd.Series(choices, counts.index)
    why_published = _why_published(
        reasons[reasons == RETAINED].index, settings, anchors
    )
    if why_published:
        examples = _published_examples()
        lacking = counts.index.difference(pd.Index(examples["phrase"]))
        reasons = pd.Series(PUBLISHED_SCALE, lacking)
    by_phrase = examples.sort_values(_EXAMPLE).groupby("phrase").agg(list)
    phrases = by_phrase.join(counts, how="outer").assign(reason=reasons)
    phrases = phrases.fillna({"n_examples": 0, "reason": RETAINED})
    phrases["retained"] = phrases["reason"] == RETAINED
    scale = "published" if why_published else "own"
    parts: list[object] = [scale]
    row: Any
    for row in phrases[phrases["retained"]].itertuples():
        ids = row.finding_id
        parts += [row.Index, len(ids), *ids, *row.masked_sentence]
    phrases = (
        phrases.rename_axis("phrase")
        .reset_index()
        .sort_values(
            ["retained", "n_examples", "phrase"], ascending=[False, False, True]
        )
    )
    return HEDGE_VOCABULARY.frame(
        phrases.assign(
            # Without a usable example there is none.
            example_ids=phrases["finding_id"].fillna("").map(list),
            example_sentences=phrases["masked_sentence"].fillna("").map(list),
            ruler=scale,
            ruler_reason=why_published,
            vocabulary_version=digest(*parts),
        )
    )


def newest_only(batches: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join the rows of batches, oldest first; of each study only the newest version."""
    rows = pd.concat(dict(enumerate(batches)), names=["batch"]).reset_index("batch")
    newest_batch = rows.groupby("study_id")["batch"].transform("max")
    newest = rows[rows["batch"] == newest_batch].drop(columns="batch")
    return newest.reset_index(drop=True)


def _published_examples() -> pd.DataFrame:
    # No finding of the corpus is behind an invented sentence.
    examples = [
        (phrase, f"ruler:{phrase}:{number:02d}", sentence)
        for phrase, sentences in reference_sentences().items()
        for number, sentence in enumerate(sentences)
    ]
    return pd.DataFrame(examples, columns=_EXAMPLE)


def _why_published(
    retained: Collection[str], settings: ExplicitSettings, anchors: Sequence[Anchor]
) -> str:
    """Say why the published scale is used; empty: the corpus has its own."""
    if settings.reference_scale == "own":
        return ""
    if settings.reference_scale == "published":
        return CHOSEN
    # "auto": decided before any comparison is paid for. What the ranking itself shows,
    # such as anchors that are inverted, is decided after it (section 1).
    minimum = settings.reference_scale_minimum
    if len(retained) < minimum:
        return f"{len(retained)} phrases of its own; {minimum} are the least"
    try:
        if anchors:
            require_anchors(retained, anchors)
    except CalibrationError as error:
        return f"{len(retained)} phrases of its own, but {error.reason}"
    return ""
