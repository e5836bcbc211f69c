"""The offline structurer: reports to rows, by rules alone (method.md section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import pandas as pd

from lunguage_assets.judges.configuration import RULES
from lunguage_assets.structuring.contract import SectionCode, SectionedReport, StructuredReport, Structurer
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules import reading
from lunguage_assets.structuring.rules.back import SentenceRead, connected, taken_back
from lunguage_assets.structuring.rules.lexicon import VERSION, build_lexicon

_REMEMBERED = 1 << 16


def identity_of(content: str) -> str:
    """Identity of the offline structurer with words of this hash (`lexicon.content_hash`)."""
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
        def read(text: str, section: SectionCode) -> SentenceRead:
            return reading.read_sentence(text, section, lexicon)

        self._read = read

    def read_sentence(self, text: str, section: SectionCode) -> SentenceRead:
        """What one sentence says; spans count from its beginning."""
        return self._read(text, section)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        return [self._report(report) for report in reports]

    def _report(self, report: SectionedReport) -> StructuredReport:
        read = [self._read(sentence.text, sentence.section) for sentence in report.sentences]
        readings, mentions = connected(report.sentences, read)
        return StructuredReport(report.study_id, readings, taken_back(report, mentions))


def chunk_tools(terms: pd.DataFrame | None) -> tuple[RuleStructurer]:
    """What `structure_chunk` needs: the offline structurer with a delivered vocabulary."""
    return (RuleStructurer(terms),)


def structure_chunk(reports: Sequence[SectionedReport], structurer: Structurer) -> tuple[pd.DataFrame, ...]:
    """STRUCTURED_FINDINGS, SENTENCE_ACCOUNTS and REFUSED_VALUES of these reports."""
    made = structured_tables(reports, structurer.structure(reports))
    return made.structured_findings, made.sentence_accounts, made.refused_values
