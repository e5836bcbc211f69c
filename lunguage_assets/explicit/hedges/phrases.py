"""The hedging phrases of tentative pairs: what a judge extracted, filtered and flagged.

Section 1 of docs/method/explicit.md. How a judge finds phrases is its own matter
(`judges/`); what a person corrected comes from `review.py`; which phrases are ranked is
decided in `vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

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


class _Phrases(NamedTuple):
    """Phrases of a pair, each once, in order of appearance in the sentence."""

    kept: list[str]
    dropped: list[str]


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
    phrases = _filter(answer, pair)
    is_corrected = correction is not None
    if correction is not None:
        phrases = _Phrases(correction, [])
    is_readable = answer.valid or is_corrected
    applies_by_reason = {
        INVALID: not is_readable,
        SEVERAL: len(phrases.kept) > 1,
        NONE_FOUND: not phrases.kept and is_readable,
        SAME_NAME: pair["same_name_in_sentence"],
        NOT_LOCATED: pair["masked_sentence"] is None,
    }
    reasons = [reason for reason, applies in applies_by_reason.items() if applies]
    return {
        **pair,
        "phrases": phrases.kept,
        "dropped": phrases.dropped,
        "answer_state": "valid" if answer.valid else "invalid",
        "corrected": is_corrected,
        "needs_review": bool(reasons) and not is_corrected,
        "review_reason": REASON_SEPARATOR.join(reasons),
    }


def _filter(answer: ExtractionAnswer, pair: Mapping[Any, Any]) -> _Phrases:
    """Drop phrases that state a size, severity or onset, which is no hedge.

    "Borderline cardiomegaly" may have `borderline` in its severity, and yet hedges:
    three such words are never dropped.
    """
    phrases = _Phrases([], [])
    if not answer.valid:
        return phrases
    distinct = dict.fromkeys(map(normal_phrase, answer.phrases))
    by_appearance = sorted(
        filter(None, distinct), key=lambda phrase: _position(phrase, pair["sent"])
    )
    for phrase in by_appearance:
        describes = phrase not in _NEVER_DROPPED and _is_in_any(
            phrase, [pair[column] for column in _DESCRIBING_COLUMNS]
        )
        if describes or phrase in _ALWAYS_DROPPED:
            phrases.dropped.append(phrase)
        else:
            phrases.kept.append(phrase)
    return phrases


def _is_in_any(phrase: str, cells: Sequence[str]) -> bool:
    return any(words_of(phrase).search(cell) for cell in cells)


def _position(phrase: str, sentence: str) -> int:
    match = words_of(phrase).search(sentence)
    return match.start() if match else len(sentence)


def normal_phrase(phrase: str) -> str:
    """Write a phrase in lower case, with single spaces and no punctuation around."""
    return " ".join(phrase.lower().split()).strip(" .,;:\"'“”")


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> re.Pattern[str]:
    """Compile a pattern of the phrase in whole words, whatever its case and spaces."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
