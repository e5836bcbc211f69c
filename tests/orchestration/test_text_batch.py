"""A batch of raw reports beside one of findings: from registration to release, and what
makes it stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from small_homes import SmallHome, said_of
from stored_tables import stored_table

from lunguage_assets.structuring import rows as rows_of_texts
from lunguage_assets.structuring.rows import StructuredTables, structured_tables

REPORTS = {
    "a1": "INDICATION: Cough.\nTECHNIQUE: PA and lateral views.\nFINDINGS: Possible pneumonia in the left "
    "lower lobe. The heart is normal.\nIMPRESSION: 1. Probable pneumonia.\n2. No effusion.\n",
    "a2": "Small right pleural effusion. No pneumothorax. CT is recommended.",
    "a3": "FINDINGS: Mild pulmonary edema. Dr. ___ was told.",
    "empty": " \n",
}
FIRST = ["read_reports (raw)", "structure (raw x rules)", "ingest (raw)"]
AFTER = ["extract_hedges (lexicon x raw)"]


@pytest.fixture(scope="module")
def text_home(
    five: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SmallHome]:
    """A home with a batch of findings (`five`) and one of raw reports (`raw`)."""
    folder = tmp_path_factory.mktemp("texts")
    raw = folder / "raw"
    raw.mkdir()
    for name, text in REPORTS.items():
        (raw / f"{name}.txt").write_text(text, encoding="utf-8")
    declared = (five / "corpus.toml").read_text()
    (raw / "corpus.toml").write_text(declared)
    home = folder / "home"
    home.mkdir()
    (home / "settings.toml").write_text(
        "[explicit]\nreference_scale = 'published'\nbootstrap = 5\nstep_limit = 4\n"
    )
    with SmallHome.opened(home) as small:
        small.register({"five": five, "raw": raw})
        small.executed_stages = small.run()  # type: ignore[attr-defined]
        yield small


def table(small: SmallHome, name: str) -> pd.DataFrame:
    return stored_table(small.home.tables, name, report_batch="raw")


def make(small: SmallHome, *tables: str) -> None:
    for name in tables:
        small.make(name, report_batch="raw")


def test_raw_reports_are_read_and_structured_before_they_are_taken_in(
    text_home: SmallHome,
) -> None:
    stages = text_home.executed_stages  # type: ignore[attr-defined]
    assert [stage for stage in stages if "raw" in stage][:4] == [*FIRST, *AFTER]
    assert stages[:2] == ["ingest (five)", "extract_hedges (lexicon x five)"]
    assert text_home.plan() == []
    assert {batch.key: batch.kind for batch in text_home.home.registered()} == {
        "five": "findings",
        "raw": "text",
    }


def test_a_cue_of_the_home_makes_raw_reports_stale(text_home: SmallHome) -> None:
    edema = table(text_home, "structured_findings").query("ent == 'pulmonary edema'")
    file = text_home.home.root / "assertion.yaml"
    file.write_text(
        "- {id: hedged.mild, category: hedged, patterns: [mild], reach: next,\n"
        '   examples: [{text: "Mild edema.", edema: hedged}]}\n'
    )
    current = text_home.current()
    assert current.reasons("structured_findings", "raw", "rules") == [
        "structurers changed"
    ]
    assert [stage for stage in text_home.plan() if "five" in stage] == []
    make(text_home, "structured_findings")
    reread = table(text_home, "structured_findings").query("ent == 'pulmonary edema'")
    assert (edema["status"].tolist(), reread["status"].tolist()) == (["dp"], ["tp"])
    file.unlink()
    assert not text_home.current().is_current("structured_findings", "raw", "rules")
    make(text_home, "structured_findings")


def test_a_report_with_invalid_structured_rows_is_set_aside_as_unread(
    text_home: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = table(text_home, "lunguage_plus_plus")
    study = before["study_id"].iloc[0]

    def broken(*answered: Any) -> StructuredTables:
        structured = structured_tables(*answered)
        rows = structured.structured_findings
        theirs = rows["study_id"] == study
        return structured._replace(
            structured_findings=rows.assign(
                status=rows["status"].mask(theirs, "planted")
            )
        )

    monkeypatch.setattr(rows_of_texts, "structured_tables", broken)
    steps = ["structured_findings", "findings", "hedge_phrases", "fitted_probabilities"]
    steps += ["deduplicated_findings", "expansions", "lunguage_plus_plus"]
    make(text_home, *steps)
    (aside,) = table(text_home, "set_aside").to_dict("records")
    assert (aside["study_id"], aside["step"]) == (study, "structured_findings")
    assert "planted" not in str(aside)
    assert set(table(text_home, "findings")["study_id"]) == set(before["study_id"]) - {
        study
    }
    assert study in set(table(text_home, "reports")["study_id"])
    sentences = table(text_home, "sentence_accounts")
    assert "findings" not in set(
        sentences.loc[sentences["study_id"] == study, "account"]
    )
    accounts = table(text_home, "accounting").set_index("study_id")
    assert accounts["balanced"].all()
    assert accounts.loc[study, "rows_out"] == 0


def test_a_correction_of_no_row_ends_the_extraction_with_its_row(
    text_home: SmallHome,
) -> None:
    study = table(text_home, "findings")["study_id"].iloc[0]
    text_home.home.corrections_file.write_text(
        f"finding_id,phrases\n{study}:1202,perhaps\n"
    )
    failed = text_home.make("hedge_phrases", report_batch="raw", raise_on_error=False)
    text_home.home.corrections_file.unlink()
    assert not failed.success
    where = "corrections.csv, row 1, column 'finding_id': found an id that no row"
    assert where in said_of(failed)


def test_automation_carries_raw_reports_and_leaves_findings_to_who_registers_them(
    text_home: SmallHome, five: Path
) -> None:
    looked_at = ("structured_findings", "findings")

    def tick(cursor: Any = None) -> Any:
        return dg.evaluate_automation_conditions(
            text_home.definitions,
            text_home.instance,
            asset_selection=dg.AssetSelection.assets(*looked_at),
            cursor=cursor,
        )

    started = tick()
    later = text_home.home.root.parent / "later"
    later.mkdir()
    (later / "corpus.toml").write_text('name = "synthetic"\ndata_class = "synthetic"\n')
    (later / "reports.csv").write_text(
        'study_id,report\n50000777,"FINDINGS: Possible edema. No effusion."\n'
    )
    text_home.register({"later": later, "again": five})
    text_home.make("report_texts", report_batch="later")
    requested = tick(started.cursor)
    assert [
        requested.get_requested_partitions(dg.AssetKey(name)) for name in looked_at
    ] == [{"later|rules"}, set()]
