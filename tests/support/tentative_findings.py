"""Small invented tables for the explicit stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd
from stored_tables import plain_row

from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import (
    FINDINGS,
    HEDGE_PHRASES,
    HEDGE_VOCABULARY,
)

NAMES = ("pneumonia", "atelectasis", "effusion", "edema", "pneumothorax")


def finding(row: int, **values: Any) -> dict[str, Any]:
    """One row of the findings table; a masked sentence is derived from `sent` and `ent`
    unless given.
    """
    study = values.get("study_id", f"s{50000000 + row // 4}")
    ent = values.get("ent", "pneumonia")
    sent = values.get("sent", f"Possible {ent}.")
    defaults: dict[str, Any] = {
        "finding_id": f"{study}:{row}", "subject_id": "p10000001", "study_id": study, "section": "find",
        "sent_idx": row, "sent": sent, "ent_idx": row, "ent": ent, "name": ent, "status": "tp", "row": row,
        "currency": "current dx", "masked_sentence": sent.replace(ent, "<finding>"), "mask_state": "masked",
    }  # fmt: skip
    return plain_row(FINDINGS, **defaults | values)


def findings_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    return FINDINGS.frame(rows)


def invented_findings(size: int) -> pd.DataFrame:
    """`size` tentative pairs made from the bundled sentences, each in its own words."""
    sentences = [
        sentence for examples in reference_sentences() for sentence in examples
    ]
    rows = []
    for i in range(size):
        ent = NAMES[(i // len(sentences) + i) % len(NAMES)]
        masked = sentences[i % len(sentences)]
        if i >= len(sentences):
            masked = masked[:-1] + f", film {i // len(sentences)}."
        rows.append(
            finding(
                i,
                ent=ent,
                sent=masked.replace("<finding>", ent),
                masked_sentence=masked,
            )
        )
    return findings_frame(rows)


def own_vocabulary(examples_by_phrase: dict[str, list[str]]) -> pd.DataFrame:
    """A vocabulary of retained phrases with the given masked sentences."""
    rows = [
        {"phrase": phrase, "n_examples": len(examples), "retained": True, "ruler": "own",
         "example_ids": [f"{phrase}:{i}" for i in range(len(examples))],
         "example_sentences": examples, "vocabulary_version": "v"}
        for phrase, examples in examples_by_phrase.items()
    ]  # fmt: skip
    return HEDGE_VOCABULARY.frame([plain_row(HEDGE_VOCABULARY, **row) for row in rows])


SMALL = own_vocabulary(
    {
        phrase: [f"{phrase} <finding> {i}." for i in range(6)]
        for phrase in ("may", "likely", "or", "if any")
    }
)


@cache
def published_scale() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The published vocabulary, and its ranking; nobody changes them."""
    settings = ExplicitSettings(reference_scale="published")
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), settings)
    return vocabulary, reference_ranking(vocabulary, {}, settings)


@dataclass
class ScriptedJudge:
    """A judge whose answers a test decides; it records what it was asked."""

    choose: Callable[[ComparisonQuestion], Choice] = lambda question: "sentence_1"
    phrases: Callable[[ExtractionQuestion], ExtractionAnswer] = lambda question: (
        ExtractionAnswer(())
    )
    key: str = "scripted"
    identity: str = "scripted/1"
    compared: list[ComparisonQuestion] = field(default_factory=list)
    extracted: list[ExtractionQuestion] = field(default_factory=list)
    calls: int = 0

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        self.extracted += questions
        return [self.phrases(question) for question in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        self.calls += 1
        self.compared += questions
        return [self.choose(question) for question in questions]
