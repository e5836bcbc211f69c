"""Hedging phrases of tentative findings: extraction, filters, flags, corrections, and the vocabulary of a
corpus with its example sentences (explicit.md section 1). How a judge finds the phrases is its own matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.fitting import tentative_rows
from lunguage_assets.explicit.fit.probability import NoScale, require_anchors
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion, Judge
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.randomness import digest
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.spreadsheets import edited_rows
from lunguage_assets.tables import HEDGE_PHRASES, HEDGE_VOCABULARY

SEVERAL, NONE_FOUND, SAME_NAME = "several phrases", "no phrase", "same name twice"
NOT_LOCATED, INVALID = "not located", "invalid answer"
"""Reasons for a review; a pair may have several, joined by '; '."""

TOO_FEW, NO_EXAMPLE, PUBLISHED_RULER = (
    "fewer examples than the minimum",
    "no usable example",
    "the published ruler is used",
)
"""Why a phrase is not retained."""

CHOSEN = "the settings choose it"
"""Why the published ruler is used, where nothing else is the reason."""

CORRECTION_COLUMNS = ("finding_id", "phrases")
_FILTER_CELLS = ("measurement", "severity", "onset")
_NEVER_DROPPED = frozenset({"or", "to", "borderline"})
_ALWAYS_DROPPED = frozenset({"difficult to assess"})


def hedge_phrases(
    findings: pd.DataFrame,
    judge: Judge,
    corrections: Mapping[str, list[str]] | None = None,
) -> pd.DataFrame:
    """The hedging phrases of every tentative pair, a `HEDGE_PHRASES` frame by study and row.

    History rows are no pairs.

    Args:
        findings: `FINDINGS` frame.
        judge: the extractor.
        corrections: phrases by finding id (`load_corrections`); a correction overrides answer and filters.
            Ids of other batches are left alone.
    """
    columns = [
        *HEDGE_PHRASES.names[:4],
        "same_name_in_sentence",
        "mask_state",
        "masked_sentence",
        *_FILTER_CELLS,
    ]
    listed = tentative_rows(findings)[columns].itertuples(index=False, name=None)
    rows: list[dict[str, Any]] = [
        dict(zip(columns, values, strict=True)) for values in listed
    ]
    for row in rows:
        row["masked_sentence"] = (
            row["masked_sentence"] if row["mask_state"] == "masked" else None
        )
    questions = [
        ExtractionQuestion(row["ent"], row["sent"], row["masked_sentence"])
        for row in rows
    ]
    reviewed = corrections or {}
    for row, answer in zip(rows, judge.extract(questions), strict=True):
        row["corrected"] = corrected = row["finding_id"] in reviewed
        row["answer_state"] = "valid" if answer.valid else "invalid"
        row["phrases"], row["dropped"] = _filtered(answer, row)
        if corrected:
            row["phrases"], row["dropped"] = reviewed[row["finding_id"]], []
        reasons = {
            INVALID: not answer.valid and not corrected,
            SEVERAL: len(row["phrases"]) > 1,
            NONE_FOUND: not row["phrases"] and (answer.valid or corrected),
            SAME_NAME: row["same_name_in_sentence"],
            NOT_LOCATED: row["masked_sentence"] is None,
        }
        row["review_reason"] = "; ".join(
            reason for reason, applies in reasons.items() if applies
        )
        row["needs_review"] = row["review_reason"] != "" and not corrected
    return HEDGE_PHRASES.frame(rows)


def load_corrections(path: Path) -> dict[str, list[str]]:
    """Finding id -> the phrases that a person gave it, in normal form; empty without the file.

    Raises:
        InputError: a missing column, a row with too few or too many values, an empty or repeated finding id.
    """
    given: dict[str, list[str]] = {}
    for number, row in edited_rows(path, CORRECTION_COLUMNS) if path.exists() else ():
        finding_id = row["finding_id"].strip()
        if not finding_id or finding_id in given:
            found = "the finding id of an earlier row" if finding_id else "nothing"
            expected, remedy = "every finding id once", "Fix or delete the row."
            raise InputError(
                path.name, found, expected, remedy, row=number, column="finding_id"
            )
        phrases = dict.fromkeys(map(normal_phrase, row["phrases"].split(";")))
        given[finding_id] = [phrase for phrase in phrases if phrase]
    return given


def review_queue(hedges: pd.DataFrame) -> pd.DataFrame:
    """Pairs that a person should look at; every column is text.

    Copy finding_id and the right phrases (separated by ';', empty for none) into the corrections file: only
    what is there counts as reviewed.
    """
    rows = hedges[hedges["needs_review"].to_numpy(dtype=bool)]
    queue = rows[["finding_id", "study_id", "ent", "sent", "phrases", "review_reason"]]
    queue = queue.rename(columns={"ent": "finding", "sent": "sentence"})
    return (
        queue.assign(phrases=rows["phrases"].map(";".join))
        .astype("str")
        .reset_index(drop=True)
    )


def normal_phrase(phrase: str) -> str:
    """Lower case, single spaces, no punctuation around."""
    return " ".join(phrase.lower().split()).strip(" .,;:\"'“”")


def _filtered(
    answer: ExtractionAnswer, row: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Phrases kept and dropped, each once, in order of appearance in the sentence.

    A phrase that a cell of the row has in whole words states a size, severity or onset and is no hedge.
    """
    kept: list[str] = []
    dropped: list[str] = []
    found = {
        phrase
        for phrase in map(normal_phrase, answer.phrases)
        if phrase and answer.valid
    }
    given = list(map(normal_phrase, answer.phrases))
    for phrase in sorted(
        found, key=lambda phrase: (_place(phrase, row["sent"]), given.index(phrase))
    ):
        stated = any(words_of(phrase).search(row[name]) for name in _FILTER_CELLS)
        gone = phrase in _ALWAYS_DROPPED or (stated and phrase not in _NEVER_DROPPED)
        (dropped if gone else kept).append(phrase)
    return kept, dropped


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> re.Pattern[str]:
    """The phrase in whole words, whatever its case and spaces."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _place(phrase: str, sentence: str) -> int:
    found = words_of(phrase).search(sentence)
    return found.start() if found else len(sentence)


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
    same_name = (
        pairs["review_reason"].str.split("; ").map(lambda reasons: SAME_NAME in reasons)
    )
    usable = pairs["masked_sentence"].notna() & ~same_name.astype(bool)
    pairs = pairs.assign(
        usable=usable,
        phrase=pairs["phrases"].map(lambda found: list(dict.fromkeys(found))),
    )
    extracted = pairs.explode("phrase").dropna(subset="phrase")
    counts = Counter(extracted["phrase"].tolist())
    examples: dict[str, list[tuple[str, str]]] = {phrase: [] for phrase in counts}
    shown = extracted[extracted["usable"]]
    for phrase, *example in zip(
        shown["phrase"], shown["finding_id"], shown["masked_sentence"], strict=True
    ):
        examples[phrase].append((example[0], example[1]))
    reasons = {
        phrase: TOO_FEW
        if count < settings.minimum_examples
        else ""
        if examples[phrase]
        else NO_EXAMPLE
        for phrase, count in counts.items()
    }
    ruler, reason = (
        "own",
        _against_own(
            {phrase for phrase in reasons if not reasons[phrase]}, settings, anchors
        ),
    )
    if reason:
        ruler, reasons = "published", dict.fromkeys(counts, PUBLISHED_RULER)
        examples = {phrase: [] for phrase in counts}
        for phrase, sentences in reference_sentences().items():
            reasons[phrase] = ""
            examples[phrase] = [
                (f"ruler:{phrase}:{i:02d}", sentence)
                for i, sentence in enumerate(sentences)
            ]
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
    for row in sorted(
        (row for row in rows if row["retained"]), key=lambda row: str(row["phrase"])
    ):
        parts += [
            row["phrase"],
            len(row["example_ids"]),
            *row["example_ids"],
            *row["example_sentences"],
        ]
    same = {
        "ruler": ruler,
        "ruler_reason": reason,
        "vocabulary_version": digest(*parts),
    }
    return HEDGE_VOCABULARY.frame([{**row, **same} for row in rows])


def newest_only(
    frames: Mapping[str, pd.DataFrame], order: Sequence[str]
) -> pd.DataFrame | None:
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


def _against_own(
    own: Collection[str], settings: ExplicitSettings, anchors: AnchorSet | None
) -> str:
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
