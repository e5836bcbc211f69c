"""The offline structurer: sentences to accounts and rows, by rules (method.md 7).

`_read_sentence` is the way of one sentence, step by step; each step is a module of its
own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.unanswered import mark_unanswered
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.caches import remembered
from lunguage_assets.judges.configuration import RULES
from lunguage_assets.structuring.contract import (
    Mention,
    SectionCode,
    SectionedReport,
    StructuredReport,
)
from lunguage_assets.structuring.rules.conclusions import conclusion
from lunguage_assets.structuring.rules.coreference import (
    THESE,
    THIS,
    StandaloneReading,
    mark_pointer,
    put_together,
)
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.lexicon import VERSION, build_lexicon
from lunguage_assets.structuring.rules.mentions import (
    mention_of,
    mentions_of,
    rows_of,
)
from lunguage_assets.structuring.rules.phrase_reader import read_phrases
from lunguage_assets.structuring.rules.redactions import mark_redactions
from lunguage_assets.structuring.text.languages import OTHER_LANGUAGE, foreign_sentences

LONGEST_SENTENCE = 4000
"""Characters; what is longer is no sentence, and the rules would take long over it."""
MIN_WORDS_TO_TELL_LANGUAGE = 8
"""From so many words on, a sentence with hardly a known word is in another language."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_REMOVED = re.compile(r"x{3,}|_{2,}", re.IGNORECASE)
"""What de-identification leaves: "XXXX", "___"."""
_SILENT = StandaloneReading("nothing stated", "section")
_FOREIGN = StandaloneReading("unreadable", OTHER_LANGUAGE)


def identity_of(content: str) -> str:
    """Name the structurer with words of this hash (`vocabulary.content_hash`)."""
    digest = hashlib.blake2b(f"{VERSION}/{content}".encode(), digest_size=8)
    return f"{RULES}/{digest.hexdigest()}"


class RuleStructurer:
    """Reads reports by rules: deterministic and free.

    Sentences are remembered, because real reports repeat them.

    Args:
        terms: a delivered vocabulary (`tables.TERMS`), which widens the bundled words.
        own_cues: a home's cue file, which does so, too.

    Raises:
        ConfigurationError: a word file or cue file cannot be read.
    """

    key = RULES

    def __init__(
        self, terms: pd.DataFrame | None = None, own_cues: Path | None = None
    ) -> None:
        self._lexicon, content = build_lexicon(terms, own_cues)
        self.identity = identity_of(content)
        self.read_sentence = remembered(self._read_sentence)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """Give one answer per report, in the reports' order."""
        return [self._structure(report) for report in reports]

    def _structure(self, report: SectionedReport) -> StructuredReport:
        # The language of one sentence may show only by the report around it, so that it
        # is no matter of `read_sentence`.
        are_foreign = foreign_sentences([it.text for it in report.sentences])
        readings: list[StandaloneReading] = []
        for sentence, is_foreign in zip(report.sentences, are_foreign, strict=True):
            if sentence.section == "other":
                readings.append(_SILENT)
            elif is_foreign:
                readings.append(_FOREIGN)
            else:
                readings.append(self.read_sentence(sentence.text, sentence.section))
        return put_together(report, readings)

    def _read_sentence(self, text: str, section: SectionCode) -> StandaloneReading:
        """Read a sentence alone; never raises, whatever the text."""
        if len(text) > LONGEST_SENTENCE:
            return StandaloneReading("unreadable", "length")
        tokens = tag(text, self._lexicon, section)
        reason = _why_unreadable(tokens, text)
        if reason:
            return StandaloneReading("unreadable", reason)
        # A request has no sentence before it that it could speak of.
        if section != "hist":
            mark_pointer(tokens)
        mark_assertions(tokens, text, self._lexicon)
        if section != "hist":
            mark_unanswered(tokens, text)
            mark_redactions(tokens)
        drafts = read_phrases(tokens)
        stated: list[MentionDraft] = []
        pointer: MentionDraft | None = None
        for draft in drafts:
            if draft.head.sense in (THIS, THESE):
                pointer = draft
            elif not _only_restricts(draft, drafts):
                stated.append(draft)
        if not stated:
            stated = conclusion(tokens)
        reading = _reading(tokens, mentions_of(stated, text))
        if pointer is None:
            return reading
        # "This may be pneumonia": the finding before is a sign of it.
        explaining = tuple(
            number
            for number, row in enumerate(rows_of(stated))
            if pointer in row.draft.signs
        )
        return replace(
            reading, pointer=mention_of(pointer, [], text), explaining=explaining
        )


def rule_structurer(
    terms: pd.DataFrame | None, own_cues: Path | None = None
) -> tuple[RuleStructurer]:
    """Open the offline structurer, as `parallel.map_studies` asks for it.

    Args:
        terms: a delivered vocabulary.
        own_cues: a home's cue file.
    """
    return (RuleStructurer(terms, own_cues),)


def _reading(
    tokens: list[TaggedToken], mentions: tuple[Mention, ...]
) -> StandaloneReading:
    """Account for a sentence: it states something, is advice, or names nothing."""
    if mentions:
        return StandaloneReading("findings", mentions=mentions)
    asides = [token.aside for token in tokens if token.aside]
    if asides:
        return StandaloneReading("not about the patient now", asides[0])
    return StandaloneReading("nothing stated", "no finding named")


def _why_unreadable(tokens: list[TaggedToken], text: str) -> str:
    """Say why a sentence cannot be read by its words; empty: it can."""
    word_count = len(_WORD.findall(_REMOVED.sub(" ", text)))
    if not word_count:
        return "no words"
    if word_count < MIN_WORDS_TO_TELL_LANGUAGE:
        return ""
    # Without characters are words that the tagger adds: "5 cm above [at] the carina".
    english = [tok for tok in tokens if tok.kind != "other" and tok.begin < tok.end]
    is_foreign = len(english) <= word_count // MIN_WORDS_TO_TELL_LANGUAGE
    return "language" if is_foreign else ""


def _only_restricts(draft: MentionDraft, drafts: list[MentionDraft]) -> bool:
    """ "Small effusion, but no large effusion": the denial is no row of its own."""
    if not draft.head.is_denied or not draft.has_modifier_of("measurement"):
        return False
    return any(
        other.head.sense == draft.head.sense
        and not other.head.is_denied
        and set(draft.locations) <= set(other.all_locations)
        for other in drafts
    )
