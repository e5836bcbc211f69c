"""Corrections of before rows of raw reports were numbered inside their study get the
ids of now, or are refused with their row.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from stored_tables import store_table
from tentative_findings import finding, findings_frame

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.review import load_corrections
from lunguage_assets.lineage.old_ids import require_known_rows, translate_corrections
from lunguage_assets.tables import FINDINGS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path
from lunguage_assets.workspace.table_record import Lineage

OLD = "3"
NEW = "4"
FIRST = "s50000001"
SECOND = "s50000002"


def stored_findings(
    home: Home, batch: str, numbers: dict[str, range], code: str = OLD
) -> None:
    """Findings of a batch with these numbers of rows, by study, as that code of
    `findings` made them.
    """
    rows = [
        finding(number, study_id=study)
        for study, of in numbers.items()
        for number in of
    ]
    path = partition_path(home.tables, "findings", batch)
    store_table(FINDINGS, findings_frame(rows), path, (batch,), Lineage(code))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with two batches of raw reports: `a` with rows of both studies, `b`
    without findings yet.
    """
    home = Home(tmp_path / "home")
    for batch in "ab":
        table = tmp_path / batch / "reports.csv"
        table.parent.mkdir()
        table.write_text(
            f"study_id,report\n{FIRST},FINDINGS: Possible pneumonia {batch}.\n"
        )
        home.register(table.parent, batch)
    stored_findings(home, "a", {FIRST: range(3), SECOND: range(3, 12)})
    return home


def correct(home: Home, *ids: str) -> None:
    lines = "".join(f"{finding_id},possible,=a remark\n" for finding_id in ids)
    home.corrections_file.write_text(f"finding_id,phrases,remark\n{lines}")


def test_an_old_id_becomes_the_number_of_its_row_in_the_study(home: Home) -> None:
    correct(home, f"{SECOND}:5", f"{FIRST}:0")
    assert translate_corrections(home, "a") == 2
    assert load_corrections(home.corrections_file) == {
        f"{SECOND}:0003": ["possible"],
        f"{FIRST}:0001": ["possible"],
    }
    assert home.corrections_file.read_text().count(",'=a remark\n") == 2


def test_what_was_translated_is_not_translated_again(home: Home) -> None:
    correct(home, f"{SECOND}:5")
    translate_corrections(home, "a")
    assert (
        translate_corrections(home, "a") == 0
    )  # as after a kill before the new findings were stored
    assert list(load_corrections(home.corrections_file)) == [f"{SECOND}:0003"]


def test_corrections_stay_as_they_are_where_ids_are_new_already(home: Home) -> None:
    stored_findings(home, "a", {FIRST: range(3)}, NEW)
    correct(home, f"{FIRST}:2")
    before = home.corrections_file.read_bytes()
    assert translate_corrections(home, "a") == translate_corrections(home, "b") == 0
    assert home.corrections_file.read_bytes() == before


def test_corrections_of_other_studies_stay_as_they_are(home: Home) -> None:
    correct(home, "s50000009:5", f"{FIRST}:0")
    translate_corrections(home, "a")
    assert list(load_corrections(home.corrections_file)) == [
        "s50000009:5",
        f"{FIRST}:0001",
    ]


def test_of_an_amended_report_the_newest_batch_that_has_the_id_decides(
    home: Home,
) -> None:
    stored_findings(home, "b", {FIRST: range(1, 9)})
    correct(home, f"{FIRST}:0", f"{FIRST}:2")
    translate_corrections(home, "a")
    assert list(load_corrections(home.corrections_file)) == [
        f"{FIRST}:0001",
        f"{FIRST}:0002",
    ]


def test_an_old_id_of_no_row_is_refused_with_its_row(home: Home) -> None:
    correct(home, f"{SECOND}:5", f"{SECOND}:77")
    before = home.corrections_file.read_bytes()
    with pytest.raises(
        InputError,
        match=rf"row 2, column 'finding_id': found {SECOND}:77 .*Copy the id anew",
    ):
        translate_corrections(home, "a")
    assert home.corrections_file.read_bytes() == before


def test_an_id_that_no_row_has_is_refused_after_the_change_too(home: Home) -> None:
    findings = findings_frame([finding(1, study_id=FIRST, finding_id=f"{FIRST}:0001")])
    correct(home, f"{FIRST}:0001", "s50000009:5")
    require_known_rows(home, findings)
    correct(home, f"{FIRST}:0001", f"{FIRST}:1202")
    with pytest.raises(
        InputError, match=rf"corrections.csv, row 2, .*found {FIRST}:1202 that no row"
    ):
        require_known_rows(home, findings)


def test_a_correction_of_an_earlier_version_of_a_report_is_not_refused(
    home: Home,
) -> None:
    correct(home, f"{FIRST}:2")  # of batch a
    require_known_rows(
        home, findings_frame([finding(1, study_id=FIRST, finding_id=f"{FIRST}:0001")])
    )


def test_words_in_the_place_of_an_id_are_not_told(home: Home) -> None:
    correct(home, f"{FIRST}:a zanzibar nodule")
    with pytest.raises(InputError, match="found an id that no row") as refused:
        translate_corrections(home, "a")
    assert "zanzibar" not in str(refused.value)


def test_without_corrections_nothing_is_read_or_written(home: Home) -> None:
    assert translate_corrections(home, "a") == 0
    require_known_rows(home, pd.DataFrame())
    assert not home.corrections_file.exists()
