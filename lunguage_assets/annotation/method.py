"""From texts to findings, probabilities, implied findings, resolved rows and labels, without a home.

The stages are those of a run, with the offline structurer, the bundled judges, the published ruler, the
packaged pathways and lists and the default settings: what a home without files of its own uses with
`ruler = "published"`. What its files say is read once and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.intake import take_in_structured
from lunguage_assets.corpus.texts.receiving import Received, without_other_languages
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.phrases import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.implicit.encoders import LexicalEmbedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.deduplicate import believed_rows, deduplicate
from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.contradictions import Statements
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.labels.study_labels import (
    READ,
    EvidenceOfLabels,
    label_evidence,
    study_labels,
)
from lunguage_assets.quality.rules import (
    InvalidStudy,
    broken_studies,
    require_few,
    studies_of,
)
from lunguage_assets.settings import CorpusSettings, load_settings
from lunguage_assets.structuring.rows import read_reports, structured_reports
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.tables import (
    HEDGE_PHRASES,
    INTAKE_NOTES,
    REJECTED,
    REPORT_TEXTS,
    TERMS,
)
from lunguage_assets.tables.implicit import RESOLUTION_LOG

Frames = dict[str, pd.DataFrame]
"""Tables of a run by name, in memory."""


class StatedFinding(NamedTuple):
    """What a row says now of its finding, and of the label whose diagnosis it means.

    `label` is empty when the row means none. `label_present` differs from `present` where a row is read the
    other way round: an enlarged heart is there, and so is cardiomegaly; a heart of normal size denies it.
    """

    row: Row
    name: str
    present: bool
    label: str
    label_present: bool

    def p(self, present: bool) -> float:
        """The probability that the finding, or its label, is there, when the row says `present` of it."""
        return self.row.prob if present == self.row.positive else 1.0 - self.row.prob


class StatedLabel(NamedTuple):
    """What a report says now of a label."""

    label: int
    present: bool
    p: float


@dataclass(frozen=True, slots=True)
class Given:
    """One report: what the caller calls it, its text, decoded as delivered texts are, codes of what was done
    to it, and its views in the written form (empty: those that the text names).
    """

    name: str
    text: str = field(repr=False)
    notes: tuple[str, ...]
    views: str


class Method:
    """The packaged judges, ruler, lists and settings, read once.

    Args:
        own_cues: a file of cues that are added to the packaged ones.

    Raises:
        ConfigurationError: that file, or a packaged one that was edited, cannot be used.
    """

    def __init__(self, own_cues: Path | None = None) -> None:
        settings = load_settings()
        explicit = settings.explicit.model_copy(
            update={"ruler": "published", "fit_log": False}
        )
        self._explicit, self._implicit = explicit, settings.implicit
        self._structurer = RuleStructurer(own_cues=own_cues)
        self._panel: list[Judge] = [
            LexiconJudge.bundled("lexicon"),
            CuesJudge.bundled("cues"),
        ]
        self._phrases = hedge_vocabulary(HEDGE_PHRASES.frame(), explicit)
        played = {judge.key: pd.DataFrame() for judge in self._panel}
        identities = [judge.identity for judge in self._panel]
        self.ranking = reference_ranking(self._phrases, played, explicit, identities)
        self._anchors = published_anchors()
        vocabulary = Vocabulary.from_terms(TERMS.frame())
        self._embedder = LexicalEmbedder(vocabulary)
        self._blacklist, self._dictionary = (
            load_blacklist(),
            load_dictionary(None, vocabulary),
        )
        self._labels = load_label_list()

    def read(self, given: Mapping[str, Given]) -> Frames:
        """Texts, sentences, structured rows and findings of reports, by study id ("s" and digits)."""
        terms, unknown = (
            TERMS.frame(),
            {"file": "", "line": 1, "taken_at": "", "sequence": 0},
        )
        rows = []
        for study, one in given.items():
            ids = {
                "study_id": study,
                "subject_id": "p" + study[1:],
                "source_id": one.name,
            }
            source = "metadata" if one.views else "unknown"
            said = {
                "view_information": one.views,
                "view_source": source,
                "report": one.text,
            }
            rows.append({**unknown, **ids, **said})
        texts = REPORT_TEXTS.frame(rows)
        read = read_reports(
            Received(texts, REJECTED.frame(), INTAKE_NOTES.frame(), terms)
        )
        structured = structured_reports(
            read.report_texts, read.report_sentences, self._structurer
        )
        received = Received(
            read.report_texts, read.rejected_reports, read.reading_notes, terms
        )
        received = without_other_languages(received, NOT_ENGLISH)
        intake = take_in_structured(
            received, structured.structured_findings, CorpusSettings()
        )
        return {**vars(read), **structured._asdict(), **vars(intake)}

    def stated(
        self, given: Mapping[str, Given]
    ) -> dict[str, tuple[list[StatedFinding], list[StatedLabel]]]:
        """What reports state now of findings, and of labels; nothing is merged, implied or resolved."""
        made = self.read(given)
        findings = made["findings"]
        fitted = self._fitted(findings, hedge_phrases(findings, self._panel[0]))
        rows = [
            row
            for row in believed_rows(findings, fitted, self._implicit)
            if row.disposition == "kept"
        ]
        statements = Statements(self._labels, ())
        stated: dict[str, tuple[list[StatedFinding], list[StatedLabel]]] = {
            study: ([], []) for study in given
        }
        for row in rows:
            if row.currency == "current dx":
                stated[row.study_id][0].append(self._stated_finding(row, statements))
        for (study, label), about in said_by_rows(rows, self._labels).items():
            claim = about.decide()[0]
            if claim is not None:
                stated[study][1].append(StatedLabel(label, claim.present, claim.p))
        return stated

    def _stated_finding(self, row: Row, statements: Statements) -> StatedFinding:
        """What a row says, by its name and by the first diagnosis that it means."""
        assertions = statements.of(row)
        by_name = assertions[0]
        name = str(by_name.subject)
        if len(assertions) == 1:
            return StatedFinding(row, name, by_name.present, "", by_name.present)
        by_label = assertions[1]
        label = self._labels.names[int(by_label.subject)]
        return StatedFinding(row, name, by_name.present, label, by_label.present)

    def _fitted(self, findings: pd.DataFrame, hedges: pd.DataFrame) -> pd.DataFrame:
        return fit_pairs(
            findings,
            hedges,
            self._phrases,
            self.ranking,
            self._panel,
            self._anchors,
            self._explicit,
        ).probabilities

    def conclude(self, read: Frames) -> Frames:
        """What follows from findings, to the labels; a study that breaks a rule of a run is in `set_aside`
        alone. Raises `InvalidTable`: one still breaks a rule when it is left out.
        """
        asides: set[InvalidStudy] = set()
        while True:
            studies = studies_of(asides)
            made = self._made(read, studies)
            new = broken_studies("read", made, read["reports"]["study_id"])
            if not new:
                return {
                    **made,
                    "set_aside": pd.DataFrame(
                        sorted(asides), columns=InvalidStudy._fields
                    ),
                }
            if studies_of(new) <= studies:
                require_few(new, new, len(read["reports"]), strict=True)
            asides |= set(new)

    def _made(self, read: Frames, aside: frozenset[str]) -> Frames:
        """The tables of a run, without the studies `aside`."""
        findings, reports = (
            read[name][~read[name]["study_id"].isin(aside)].reset_index(drop=True)
            for name in ("findings", "reports")
        )
        hedges = hedge_phrases(findings, self._panel[0])
        fitted = self._fitted(findings, hedges)
        merged = deduplicate(
            findings,
            fitted,
            self._embedder,
            self._blacklist,
            self._implicit,
            self._labels,
        )
        expansion = expand(merged, self._dictionary, self._labels)
        version = str(self.ranking["ranking_version"].iloc[0])
        resolution = resolve(
            merged, *expansion, self._dictionary, version, self._blacklist, self._labels
        )
        return {
            "findings": findings,
            "hedge_phrases": hedges,
            "fitted_probabilities": fitted,
            "deduplicated_findings": merged,
            "pathway_matches": expansion.matches,
            "expansions": expansion.expansions,
            "lunguage_plus_plus": resolution.rows,
            "resolution_log": resolution.log,
            "conflicts": resolution.conflicts,
            "accounting": account(
                read["reports"], read["rejected"], merged, expansion, resolution, aside
            ),
            "labels": study_labels(
                resolution.rows,
                expansion.matches,
                reports,
                self._labels,
                resolution.log,
            ),
        }


def said_by_rows(rows: Sequence[Row], listed: LabelList) -> EvidenceOfLabels:
    """`label_evidence` by stated rows as they were read, before any is merged or resolved."""
    frame = pd.DataFrame(
        {name: [getattr(row, name) for row in rows] for name in READ}, columns=READ
    )
    frame = frame.astype(dict.fromkeys(("status", "source"), "str"))
    read = [(row.finding_id, listed.read(row).diagnosis, "") for row in rows]
    matches = pd.DataFrame(read, columns=["finding_id", "diagnosis", "reason"])
    return label_evidence(frame, matches, listed, RESOLUTION_LOG.frame())


def bundled_method(own_cues: Path | None = None) -> Method:
    """The method of this process, with the cues of a file; errors as of `Method`."""
    is_there = own_cues is not None and own_cues.exists()
    return _method(
        own_cues, own_cues.read_bytes() if own_cues is not None and is_there else b""
    )


@lru_cache(maxsize=2)
def _method(own_cues: Path | None, _content: bytes) -> Method:
    return Method(own_cues)
