"""A correction of a row that no batch has is refused with its row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from stored_tables import store_table
from tentative_findings import finding, findings_frame

from lunguage_assets.errors import InputError
from lunguage_assets.quality.corrected_rows import require_known_rows
from lunguage_assets.tables import FINDINGS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

STUDY = "s50000001"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a batch of raw reports that has rows 0001 and 0002 of the study."""
    home = Home(tmp_path / "home")
    table = tmp_path / "first" / "reports.csv"
    table.parent.mkdir()
    table.write_text(f"study_id,report\n{STUDY},FINDINGS: Possible pneumonia.\n")
    home.register(table.parent, "first")
    path = partition_path(home.tables, "findings", "first")
    store_table(FINDINGS, rows(1, 2), path)
    return home


def rows(*numbers: int) -> pd.DataFrame:
    """Findings of the study, with rows of these numbers."""
    return findings_frame(
        [
            finding(number, study_id=STUDY, finding_id=f"{STUDY}:{number:04}")
            for number in numbers
        ]
    )


def correct(home: Home, *ids: str) -> None:
    lines = "".join(f"{finding_id},possible\n" for finding_id in ids)
    home.corrections_file.write_text(f"finding_id,phrases\n{lines}")


def test_an_id_that_no_row_has_is_refused_by_its_row_and_not_told(home: Home) -> None:
    correct(home, f"{STUDY}:0001", "s50000009:0005")
    require_known_rows(home, rows(1))
    correct(home, f"{STUDY}:0001", f"{STUDY}:a zanzibar nodule")
    with pytest.raises(
        InputError, match=r"corrections.csv, row 2, .*found an id that no row"
    ) as refused:
        require_known_rows(home, rows(1))
    assert "zanzibar" not in str(refused.value)


def test_a_correction_of_an_earlier_version_of_a_report_is_not_refused(
    home: Home,
) -> None:
    correct(home, f"{STUDY}:0002")
    require_known_rows(home, rows(1))
