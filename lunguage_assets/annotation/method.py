"""The method in memory: from texts to resolved findings, without a home.

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

import pandas as pd

from lunguage_assets.annotation.given_reports import GivenReport
from lunguage_assets.corpus.intake import take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received, without_other_languages
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.hedges import hedge_phrases
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.deduplicate import (
    believed_rows,
    deduplicate,
    merging_tools,
)
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.quality.rules import (
    InvalidStudy,
    broken_studies,
    studies_of,
    without_studies,
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

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together.

Memory follows from it, results do not.
"""


class Method:
    """The packaged judges, reference scale, lists and settings, read once.

    Args:
        own_cues: a file of cues that are added to the packaged ones.

    Raises:
        ConfigurationError: that file, or a packaged one that was edited, is wrong.
    """

    def __init__(self, own_cues: Path | None = None) -> None:
        settings = load_settings()
        # A ranking of their own would let the p of a report depend on the others.
        self._explicit = settings.explicit.model_copy(
            update={"reference_scale": "published", "fit_log": False}
        )
        self._structurer = RuleStructurer(own_cues=own_cues)
        self._panel = (LexiconJudge("lexicon"), CuesJudge("cues"))
        self._phrases = hedge_vocabulary(HEDGE_PHRASES.frame(), self._explicit)
        # Without matches: the published scale is used as it is (explicit.md section 3).
        self.ranking = reference_ranking(
            self._phrases,
            {judge.key: pd.DataFrame() for judge in self._panel},
            self._explicit,
            [judge.identity for judge in self._panel],
        )
        self._anchors = published_anchors().anchors
        self._implicit = settings.implicit
        embedder, blacklist, *_ = merging_tools(self._implicit, TERMS.frame(), None)
        self._merging = (embedder, blacklist, self._implicit, packaged_labels())

    def read(self, reports: Mapping[str, GivenReport]) -> Frames:
        """Read texts, sentences, structured rows and findings of reports.

        Args:
            reports: by study id ("s" and digits).

        Returns:
            The tables of a run, to `findings`, by name.
        """
        log = IntakeLog()
        texts = []
        for study, report in reports.items():
            texts.append(_report_text(study, report))
            if report.note:
                log.note(report.note, study_id=study)
        terms = TERMS.frame()
        reading = read_reports(
            Received(
                REPORT_TEXTS.frame(texts), REJECTED.frame(), log.notes_frame(), terms
            )
        )
        structured = structured_reports(
            reading.report_texts, reading.report_sentences, self._structurer
        )
        received = Received(
            reading.report_texts, reading.rejected_reports, reading.reading_notes, terms
        )
        intake = take_in_structured(
            without_other_languages(received, NOT_ENGLISH),
            structured.structured_findings,
            CorpusSettings(),
        )
        return {**reading._asdict(), **structured._asdict(), **vars(intake)}

    def stated(self, reports: Sequence[GivenReport]) -> list[list[Row]]:
        """Read what each report states now; nothing is merged, implied or resolved."""
        stated: dict[str, list[Row]] = {}
        for by_study in in_parts(reports):
            stated |= {study: [] for study in by_study}
            findings = self.read(by_study)["findings"]
            _, fitted = self._fitted(findings)
            for row in believed_rows(findings, fitted, self._implicit):
                # Rows of the history section are excluded: they state nothing of now.
                if row.disposition == "kept" and row.currency == "current dx":
                    stated[row.study_id].append(row)
        return list(stated.values())

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
        """Draw all conclusions from findings, and return all tables.

        A study that breaks a rule of a run is in `set_aside` alone.
        """
        tables = self._tables(read)
        invalid = broken_studies("read", tables, read["reports"]["study_id"])
        studies = studies_of(invalid)
        # Studies are independent: without these the others stay as they are.
        concluded = {**read, **without_studies(tables, studies)}
        if studies:
            concluded["accounting"] = account(concluded, studies)
        concluded["set_aside"] = pd.DataFrame(invalid, columns=InvalidStudy._fields)
        return concluded

    def _tables(self, read: Frames) -> Frames:
        """Make the tables of a run."""
        findings = read["findings"]
        hedges, fitted = self._fitted(findings)
        merged = deduplicate(findings, fitted, *self._merging)
        labels = packaged_labels()
        expansion = expand(merged, labels)
        ranking_version = str(self.ranking["ranking_version"].iloc[0])
        resolution = resolve(merged, *expansion, labels, ranking_version)
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
        }
        return {**tables, "accounting": account({**read, **tables})}


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
        "view_source": "metadata" if report.views else "unknown",
        "report": report.text,
    }


@cache
def packaged_labels() -> LabelList:
    """Load the packaged list of labels, which remembers what it read."""
    return load_label_list()


@cache
def bundled_method() -> Method:
    """Make the method of this process, without cues of its own."""
    return Method()
