"""The hedging phrases of tentative pairs: what a judge extracted, filtered and flagged.

Section 1 of docs/method/explicit.md. How a judge finds phrases is its own matter
(`judges/`); what a person corrected comes from `review.py`; which phrases are ranked is
decided in `vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pandas as pd

from lunguage_assets.explicit.pairs import tentative_rows
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion, Judge
from lunguage_assets.tables import HEDGE_PHRASES

# Why a person should look at a pair, in the words of the column `review_reason`.
INVALID = "invalid answer"
SEVERAL = "several phrases"
NONE_FOUND = "no phrase"
SAME_NAME = "same name twice"
NOT_LOCATED = "not located"
REASON_SEPARATOR = "; "

_DESCRIBING_COLUMNS = ("measurement", "severity", "onset")
_NEVER_DROPPED = frozenset({"or", "to", "borderline"})
_ALWAYS_DROPPED = frozenset({"difficult to assess"})
_PAIR_COLUMNS = [
    "finding_id",
    "study_id",
    "ent",
    "sent",
    "masked_sentence",
    "mask_state",
    "same_name_in_sentence",
    *_DESCRIBING_COLUMNS,
]


def hedge_phrases(
    findings: pd.DataFrame,
    judge: Judge,
    corrections: Mapping[str, list[str]] | None = None,
) -> pd.DataFrame:
    """Ask a judge for the hedging phrases of every tentative pair.

    Args:
        findings: `FINDINGS` frame; history rows are no pairs.
        judge: the extractor.
        corrections: phrases by finding id (`review.load_corrections`), which override
            answer and filters. Ids of other batches are left alone.

    Returns:
        A `HEDGE_PHRASES` frame by study and row.
    """
    pairs = tentative_rows(findings)[_PAIR_COLUMNS].to_dict("records")
    # A finding that was not located is not masked: its sentence is never shown as an
    # example, and a person looks at it (section 0).
    for pair in pairs:
        if pair["mask_state"] != "masked":
            pair["masked_sentence"] = None
    answers = judge.extract(
        [
            ExtractionQuestion(pair["ent"], pair["sent"], pair["masked_sentence"])
            for pair in pairs
        ]
    )
    reviewed = corrections or {}
    rows = [
        _hedged(pair, answer, reviewed.get(pair["finding_id"]))
        for pair, answer in zip(pairs, answers, strict=True)
    ]
    return HEDGE_PHRASES.frame(rows)


def _hedged(
    pair: Mapping[Any, Any], answer: ExtractionAnswer, correction: list[str] | None
) -> dict[str, Any]:
    """Complete a pair by its phrases, and by why a person should look at it."""
    kept, dropped = _filter(answer, pair)
    is_corrected = correction is not None
    # A person has read the sentence: what a person says is not filtered.
    if correction is not None:
        kept = correction
        dropped = []
    is_readable = answer.valid or is_corrected
    applies_by_reason = {
        INVALID: not is_readable,
        SEVERAL: len(kept) > 1,
        NONE_FOUND: not kept and is_readable,
        SAME_NAME: pair["same_name_in_sentence"],
        NOT_LOCATED: pair["masked_sentence"] is None,
    }
    reasons = [reason for reason, applies in applies_by_reason.items() if applies]
    return {
        **pair,
        "phrases": kept,
        "dropped": dropped,
        "answer_state": "valid" if answer.valid else "invalid",
        "corrected": is_corrected,
        "needs_review": bool(reasons) and not is_corrected,
        "review_reason": REASON_SEPARATOR.join(reasons),
    }


def _filter(
    answer: ExtractionAnswer, pair: Mapping[Any, Any]
) -> tuple[list[str], list[str]]:
    """Divide the phrases of an answer into those that are kept, and those that are not.

    Each stands once, in the order of the sentence. A phrase that states a size,
    severity or onset is no hedge: "mild" of "mild edema is possible". "Borderline
    cardiomegaly" may have `borderline` in its severity, and yet hedges: three such
    words are never dropped.
    """
    kept: list[str] = []
    dropped: list[str] = []
    if not answer.valid:
        return kept, dropped
    distinct = dict.fromkeys(map(normal_phrase, answer.phrases))
    by_appearance = sorted(
        filter(None, distinct), key=lambda phrase: _position(phrase, pair["sent"])
    )
    for phrase in by_appearance:
        pattern = words_of(phrase)
        describes = any(pattern.search(pair[column]) for column in _DESCRIBING_COLUMNS)
        if phrase in _ALWAYS_DROPPED or (describes and phrase not in _NEVER_DROPPED):
            dropped.append(phrase)
        else:
            kept.append(phrase)
    return kept, dropped


def _position(phrase: str, sentence: str) -> int:
    match = words_of(phrase).search(sentence)
    return match.start() if match else len(sentence)


def normal_phrase(phrase: str) -> str:
    """Write a phrase in lower case, with single spaces and no punctuation around."""
    return " ".join(phrase.lower().split()).strip(" .,;:\"'“”")


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> re.Pattern[str]:
    """Compile a pattern of the phrase in whole words, whatever its case and spaces."""
    # "may  represent" across a line break is the same phrase; "or" is not in "minor".
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
