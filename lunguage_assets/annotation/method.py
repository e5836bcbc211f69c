"""The method in memory: from texts to labels, without a home.

The stages are those of a run (docs/method.md), with the offline structurer, the bundled
judges, the published reference scale, the packaged pathways and lists and the default
settings: what a home without files of its own uses with `reference_scale =
"published"`. Packaged files are read once. Nothing of the method is decided here; which
stage does what is in the packages that are imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.annotation.given_reports import GivenReport
from lunguage_assets.corpus.intake import take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received, without_other_languages
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.hedges import hedge_phrases
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.implicit.merging.deduplicate import believed_rows, deduplicate
from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.contradictions import Statements
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.labels.study_labels import label_evidence, label_frame
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
    REJECTED,
    REPORT_TEXTS,
    TERMS,
)

Frames = dict[str, pd.DataFrame]
"""Tables of a run by name, in memory."""

_VIEW_SOURCES = ("unknown", "metadata")
"""Without views of a report, and with them."""
REPORTS_AT_ONCE = 1000
"""Reports that go through the method together.

Memory follows from it, results do not.
"""


class StatedFinding(NamedTuple):
    """What a row says now: of its own name, and of the first diagnosis that it means.

    Each reading is a name and whether it is there. The two differ where a row is read
    the other way round: a heart of normal size is there, and denies cardiomegaly.
    """

    row: Row
    readings: Sequence[tuple[str, bool]]


class Method:
    """The packaged judges, reference scale, lists and settings, read once.

    Args:
        own_cues: a file of cues that are added to the packaged ones.

    Raises:
        ConfigurationError: that file, or a packaged one that was edited, is wrong.
    """

    def __init__(self, own_cues: Path | None = None) -> None:
        settings = load_settings()
        self._implicit = settings.implicit
        # A ranking of their own would let the p of a report depend on the others.
        self._explicit = settings.explicit.model_copy(
            update={"reference_scale": "published", "fit_log": False}
        )
        self._structurer = RuleStructurer(own_cues=own_cues)
        self._panel: list[Judge] = [
            LexiconJudge("lexicon"),
            CuesJudge("cues"),
        ]
        self._phrases = hedge_vocabulary(HEDGE_PHRASES.frame(), self._explicit)
        # Without matches: the published scale is used as it is (explicit.md section 3).
        self.ranking = reference_ranking(
            self._phrases,
            {judge.key: pd.DataFrame() for judge in self._panel},
            self._explicit,
            [judge.identity for judge in self._panel],
        )
        self._anchors = published_anchors()
        vocabulary = Vocabulary.from_terms(TERMS.frame())
        self._embedder = LexicalEmbedder(vocabulary)
        self._blacklist = load_blacklist()
        self._labels = load_label_list()

    def read(self, reports: Mapping[str, GivenReport]) -> Frames:
        """Read texts, sentences, structured rows and findings of reports.

        Args:
            reports: by study id ("s" and digits).

        Returns:
            The tables of a run, to `findings`, by name.
        """
        terms = TERMS.frame()
        texts = REPORT_TEXTS.frame(
            [_report_text(study, report) for study, report in reports.items()]
        )
        log = IntakeLog()
        for study, report in reports.items():
            for note in report.notes:
                log.note(note, "", study_id=study)
        received = Received(texts, REJECTED.frame(), log.notes_frame(), terms)
        reading = read_reports(received)
        structured = structured_reports(
            reading.report_texts, reading.report_sentences, self._structurer
        )
        as_read = Received(
            reading.report_texts, reading.rejected_reports, reading.reading_notes, terms
        )
        intake = take_in_structured(
            without_other_languages(as_read, NOT_ENGLISH),
            structured.structured_findings,
            CorpusSettings(),
        )
        return {**reading._asdict(), **structured._asdict(), **vars(intake)}

    def stated(self, reports: Sequence[GivenReport]) -> list[list[StatedFinding]]:
        """Read what each report states now; nothing is merged, implied or resolved."""
        stated: list[list[StatedFinding]] = []
        statements = Statements(self._labels, ())
        label_by_number: dict[Any, str] = dict(enumerate(self._labels.names))
        for by_study in in_parts(reports):
            findings = self.read(by_study)["findings"]
            _, fitted = self._fitted(findings)
            stated_by_study: dict[str, list[StatedFinding]] = {
                study: [] for study in by_study
            }
            for row in believed_rows(findings, fitted, self._implicit):
                # Rows of the history section are excluded: they state nothing of now.
                if row.disposition == "kept" and row.currency == "current dx":
                    readings = [
                        (str(label_by_number.get(subject, subject)), present)
                        for _, subject, present, _ in statements.of(row)[:2]
                    ]
                    stated_by_study[row.study_id].append(StatedFinding(row, readings))
            stated += stated_by_study.values()
        return stated

    def _fitted(self, findings: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Find the hedging phrases of findings, and the probabilities that follow."""
        hedges = hedge_phrases(findings, self._panel[0])
        fits = fit_pairs(
            findings,
            hedges,
            self._phrases,
            self.ranking,
            self._panel,
            self._anchors,
            self._explicit,
        )
        return hedges, fits.probabilities

    def conclude(self, read: Frames) -> Frames:
        """Draw all conclusions from findings, to the labels, and return all tables.

        A study that breaks a rule of a run is in `set_aside` alone.

        Raises:
            InvalidTable: one still breaks a rule when it is left out.
        """
        delivered = read["reports"]["study_id"]
        tables = self._tables(read, frozenset())
        invalid = broken_studies("read", tables, delivered)
        if invalid:
            # Without a study the others may come out differently: all is done again.
            tables = self._tables(read, studies_of(invalid))
            broken = broken_studies("read", tables, delivered)
            if broken:
                require_few(broken, broken, len(delivered), strict=True)
        set_aside = pd.DataFrame(invalid, columns=list(InvalidStudy._fields))
        return {**read, **tables, "set_aside": set_aside}

    def _tables(self, read: Frames, left_out: frozenset[str]) -> Frames:
        """Make the tables of a run without some studies."""
        findings = _without(read["findings"], left_out)
        hedges, fitted = self._fitted(findings)
        merged = deduplicate(
            findings,
            fitted,
            self._embedder,
            self._blacklist,
            self._implicit,
            self._labels,
        )
        expansion = expand(merged, self._labels)
        resolution = resolve(
            merged,
            *expansion,
            self._labels,
            str(self.ranking["ranking_version"].iloc[0]),
        )
        evidence = label_evidence(
            resolution.rows, expansion.matches, self._labels, resolution.log
        )
        read_reports = _without(read["reports"], left_out)
        labels = label_frame(evidence, read_reports, self._labels)
        tables = {
            "findings": findings,
            "hedge_phrases": hedges,
            "fitted_probabilities": fitted,
            "deduplicated_findings": merged,
            "pathway_matches": expansion.matches,
            "expansions": expansion.expansions,
            "lunguage_plus_plus": resolution.rows,
            "resolution_log": resolution.log,
            "conflicts": resolution.conflicts,
            "labels": labels,
        }
        return {**tables, "accounting": account({**read, **tables}, left_out)}


def in_parts(reports: Sequence[GivenReport]) -> Iterator[dict[str, GivenReport]]:
    """Yield parts of `REPORTS_AT_ONCE`, by ids of the form that the method knows.

    Without a report an empty part gives tables their columns and types.
    """
    for start in range(0, max(len(reports), 1), REPORTS_AT_ONCE):
        batch = reports[start : start + REPORTS_AT_ONCE]
        yield {f"s{number:08d}": report for number, report in enumerate(batch, start)}


def _report_text(study: str, report: GivenReport) -> dict[str, object]:
    """Make a row of `tables.REPORT_TEXTS`, whose patient is made up."""
    return {
        "study_id": study,
        "subject_id": "p" + study[1:],
        "source_id": report.name,
        "file": "",
        "line": 1,
        "taken_at": "",
        "sequence": 0,
        "view_information": report.views,
        "view_source": _VIEW_SOURCES[bool(report.views)],
        "report": report.text,
    }


def _without(frame: pd.DataFrame, studies: frozenset[str]) -> pd.DataFrame:
    return frame[~frame["study_id"].isin(studies)].reset_index(drop=True)


@cache
def bundled_method() -> Method:
    """Make the method of this process, without cues of its own."""
    return Method()
