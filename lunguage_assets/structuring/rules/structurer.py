"""The offline structurer: reports to rows, by rules alone (structure.md section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pandas as pd

from lunguage_assets.judges.configuration import RULES
from lunguage_assets.structuring.contract import (
    Mention,
    SectionCode,
    SectionedReport,
    SentenceReading,
    StructuredReport,
)
from lunguage_assets.structuring.rules import reading
from lunguage_assets.structuring.rules.building import build_lexicon
from lunguage_assets.structuring.rules.lexicon import VERSION

_REMEMBERED = 1 << 16


def identity_of(content: str) -> str:
    """Identity of the offline structurer with words of this hash (`building.content_hash`)."""
    return f"{RULES}/{hashlib.blake2b(f'{VERSION}/{content}'.encode(), digest_size=8).hexdigest()}"


class RuleStructurer:
    """Deterministic and free, with the bundled words, widened by a delivered vocabulary (a `tables.TERMS`
    frame). Implements `contract.Structurer`.

    Sentences are remembered: real reports repeat them. Raises `ConfigurationError` for a file of
    `resources/structuring/` that cannot be read.
    """

    key = RULES

    def __init__(self, terms: pd.DataFrame | None = None) -> None:
        lexicon, content = build_lexicon(terms)
        self.identity = identity_of(content)

        @lru_cache(maxsize=_REMEMBERED)
        def read(text: str, section: SectionCode) -> SentenceReading:
            return reading.read_sentence(text, section, lexicon)

        self._read = read

    def read_sentence(self, text: str, section: SectionCode) -> SentenceReading:
        """What one sentence says; spans count from its beginning."""
        return self._read(text, section)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        return [self._report(report) for report in reports]

    def _report(self, report: SectionedReport) -> StructuredReport:
        readings = tuple(self._read(sentence.text, sentence.section) for sentence in report.sentences)
        mentions: list[tuple[int, Mention]] = []
        for position, one in enumerate(readings):
            mentions += [(position, _moved(mention, len(mentions))) for mention in one.mentions]
        return StructuredReport(report.study_id, readings, tuple(mentions))


def _moved(mention: Mention, by: int) -> Mention:
    """The same mention with references that count from the report's first mention."""
    evidence, associate = (tuple(n + by for n in those) for those in (mention.evidence, mention.associate))
    return replace(mention, evidence=evidence, associate=associate) if evidence or associate else mention
