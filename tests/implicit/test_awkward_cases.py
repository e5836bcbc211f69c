"""The awkward cases of implicit.md, each from the delivered CSV to the published rows; the docstring argues
the outcome from the method.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from invented_reports import blacklist, dictionary, vocabulary

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.implicit.encoders import LexicalEmbedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.release.bundle.released import published_frame
from lunguage_assets.settings import CorpusSettings, ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES, FITTED_PROBABILITIES

STUDY = 50000001
COLUMNS = (
    "", "subject_id", "study_id", "sequence", "section", "report", "sent_idx", "sent", "ent_idx", "ent",
    "normed_ent", "cat", "dx_status", "dx_certainty", "location", "evidence", "associate",
    *ATTRIBUTES.values(),
)  # fmt: skip
STATUS = {
    "dp": ("positive", "definitive"),
    "dn": ("negative", "definitive"),
    "tp": ("positive", "tentative"),
    "tn": ("negative", "tentative"),
}


def delivered(ent: str, status: str = "dp", **cells: str) -> dict[str, str]:
    """One row of the delivery; its numbers are filled in by position."""
    polarity, certainty = STATUS[status]
    plain = {
        "sequence": "1", "report": "Invented.", "sent": "Invented.", "sent_idx": "0", "ent": ent,
        "normed_ent": ent, "cat": "PF", "dx_status": polarity, "dx_certainty": certainty, "section": "find",
    }  # fmt: skip
    given = {ATTRIBUTES.get(name, name): value for name, value in cells.items()}
    return {**dict.fromkeys(COLUMNS, ""), **plain, **given}


@dataclass
class Result:
    """What comes out of one delivered study."""

    published: pd.DataFrame
    matches: pd.DataFrame
    log: pd.DataFrame
    notes: set[str]

    def said(self) -> list[tuple[str, str]]:
        """Wording and status of every published row, in order."""
        return list(zip(self.published["ent"], self.published["status"], strict=True))

    def row(self, ent: str, **where: str) -> dict[str, Any]:
        """The only published row of that wording."""
        found = self.published[self.published["ent"] == ent]
        for name, value in where.items():
            found = found[found[name] == value]
        (record,) = found.to_dict("records")
        return {str(name): value for name, value in record.items()}

    def match(self, number: int, column: str) -> str:
        """What the delivered row has in a column of PATHWAY_MATCHES."""
        return str(self.matches.set_index("finding_id")[column][f"s{STUDY}:{number}"])


Through = Callable[..., Result]


@pytest.fixture
def through(tmp_path: Path) -> Through:
    """Takes rows through all stages; every guarantee holds and every row is accounted for, or the test fails
    here.
    """

    def run(rows: Sequence[dict[str, str]], *, view: str | None = "PA", p: float = 0.6) -> Result:
        with (tmp_path / "Lunguage.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            for number, row in enumerate(rows):
                own = {"": str(number), "subject_id": "p10000001", "study_id": f"s{STUDY}"}
                writer.writerow({**row, **own, "ent_idx": row["ent_idx"] or str(number)})
        if view is not None:
            text = f"dicom_id,subject_id,study_id,ViewPosition\nx,10000001,{STUDY},{view}\n"
            (tmp_path / "mimic-cxr-2.0.0-metadata.csv").write_text(text, encoding="utf-8")
        intake = take_in(find_delivery(tmp_path), CorpusSettings())
        assert len(intake.rejected) == 0
        given = intake.findings, fitted(intake.findings, p)
        merged = deduplicate(*given, LexicalEmbedder(vocabulary()), blacklist(), ImplicitSettings())
        expansion = expand(merged, dictionary(), vocabulary())
        resolution = resolve(merged, expansion, dictionary())
        assert violations(resolution.rows, intake.reports["study_id"]) == []
        assert account(intake.reports, intake.rejected, merged, expansion, resolution)["balanced"].all()
        published = published_frame(resolution.rows, intake.reports)
        notes = {reason for reason in intake.intake_notes["reason"] if "reference" in reason}
        return Result(published, expansion.matches, resolution.log, notes)

    return run


def fitted(findings: pd.DataFrame, p: float) -> pd.DataFrame:
    """The same p for every tentative finding."""
    tentative = findings[findings["status"].str.startswith("t")]
    empty: dict[str, Any] = {column.name: None for column in FITTED_PROBABILITIES.columns if column.nullable}
    same = {
        "phrases": [], "sentence_key": "k", "same_name_in_sentence": False, "mu": 25.0, "sigma": 1.0,
        "rank": 1, "steps": 20, "answers": 20, "invalid_answers": 0, "stop": "stable rank", "p": p,
        "p_low": p / 2, "p_high": (1 + p) / 2, "p_source": "fitted", "ruler": "own", "ranking_version": "v1",
    }  # fmt: skip
    return FITTED_PROBABILITIES.frame(
        [
            {**empty, **same, "finding_id": own, "study_id": study}
            for own, study in zip(tentative["finding_id"], tentative["study_id"], strict=True)
        ]
    )


def test_idx11_stands_next_to_idx1(through: Through) -> None:
    """Section 6: references are edited token by token. Effusion 1 is contradicted and goes, with its token
    alone; effusion 11 stays.
    """
    rows = [
        delivered("scar", ent_idx="2", evidence="pleural effusion, idx11, pleural effusion, idx1"),
        delivered("pleural effusion", ent_idx="1", location="right"),
        delivered("pleural effusion", "dn", ent_idx="3", location="right"),
        delivered("pleural effusion", ent_idx="11", location="left"),
    ]
    result = through(rows)
    left = result.row("pleural effusion")
    assert left["location"] == "left"
    assert result.row("scar")["evidence"] == f"pleural effusion, idx{left['idx']}"
    lost = result.log[result.log["event"] == "reference lost"]
    assert lost["reference"].tolist() == [f"s{STUDY}:1"]


ODD = ("right ( upper ) lobe", "T8 (T9) > a & b / c \\ d")


@pytest.mark.parametrize("location", ODD)
def test_a_location_with_odd_characters_is_only_a_location(through: Through, location: str) -> None:
    """No stage reads locations as patterns or notation: the child's location is the parent's as worded, then
    the pathway's.
    """
    denied = delivered("consolidation", "dn", location=f"{location}, lingula")
    result = through([delivered("consolidation", location=location), denied])
    assert result.row("consolidation", status="dp")["location"] == location
    assert result.row("opacity")["location"] == f"{location}, airspace"
    assert result.row("volume loss")["location"] == location
    assert result.row("opacity")["associate"] == "consolidation, idx1"


@pytest.mark.parametrize(("name", "pathway"), [("congestion/edema", "pulmonary_edema_1"), ("wire/tube", "")])
def test_a_name_with_a_slash_is_one_name(through: Through, name: str, pathway: str) -> None:
    """A name is looked up whole (the first is a listed spelling), and references stay whole."""
    result = through([delivered(name), delivered("scar", evidence=f"{name}, idx0")])
    assert result.match(0, "pathway_id") == pathway
    assert result.row("scar")["evidence"] == f"{name}, idx1"
    assert result.notes == set()


def test_without_a_view_only_what_needs_one_stays_unexpanded(through: Through) -> None:
    """Section 1: a missing view never stops a run; section 3: unknown view, no expansion, reason recorded;
    other pathways match any view.
    """
    result = through(
        [delivered("pleural effusion"), delivered("cardiomegaly"), delivered("atelectasis")], view=None
    )
    reasons = [result.match(number, "reason") for number in range(3)]
    assert reasons == ["unknown view", "unknown view", "matched"]
    assert [ent for ent, _ in result.said()][3:] == ["opacity", "volume loss"]


def test_several_spellings_of_one_diagnosis_end_as_one(through: Through) -> None:
    """Sections 2 and 5: the same canonical finding at the same place is one key, however it is spelled; so is
    every sub-finding.

    The definite statement has the highest support, so that it stays, as worded; the suspicion of it is
    merged, not lost.
    """
    concluded = delivered("CHF", "tp", section="impr", severity="severe")
    result = through([delivered("chf", "tp"), delivered("congestive heart failure"), concluded])
    names = [ent for ent, _ in result.said()]
    assert names[0] == "congestive heart failure"
    assert sorted(names) == sorted(set(names))
    assert result.row("congestive heart failure")["prob"] == 1.0
    assert result.row("congestive heart failure")["severity"] == "severe"
    assert {status for _, status in result.said()} == {"dp", "dn"}
    merged = set(result.log.loc[result.log["event"] == "merged", "finding_id"])
    assert merged >= {f"s{STUDY}:0", f"s{STUDY}:2"}
