"""From texts to findings, probabilities, implied findings, resolved rows and labels, without a home.

The stages are those of a run, with the offline structurer, the bundled judges, the published ruler, the
packaged pathways and lists and the default settings: what a home without files of its own uses with
`ruler = "published"`. What its files say is read once and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd

from lunguage_assets.annotation.given import Given
from lunguage_assets.corpus.intake import Intake, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.implicit.encoders.lexical import LexicalEmbedder
from lunguage_assets.implicit.expansion.expand import Expansion, expand
from lunguage_assets.implicit.merging.blacklist import load_blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.resolve import Resolution, resolve
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.quality.set_aside import (
    Aside,
    broken_studies,
    require_few,
    studies_of,
    without_studies,
)
from lunguage_assets.release.labels.labels import study_labels
from lunguage_assets.settings import CorpusSettings, load_settings
from lunguage_assets.structuring.reading import ReportsRead, read_reports, sectioned_reports
from lunguage_assets.structuring.rows import StructuredTables, structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import HEDGE_PHRASES, INTAKE_NOTES, REJECTED, REPORT_TEXTS, TERMS

EXTRACTOR, PANEL = "lexicon", ("lexicon", "cues")
"""Judges of the bundled preset `offline`, in panel order."""


@dataclass(frozen=True)
class Results:
    """Results of the method on some reports: tables of a run, in memory."""

    hedges: pd.DataFrame
    expansion: Expansion
    resolution: Resolution
    labels: pd.DataFrame
    set_aside: tuple[Aside, ...]


class Method:
    """The packaged judges, ruler, lists and settings, read once; `of` applies them.

    Raises:
        ConfigurationError: a packaged file was edited and cannot be used; the message names it.
    """

    def __init__(self) -> None:
        settings = load_settings()
        explicit = settings.explicit.model_copy(update={"ruler": "published", "fit_log": False})
        judges: dict[str, Judge] = {
            "lexicon": LexiconJudge.bundled("lexicon"),
            "cues": CuesJudge.bundled("cues"),
        }
        self._explicit, self._implicit = explicit, settings.implicit
        self._vocabulary = Vocabulary.from_terms(TERMS.frame())
        self._extractor = judges[EXTRACTOR]
        self._panel = [judges[key] for key in PANEL]
        self._phrases = hedge_vocabulary(HEDGE_PHRASES.frame(), explicit)
        nothing_played = dict.fromkeys(PANEL, pd.DataFrame())
        identities = [judge.identity for judge in self._panel]
        self.ranking = reference_ranking(self._phrases, nothing_played, explicit, identities)
        self._anchors = published_anchors()
        self._embedder = LexicalEmbedder(self._vocabulary)
        self._blacklist = load_blacklist()
        self._dictionary = load_dictionary(None, self._vocabulary)
        self._labels = load_label_list()

    def of(self, findings: pd.DataFrame, reports: pd.DataFrame, rejected: pd.DataFrame) -> Results:
        """Apply the method to FINDINGS, with the REPORTS and REJECTED of the same studies.

        A study that breaks a rule of a run is set aside, as in a run: nothing is made of it.

        Raises:
            InvalidTable: a study still breaks a rule when it is left out.
        """
        asides: set[Aside] = set()
        while True:
            studies = studies_of(asides)
            kept = without_studies({"findings": findings}, studies)["findings"]
            results, frames = self._made(kept, reports, rejected, studies)
            new = broken_studies("read", {"findings": kept, **frames}, reports["study_id"])
            if not new:
                return replace(results, set_aside=tuple(sorted(asides)))
            if studies_of(new) <= studies:
                require_few(new, new, len(reports), strict=True)
            asides |= set(new)

    def _made(
        self, findings: pd.DataFrame, reports: pd.DataFrame, rejected: pd.DataFrame, aside: frozenset[str]
    ) -> tuple[Results, dict[str, pd.DataFrame]]:
        """The results of findings, and the tables in which they may break a rule."""
        hedges = hedge_phrases(findings, self._extractor)
        fitted = fit_pairs(
            findings, hedges, self._phrases, self.ranking, self._panel, self._anchors, self._explicit
        ).probabilities
        merged = deduplicate(findings, fitted, self._embedder, self._blacklist, self._implicit)
        expansion = expand(merged, self._dictionary, self._vocabulary)
        version = str(self.ranking["ranking_version"].iloc[0])
        resolution = resolve(merged, expansion, self._dictionary, version, blacklist=self._blacklist)
        accounts = account(reports, rejected, merged, expansion, resolution, aside)
        known = reports[~reports["study_id"].isin(aside)]
        labels = study_labels(resolution.rows, expansion.matches, known, self._labels, resolution.log)
        frames = {
            "hedge_phrases": hedges,
            "fitted_probabilities": fitted,
            "deduplicated_findings": merged,
            "pathway_matches": expansion.matches,
            "expansions": expansion.expansions,
            "lunguage_plus_plus": resolution.rows,
            "resolution_log": resolution.log,
            "conflicts": resolution.conflicts,
            "accounting": accounts,
        }
        return Results(hedges, expansion, resolution, labels, ()), frames


bundled_method = lru_cache(maxsize=1)(Method)
"""The one of this process."""


_structurer = lru_cache(maxsize=1)(RuleStructurer)


@dataclass(frozen=True)
class Read:
    """Texts as they were read: tables of a batch, in memory.

    Args:
        notes: reason codes of what was odd about a text, by study.
        read: texts with their views, and sentences.
        structured: rows of the offline structurer, and accounts of sentences.
        intake: findings that follow from these rows.
    """

    notes: Mapping[str, tuple[str, ...]]
    read: ReportsRead
    structured: StructuredTables
    intake: Intake


def read_texts(given: Mapping[str, Given]) -> Read:
    """Read reports by study id ("s" and digits)."""
    terms = TERMS.frame()
    texts = REPORT_TEXTS.frame([_row(study, one) for study, one in given.items()])
    read = read_reports(Received(texts, REJECTED.frame(), INTAKE_NOTES.frame(), terms))
    reports = list(sectioned_reports(read.report_texts, read.report_sentences))
    structured = structured_tables(reports, _structurer().structure(reports))
    intake = take_in_structured(
        Received(read.report_texts, read.rejected_reports, read.reading_notes, terms),
        structured.structured_findings,
        CorpusSettings(),
    )
    return Read(_notes(given, read.reading_notes), read, structured, intake)


def _row(study: str, given: Given) -> dict[str, object]:
    return {
        "study_id": study,
        "subject_id": "p" + study[1:],
        "source_id": given.name,
        "file": "",
        "line": 1,
        "taken_at": "",
        "view_information": given.views,
        "view_source": "metadata" if given.views else "unknown",
        "report": given.text,
    }


def _notes(given: Mapping[str, Given], noted: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    found: dict[str, Sequence[str]] = {study: one.notes for study, one in given.items()}
    for study, reason in zip(noted["study_id"].tolist(), noted["reason"].tolist(), strict=True):
        found[study] = (*found[study], reason)
    return {study: tuple(dict.fromkeys(reasons)) for study, reasons in found.items()}
