"""The hedge vocabulary: a corpus' phrases and their example sentences (explicit.md section 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from lunguage_assets.draws import digest
from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.probability import NoScale, require_anchors
from lunguage_assets.explicit.hedges.hedging import SAME_NAME
from lunguage_assets.judges.rules.published import published_ranking, ruler_sentences
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


@dataclass(slots=True)
class _Phrase:
    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def reason(self, minimum: int) -> str:
        if self.count < minimum:
            return TOO_FEW
        return "" if self.examples else NO_EXAMPLE


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
    be retained, the 42 published phrases with their bundled invented sentences are retained instead: every
    row says so in `ruler` and why in `ruler_reason`, and the corpus' other phrases are listed with that
    reason. `n_examples` always counts this corpus.
    """
    found = _collect(hedges)
    own = {phrase for phrase, known in found.items() if not known.reason(settings.minimum_examples)}
    if reason := _against_own(own, settings, anchors):
        return _frame(_published_rows(found), "published", reason)
    rows = [
        _row(phrase, known.count, known.reason(settings.minimum_examples), sorted(known.examples))
        for phrase, known in found.items()
    ]
    return _frame(rows, "own", "")


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


def _collect(hedges: pd.DataFrame) -> dict[str, _Phrase]:
    found: dict[str, _Phrase] = {}
    columns = [
        hedges[name].tolist() for name in ("finding_id", "phrases", "masked_sentence", "review_reason")
    ]
    for finding_id, phrases, sentence, reason in zip(*columns, strict=True):
        usable = isinstance(sentence, str) and SAME_NAME not in reason.split("; ")
        for phrase in dict.fromkeys(phrases):
            known = found.setdefault(phrase, _Phrase())
            known.count += 1
            if usable:
                known.examples.append((finding_id, sentence))
    return found


def _published_rows(found: Mapping[str, _Phrase]) -> list[dict[str, Any]]:
    sentences = ruler_sentences()
    rows = []
    for entry in published_ranking():
        examples = [
            (f"ruler:{entry.phrase}:{i:02d}", sentence) for i, sentence in enumerate(sentences[entry.phrase])
        ]
        rows.append(
            _row(entry.phrase, found[entry.phrase].count if entry.phrase in found else 0, "", examples)
        )
    rows += [
        _row(phrase, known.count, PUBLISHED_RULER, [])
        for phrase, known in found.items()
        if phrase not in sentences
    ]
    return rows


def _row(phrase: str, count: int, reason: str, examples: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "phrase": phrase,
        "n_examples": count,
        "retained": not reason,
        "reason": reason,
        "example_ids": [finding_id for finding_id, _ in examples],
        "example_sentences": [sentence for _, sentence in examples],
    }


def _frame(rows: list[dict[str, Any]], ruler: str, reason: str) -> pd.DataFrame:
    rows = sorted(rows, key=lambda row: (not row["retained"], -row["n_examples"], row["phrase"]))
    parts: list[object] = [ruler]
    for row in sorted((row for row in rows if row["retained"]), key=lambda row: str(row["phrase"])):
        parts += [row["phrase"], len(row["example_ids"]), *row["example_ids"], *row["example_sentences"]]
    version = digest(*parts)
    same = {"ruler": ruler, "ruler_reason": reason, "vocabulary_version": version}
    return HEDGE_VOCABULARY.frame([{**row, **same} for row in rows])
