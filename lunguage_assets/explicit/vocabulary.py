"""The hedging phrases that are ranked, with sentences that show them.

Section 1 of docs/method/explicit.md: phrases of the corpus that were extracted often
enough, or the phrases of the published scale. How phrases are extracted is in
`hedges.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from lunguage_assets.explicit.hedges import SAME_NAME
from lunguage_assets.explicit.probability import (
    AnchorSet,
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
    hedges: pd.DataFrame, settings: ExplicitSettings, anchors: AnchorSet | None = None
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
        anchors: those in use; None: none are asked for.

    Returns:
        A `HEDGE_VOCABULARY` frame: retained phrases first, then the most frequent.
        `n_examples` always counts this corpus.
    """
    extracted = hedges.rename(columns={"phrases": "phrase"}).explode("phrase")
    extracted = extracted.dropna(subset="phrase")
    counts = extracted["phrase"].value_counts()
    # A sentence shows a phrase only where the finding is located, and alone of its
    # name. In "<finding> on the right, possible <finding> on the left" nobody could
    # tell which of the two is hedged.
    is_usable = extracted["masked_sentence"].notna()
    is_usable &= ~extracted["review_reason"].str.contains(SAME_NAME)
    examples = extracted.loc[is_usable, _EXAMPLE]
    # A phrase that is rare has too few matches to be ranked. One that never stands
    # alone ("<finding>, <finding>") has nothing that a judge could be shown.
    is_rare = counts < settings.minimum_examples
    is_shown = counts.index.isin(examples["phrase"])
    reasons = np.select([is_rare, ~is_shown], [TOO_FEW, NO_EXAMPLE], RETAINED)
    reason_by_phrase = dict(zip(counts.index, reasons.tolist(), strict=True))
    retained = counts.index[reasons == RETAINED].tolist()
    why_published = _why_published(retained, settings, anchors)
    if why_published:
        examples = _published_examples()
        reason_by_phrase = dict.fromkeys(counts.index, PUBLISHED_SCALE)
        reason_by_phrase |= dict.fromkeys(examples["phrase"], RETAINED)
    by_phrase = examples.sort_values(_EXAMPLE).groupby("phrase")
    ids = by_phrase["finding_id"].agg(list).to_dict()
    sentences = by_phrase["masked_sentence"].agg(list).to_dict()
    rows = [
        {
            "phrase": phrase,
            "n_examples": int(counts.get(phrase, 0)),
            "retained": reason == RETAINED,
            "reason": reason,
            "example_ids": ids.get(phrase, []),
            "example_sentences": sentences.get(phrase, []),
        }
        for phrase, reason in reason_by_phrase.items()
    ]
    rows.sort(key=lambda row: (not row["retained"], -row["n_examples"], row["phrase"]))
    scale = "published" if why_published else "own"
    parts: list[object] = [scale]
    for phrase in sorted(row["phrase"] for row in rows if row["retained"]):
        parts += [phrase, len(ids[phrase]), *ids[phrase], *sentences[phrase]]
    of_all_rows = {
        "ruler": scale,
        "ruler_reason": why_published,
        "vocabulary_version": digest(*parts),
    }
    return HEDGE_VOCABULARY.frame([{**row, **of_all_rows} for row in rows])


def newest_only(batches: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join the rows of batches, oldest first; of each study only the newest version."""
    numbered = [frame.assign(batch=number) for number, frame in enumerate(batches)]
    rows = pd.concat(numbered, ignore_index=True)
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
    retained: Collection[str], settings: ExplicitSettings, anchors: AnchorSet | None
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
        if anchors is not None:
            require_anchors(retained, anchors.of(retained))
    except CalibrationError as error:
        return f"{len(retained)} phrases of its own, but {error.reason}"
    return ""
