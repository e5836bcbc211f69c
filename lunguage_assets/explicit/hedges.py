"""The hedging phrases of tentative pairs: what a judge extracted, and people correct.

Section 1 of docs/method/explicit.md. How a judge finds phrases is its own matter
(`judges/`); which phrases are ranked is decided in `vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_table, refuse_rows
from lunguage_assets.explicit.pairs import tentative_rows
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion, Judge
from lunguage_assets.tables import HEDGE_PHRASES
from lunguage_assets.tables.values import values_of

CORRECTION_COLUMNS = ("finding_id", "phrases")

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


def hedge_phrases(
    findings: pd.DataFrame,
    judge: Judge,
    corrections: Mapping[str, list[str]] | None = None,
) -> pd.DataFrame:
    """Ask a judge for the hedging phrases of every tentative pair.

    Args:
        findings: `FINDINGS` frame; history rows are no pairs.
        judge: the extractor.
        corrections: phrases by finding id (`load_corrections`), which override answer
            and filters. Ids of other batches are left alone.

    Returns:
        A `HEDGE_PHRASES` frame by study and row.
    """
    rows = tentative_rows(findings)
    # A finding that was not located is not masked: its sentence is never shown as an
    # example, and a person looks at it (section 0).
    pairs = [dict(zip(rows, cells, strict=True)) for cells in values_of(rows, *rows)]
    questions = values_of(rows, "ent", "sent", "masked_sentence")
    answers = judge.extract(list(starmap(ExtractionQuestion, questions)))
    reviewed = corrections or {}
    return HEDGE_PHRASES.frame(
        {**pair, **_phrases_of(pair, answer, reviewed.get(pair["finding_id"]))}
        for pair, answer in zip(pairs, answers, strict=True)
    )


def _phrases_of(
    pair: Mapping[Any, Any], answer: ExtractionAnswer, correction: list[str] | None
) -> dict[str, Any]:
    """Give the phrases of a pair, and say why a person should look at it.

    Each phrase stands once, in the order of the sentence.
    """
    phrases = _distinct(answer.phrases)
    # By the text before each; behind all others where it does not stand as it is.
    phrases.sort(key=lambda phrase: len(words_of(phrase).split(pair["sent"], 1)[0]))
    kept = [phrase for phrase in phrases if _is_hedge(phrase, pair)]
    dropped = [phrase for phrase in phrases if phrase not in kept]
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
        "phrases": kept,
        "dropped": dropped,
        "answer_state": "valid" if answer.valid else "invalid",
        "corrected": is_corrected,
        "needs_review": bool(reasons) and not is_corrected,
        "review_reason": REASON_SEPARATOR.join(reasons),
    }


def _distinct(phrases: Iterable[str]) -> list[str]:
    """Write phrases in normal form, each once."""
    return list(filter(None, dict.fromkeys(map(normal_phrase, phrases))))


def _is_hedge(phrase: str, pair: Mapping[Any, Any]) -> bool:
    """Whether a phrase hedges the finding of a pair, rather than describes it.

    A phrase that states a size, severity or onset is no hedge: "mild" of "mild edema is
    possible". "Borderline cardiomegaly" may have `borderline` in its severity, and yet
    hedges: three such words are never dropped.
    """
    if phrase in _NEVER_DROPPED:
        return True
    description = "|".join(pair[column] for column in _DESCRIBING_COLUMNS)
    return phrase not in _ALWAYS_DROPPED and not words_of(phrase).search(description)


def normal_phrase(phrase: str) -> str:
    """Write a phrase in lower case, with single spaces and no punctuation around."""
    return " ".join(phrase.lower().split()).strip(" .,;:\"'“”")


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> re.Pattern[str]:
    """Compile a pattern of the phrase in whole words, whatever its case and spaces."""
    # "may  represent" across a line break is the same phrase; "or" is not in "minor".
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def load_corrections(path: Path) -> dict[str, list[str]]:
    """Read the phrases that a person gave to findings, by finding id.

    Only what is in this file counts as reviewed.

    Args:
        path: CSV with `CORRECTION_COLUMNS`, phrases separated by ';'; it need not
            exist.

    Returns:
        Phrases in normal form.

    Raises:
        InputError: a missing column, a row with too few or too many values, an empty or
            repeated finding id.
    """
    if not path.exists():
        return {}
    rows = edited_table(path, CORRECTION_COLUMNS)
    ids = rows["finding_id"].str.strip()
    column = "finding_id"
    expected = "every finding id once"
    remedy = "Fix or delete the row."
    refuse_rows(path, ids == "", column, "nothing", expected, remedy)
    earlier = "the finding id of an earlier row"
    refuse_rows(path, ids.duplicated(), column, earlier, expected, remedy)
    # An empty cell is a correction, too: nothing hedges the finding.
    phrases = rows["phrases"].str.split(";").map(_distinct)
    return dict(zip(ids, phrases, strict=True))


def review_queue(hedges: pd.DataFrame) -> pd.DataFrame:
    """List the pairs that a person should look at; every column is text.

    Copy finding_id and the right phrases (separated by ';', empty for none) into the
    corrections file.
    """
    rows = hedges[hedges["needs_review"]]
    queue = rows[["finding_id", "study_id", "ent", "sent", "phrases", "review_reason"]]
    queue = queue.rename(columns={"ent": "finding", "sent": "sentence"})
    queue = queue.assign(phrases=rows["phrases"].map(";".join))
    return queue.astype("str").reset_index(drop=True)
