"""The offline structurer: reports to rows, by rules alone (structure.md section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import pandas as pd

from lunguage_assets.structuring.contract import (
    Mention,
    SectionCode,
    SectionedReport,
    SentenceReading,
    StructuredReport,
)
from lunguage_assets.structuring.rules import reading
from lunguage_assets.structuring.rules.building import build_lexicon
from lunguage_assets.structuring.rules.lexicon import VERSION, Lexicon

KEY = "rules"
_REMEMBERED = 1 << 16


def identity_of(content: str) -> str:
    """Identity of the offline structurer with words of this hash (`building.content_hash`)."""
    return f"{KEY}/{hashlib.blake2b(f'{VERSION}/{content}'.encode(), digest_size=8).hexdigest()}"


class RuleStructurer:
    """Deterministic and free. Implements `contract.Structurer`.

    Sentences are remembered: real reports repeat them.
    """

    def __init__(self, lexicon: Lexicon, content: str) -> None:
        self._lexicon = lexicon
        self._identity = identity_of(content)
        self._read = lru_cache(maxsize=_REMEMBERED)(self._uncached)

    @classmethod
    def bundled(cls, terms: pd.DataFrame | None = None) -> RuleStructurer:
        """With the bundled words, widened by a delivered vocabulary (a `tables.TERMS` frame).

        Raises:
            ConfigurationError: a file of `resources/structuring/` that cannot be read.
        """
        return cls(*build_lexicon(terms))

    @property
    def key(self) -> str:
        return KEY

    @property
    def identity(self) -> str:
        return self._identity

    def read_sentence(self, text: str, section: SectionCode) -> SentenceReading:
        """What one sentence says; spans count from its beginning."""
        return self._read(text, section)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        return [self._report(report) for report in reports]

    def _uncached(self, text: str, section: SectionCode) -> SentenceReading:
        return reading.read_sentence(text, section, self._lexicon)

    def _report(self, report: SectionedReport) -> StructuredReport:
        readings = tuple(self._read(sentence.text, sentence.section) for sentence in report.sentences)
        mentions: list[tuple[int, Mention]] = []
        for position, one in enumerate(readings):
            mentions += [(position, _moved(mention, len(mentions))) for mention in one.mentions]
        return StructuredReport(report.study_id, readings, tuple(mentions))


def _moved(mention: Mention, by: int) -> Mention:
    """The same mention with references that count from the report's first mention."""
    if by == 0 or not (mention.evidence or mention.associate):
        return mention
    return Mention(
        mention.ent,
        mention.normed_ent,
        mention.cat,
        mention.status,
        mention.location,
        mention.attributes,
        tuple(place + by for place in mention.evidence),
        tuple(place + by for place in mention.associate),
    )
