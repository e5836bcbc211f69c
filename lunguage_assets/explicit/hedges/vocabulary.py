"""The hedge vocabulary: a corpus' phrases and their example sentences (explicit.md section 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from lunguage_assets.draws import digest
from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.probability import NoScale, require_anchors
from lunguage_assets.explicit.hedges.hedging import SAME_NAME
from lunguage_assets.judges.rules.published import ruler_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_VOCABULARY

TOO_FEW, NO_EXAMPLE, PUBLISHED_RULER = (
    "fewer examples than the minimum",
    "no usable example",
    "the published ruler is used",
)
"""Why a phrase is not retained."""

CHOSEN = "the settings choose it"
"""Why the published ruler is used, where nothing else is the reason."""


def hedge_vocabulary(
    hedges: pd.DataFrame, settings: ExplicitSettings, anchors: AnchorSet | None = None
) -> pd.DataFrame:
    """All extracted phrases with counts and examples, a `HEDGE_VOCABULARY` frame.

    Retained phrases come first, then the most frequent.

    Args:
        hedges: `HEDGE_PHRASES` frame of all batches, one extractor.
        settings: `minimum_examples`, `ruler`, `ruler_minimum`.
        anchors: those in use; None: none are asked for.

    A phrase is retained when it was extracted often enough and at least one of its examples is usable: the
    finding was located, and no other finding of the same name shares the sentence. With `ruler =
    "published"`, and with `"auto"` where fewer phrases than `ruler_minimum` or not all anchor phrases would
    be retained, the 42 published phrases with their bundled invented sentences are retained instead
    (`ruler`, `ruler_reason`). `n_examples` always counts this corpus.
    """
    pairs = hedges[["finding_id", "phrases", "masked_sentence", "review_reason"]]
    same_name = pairs["review_reason"].str.split("; ").map(lambda reasons: SAME_NAME in reasons)
    usable = pairs["masked_sentence"].notna() & ~same_name.astype(bool)
    pairs = pairs.assign(usable=usable, phrase=pairs["phrases"].map(lambda found: list(dict.fromkeys(found))))
    extracted = pairs.explode("phrase").dropna(subset="phrase")
    counts = Counter(extracted["phrase"].tolist())
    examples: dict[str, list[tuple[str, str]]] = {phrase: [] for phrase in counts}
    shown = extracted[extracted["usable"]]
    for phrase, *example in zip(shown["phrase"], shown["finding_id"], shown["masked_sentence"], strict=True):
        examples[phrase].append((example[0], example[1]))
    reasons = {
        phrase: TOO_FEW if count < settings.minimum_examples else "" if examples[phrase] else NO_EXAMPLE
        for phrase, count in counts.items()
    }
    ruler, reason = (
        "own",
        _against_own({phrase for phrase in reasons if not reasons[phrase]}, settings, anchors),
    )
    if reason:
        ruler, reasons = "published", dict.fromkeys(counts, PUBLISHED_RULER)
        examples = {phrase: [] for phrase in counts}
        for phrase, sentences in ruler_sentences().items():
            reasons[phrase] = ""
            examples[phrase] = [(f"ruler:{phrase}:{i:02d}", sentence) for i, sentence in enumerate(sentences)]
    rows: list[dict[str, Any]] = [
        {
            "phrase": phrase,
            "n_examples": counts[phrase],
            "retained": not why,
            "reason": why,
            "example_ids": [finding_id for finding_id, _ in sorted(examples[phrase])],
            "example_sentences": [sentence for _, sentence in sorted(examples[phrase])],
        }
        for phrase, why in reasons.items()
    ]
    rows.sort(key=lambda row: (not row["retained"], -row["n_examples"], row["phrase"]))
    parts: list[object] = [ruler]
    for row in sorted((row for row in rows if row["retained"]), key=lambda row: str(row["phrase"])):
        parts += [row["phrase"], len(row["example_ids"]), *row["example_ids"], *row["example_sentences"]]
    same = {"ruler": ruler, "ruler_reason": reason, "vocabulary_version": digest(*parts)}
    return HEDGE_VOCABULARY.frame([{**row, **same} for row in rows])


def newest_only(frames: Mapping[str, pd.DataFrame], order: Sequence[str]) -> pd.DataFrame | None:
    """The rows of all batches, of each study only the newest version; None without any batch.

    Args:
        frames: tables with a column `study_id`, by batch.
        order: keys of the batches, oldest first; keys without a frame are skipped.
    """
    present = [frames[key] for key in order if key in frames]
    if not present:
        return None
    seen: set[str] = set()
    kept = []
    for frame in reversed(present):
        kept.append(frame[~frame["study_id"].isin(seen)])
        seen |= set(frame["study_id"])
    return pd.concat(reversed(kept), ignore_index=True)


def _against_own(own: Collection[str], settings: ExplicitSettings, anchors: AnchorSet | None) -> str:
    """Why these phrases are not ranked; empty: they are."""
    if settings.ruler != "auto":
        return CHOSEN if settings.ruler == "published" else ""
    if len(own) < settings.ruler_minimum:
        return f"{len(own)} phrases of its own; {settings.ruler_minimum} are the least"
    try:
        if anchors is not None:
            require_anchors(own, anchors.of(own))
    except NoScale as error:
        return f"{len(own)} phrases of its own, but {error.reason}"
    return ""
