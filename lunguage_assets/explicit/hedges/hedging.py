"""Hedging phrases of tentative findings: extraction, filters, flags, corrections (explicit.md section 1).

How a judge finds the phrases is its own matter (`judges/`); counting them over a corpus is in
`vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.fit.fitting import tentative_rows
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion, Judge, ask_to_extract
from lunguage_assets.tables import HEDGE_PHRASES

SEVERAL, NONE_FOUND, SAME_NAME = "several phrases", "no phrase", "same name twice"
NOT_LOCATED, INVALID = "not located", "invalid answer"
"""Reasons for a review; a pair may have several, joined by '; '."""

CORRECTION_COLUMNS = ("finding_id", "phrases")
_ONE_VALUE = "one value per column; several phrases separated by ';', text with commas in quotes"
_FILTER_CELLS = ("measurement", "severity", "onset")
_NEVER_DROPPED = frozenset({"or", "to", "borderline"})
_ALWAYS_DROPPED = frozenset({"difficult to assess"})


def hedge_phrases(
    findings: pd.DataFrame, judge: Judge, corrections: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The hedging phrases of every tentative pair, a `HEDGE_PHRASES` frame by study and row.

    History rows are no pairs.

    Args:
        findings: `FINDINGS` frame.
        judge: the extractor.
        corrections: (finding_id, phrases separated by ';') as `load_corrections` returns it; a correction
            overrides answer and filters. Ids of other batches are left alone; see `unknown_corrections`.
    """
    rows = tentative_rows(findings)
    names = ("finding_id", "study_id", "ent", "sent", "same_name_in_sentence", *_FILTER_CELLS)
    columns = {name: rows[name].tolist() for name in names}
    masked = [
        s if state == "masked" else None
        for s, state in zip(rows["masked_sentence"].tolist(), rows["mask_state"].tolist(), strict=True)
    ]
    questions = list(map(ExtractionQuestion, columns["ent"], columns["sent"], masked))
    answers = ask_to_extract(judge, questions)
    reviewed = corrected_phrases(corrections)
    phrases, dropped, reasons = [], [], []
    for i, finding_id in enumerate(columns["finding_id"]):
        kept, gone = _filtered(answers[i], questions[i], [columns[name][i] for name in _FILTER_CELLS])
        phrases.append(reviewed.get(finding_id, kept))
        dropped.append([] if finding_id in reviewed else gone)
        same_name = columns["same_name_in_sentence"][i]
        reasons.append(
            _reasons(phrases[-1], answers[i], masked[i] is None, same_name, finding_id in reviewed)
        )
    corrected = [finding_id in reviewed for finding_id in columns["finding_id"]]
    return HEDGE_PHRASES.frame(
        {
            **columns,
            "masked_sentence": masked,
            "phrases": phrases,
            "dropped": dropped,
            "answer_state": ["valid" if answer.valid else "invalid" for answer in answers],
            "corrected": corrected,
            "needs_review": [
                reason != "" and not done for reason, done in zip(reasons, corrected, strict=True)
            ],
            "review_reason": reasons,
        }
    )


def load_corrections(path: Path | None) -> pd.DataFrame | None:
    """A person's corrections; None without the file. Further columns are left out.

    Raises:
        InputError: a missing column, a row with too few or too many values, an empty or repeated finding id.
    """
    if path is None or not path.exists():
        return None
    rows: dict[str, str] = {}
    for number, row in edited_rows(path, CORRECTION_COLUMNS, _ONE_VALUE):
        finding_id = row["finding_id"].strip()
        if not finding_id or finding_id in rows:
            found = "the finding id of an earlier row" if finding_id else "nothing"
            expected, remedy = "every finding id once", "Fix or delete the row."
            raise InputError(path.name, found, expected, remedy, row=number, column="finding_id")
        rows[finding_id] = row["phrases"]
    return pd.DataFrame({"finding_id": list(rows), "phrases": list(rows.values())}, dtype="str")


def unknown_corrections(corrections: pd.DataFrame | None, hedges: pd.DataFrame) -> list[str]:
    """Corrected finding ids that no pair of `hedges` (all batches) has, sorted: probably typing errors."""
    known = set(hedges["finding_id"].tolist())
    return [] if corrections is None else sorted(set(corrections["finding_id"].tolist()) - known)


def review_queue(hedges: pd.DataFrame) -> pd.DataFrame:
    """Pairs that a person should look at; every column is text.

    Copy finding_id and the right phrases (separated by ';', empty for none) into the corrections file: only
    what is there counts as reviewed.
    """
    rows = hedges[hedges["needs_review"].to_numpy(dtype=bool)]
    columns = {
        "finding_id": rows["finding_id"].tolist(),
        "study_id": rows["study_id"].tolist(),
        "finding": rows["ent"].tolist(),
        "sentence": rows["sent"].tolist(),
        "phrases": [";".join(found) for found in rows["phrases"].tolist()],
        "review_reason": rows["review_reason"].tolist(),
    }
    return pd.DataFrame(columns, dtype="str")


def normal_phrase(phrase: str) -> str:
    """Lower case, single spaces, no punctuation around."""
    return " ".join(phrase.lower().split()).strip(" .,;:\"'“”")


def _filtered(
    answer: ExtractionAnswer, question: ExtractionQuestion, cells: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Phrases kept and dropped, each once, in order of appearance in the sentence."""
    if not answer.valid:
        return [], []
    distinct = [phrase for phrase in dict.fromkeys(map(normal_phrase, answer.phrases)) if phrase]
    ordered = sorted(distinct, key=lambda phrase: _place(phrase, question.sentence))
    gone = [
        phrase
        for phrase in ordered
        if phrase in _ALWAYS_DROPPED or (phrase not in _NEVER_DROPPED and _states(phrase, cells))
    ]
    return [phrase for phrase in ordered if phrase not in gone], gone


def _states(phrase: str, cells: Sequence[str]) -> bool:
    """Whether a cell of the row has the phrase in whole words.

    The phrase then states a size, severity or onset and is no hedge.
    """
    return any(words_of(phrase).search(cell) for cell in cells if cell)


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> re.Pattern[str]:
    """The phrase in whole words, whatever its case and spaces."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _place(phrase: str, sentence: str) -> int:
    found = words_of(phrase).search(sentence)
    return found.start() if found else len(sentence)


def _reasons(
    phrases: Sequence[str], answer: ExtractionAnswer, unlocated: bool, same_name: bool, corrected: bool
) -> str:
    reasons = {
        INVALID: not answer.valid and not corrected,
        SEVERAL: len(phrases) > 1,
        NONE_FOUND: not phrases and (answer.valid or corrected),
        SAME_NAME: same_name,
        NOT_LOCATED: unlocated,
    }
    return "; ".join(reason for reason, applies in reasons.items() if applies)


def corrected_phrases(corrections: pd.DataFrame | None) -> Mapping[str, list[str]]:
    """Finding id -> the phrases that a person gave it, in normal form; empty without corrections."""
    if corrections is None:
        return {}
    return {
        finding_id: [phrase for phrase in dict.fromkeys(map(normal_phrase, cell.split(";"))) if phrase]
        for finding_id, cell in zip(
            corrections["finding_id"].tolist(), corrections["phrases"].tolist(), strict=True
        )
    }
