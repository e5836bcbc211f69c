"""The hedging phrases that are ranked, with sentences that show them.

Section 1 of docs/method/explicit.md: phrases of the corpus that were extracted often
enough, or the phrases of the published scale. How phrases are extracted is in
`phrases.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.probability import CalibrationError, require_anchors
from lunguage_assets.explicit.hedges.phrases import REASON_SEPARATOR, SAME_NAME
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


class Example(NamedTuple):
    """A masked sentence that shows a phrase."""

    finding_id: str
    sentence: str


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
    # Row by row: the corpus may have millions of pairs, and a frame of all their
    # phrases would hold them several times over.
    counts: Counter[str] = Counter()
    for phrases in hedges["phrases"]:
        counts.update(set(phrases))
    examples = _usable_examples(hedges)
    # A phrase that is rare has too few matches to be ranked. One that never stands
    # alone ("<finding>, <finding>") has nothing that a judge could be shown.
    reasons = dict.fromkeys(counts, NO_EXAMPLE) | dict.fromkeys(examples, "")
    for phrase, count in counts.items():
        if count < settings.minimum_examples:
            reasons[phrase] = TOO_FEW
    retained = {phrase for phrase, reason in reasons.items() if reason == RETAINED}
    scale = "own"
    why_published = _why_published(retained, settings, anchors)
    if why_published:
        scale = "published"
        examples = _published_examples()
        reasons = dict.fromkeys(counts, PUBLISHED_SCALE)
        reasons |= dict.fromkeys(examples, RETAINED)
    rows = [
        _vocabulary_row(phrase, counts[phrase], reason, examples.get(phrase, []))
        for phrase, reason in reasons.items()
    ]
    rows.sort(key=lambda row: (not row["retained"], -row["n_examples"], row["phrase"]))
    of_all_rows = {
        "ruler": scale,
        "ruler_reason": why_published,
        "vocabulary_version": _version(scale, rows),
    }
    return HEDGE_VOCABULARY.frame([{**row, **of_all_rows} for row in rows])


def newest_only(
    frames: Mapping[str, pd.DataFrame], order: Sequence[str]
) -> pd.DataFrame | None:
    """Join the rows of all batches, of each study only the newest version.

    Args:
        frames: tables with a column `study_id`, by batch.
        order: keys of the batches, oldest first; keys without a frame are skipped.

    Returns:
        None without any batch.
    """
    batches = [frames[key] for key in order if key in frames]
    if not batches:
        return None
    newer_studies: set[str] = set()
    newest = []
    for frame in reversed(batches):
        is_superseded = frame["study_id"].isin(newer_studies)
        rows = frame
        # Few studies come again: a batch without one of them is not copied.
        if is_superseded.any():
            rows = frame[~is_superseded]
        newest.append(rows)
        newer_studies |= set(frame["study_id"])
    return pd.concat(reversed(newest), ignore_index=True)


def _usable_examples(hedges: pd.DataFrame) -> Mapping[str, list[Example]]:
    """Collect the sentences that show each phrase; a phrase may have none.

    A sentence shows a phrase only where the finding is located, and alone of its name.
    In "<finding> on the right, possible <finding> on the left" nobody could tell which
    of the two is hedged (section 1).
    """
    examples: defaultdict[str, list[Example]] = defaultdict(list)
    columns = ["finding_id", "masked_sentence", "phrases", "review_reason"]
    rows = zip(*(hedges[name] for name in columns), strict=True)
    for finding_id, sentence, phrases, reason in rows:
        is_located = isinstance(sentence, str)
        if is_located and SAME_NAME not in reason.split(REASON_SEPARATOR):
            for phrase in set(phrases):
                examples[phrase].append(Example(finding_id, sentence))
    return examples


def _published_examples() -> dict[str, list[Example]]:
    examples: dict[str, list[Example]] = {}
    for phrase, sentences in reference_sentences().items():
        # No finding of the corpus is behind an invented sentence.
        examples[phrase] = [
            Example(f"ruler:{phrase}:{number:02d}", sentence)
            for number, sentence in enumerate(sentences)
        ]
    return examples


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


def _vocabulary_row(
    phrase: str, count: int, reason: str, examples: Sequence[Example]
) -> dict[str, Any]:
    by_finding = sorted(examples)
    return {
        "phrase": phrase,
        "n_examples": count,
        "retained": reason == RETAINED,
        "reason": reason,
        "example_ids": [example.finding_id for example in by_finding],
        "example_sentences": [example.sentence for example in by_finding],
    }


def _version(scale: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Hash the retained phrases and their examples."""
    retained = [row for row in rows if row["retained"]]
    parts: list[object] = [scale]
    for row in sorted(retained, key=lambda row: str(row["phrase"])):
        parts += [row["phrase"], len(row["example_ids"])]
        parts += row["example_ids"]
        parts += row["example_sentences"]
    return digest(*parts)
