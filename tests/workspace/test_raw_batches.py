"""Raw reports in a home: one file per batch, several batches of a large delivery, each
patient in one.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from profiles import examples
from raw_deliveries import write_mimic_tree

from lunguage_assets.corpus.delivery import Delivery, content_hash
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import InputError
from lunguage_assets.workspace.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def texts(delivery: Delivery) -> pd.DataFrame:
    return receive(delivery).report_texts


def test_a_registered_tree_is_one_file_with_the_same_reports(
    tmp_path: Path, home: Home
) -> None:
    write_mimic_tree(tmp_path / "d")
    [preview] = home.examine(tmp_path / "d", "d")
    [batch] = home.register(tmp_path / "d", "d")
    assert preview.batch == batch == home.batch("d")
    assert batch.kind == "text"
    files = {path.name for path in (home.batches / "d").iterdir()}
    assert files == {"batch.json", "raw_reports.parquet"}
    pd.testing.assert_frame_equal(texts(home.delivery("d")), texts(preview.delivery))
    assert content_hash(home.delivery("d")) == batch.sha256


def test_a_table_whose_columns_are_called_otherwise_is_the_same_batch(
    tmp_path: Path, home: Home
) -> None:
    (tmp_path / "reports.csv").write_text("study_id,report\n50000001,No effusion.\n")
    [batch] = home.register(tmp_path / "reports.csv", "a")
    (tmp_path / "reports.csv").write_text(
        "Accession_No,study_id,Text\n50000001,x,No effusion.\n"
    )
    assert home.register(
        tmp_path / "reports.csv", "b", columns=("accession no", "Text")
    ) == [batch]
    with pytest.raises(
        InputError,
        match=r"no column \['txt'\] among .*'Accession_No', 'study_id', 'Text'",
    ):
        home.register(tmp_path / "reports.csv", "c", columns=("study_id", "txt"))
    with pytest.raises(InputError, match="cannot be read"):
        home.register(tmp_path, "d", columns=("study_id", "text"))


@given(
    patients=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    most=st.integers(1, 8),
)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_reports_of_a_patient_are_in_one_batch(
    tmp_path_factory: pytest.TempPathFactory, patients: list[int], most: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    rows = [
        (f"s{50000000 + at}", f"p{10000000 + patient}")
        for at, patient in enumerate(patients)
    ]
    frame = pd.DataFrame(rows, columns=["study_id", "subject_id"]).assign(
        report="No effusion."
    )
    frame.to_csv(folder / "reports.csv", index=False)
    home = Home(folder / "home")
    batches = home.register(folder, "d", batch_reports=most)
    stored = [texts(home.delivery(batch.key)) for batch in batches]
    owners = [set(of_batch["subject_id"]) for of_batch in stored]
    assert sum(map(len, owners)) == len(set(patients))
    assert sorted(pd.concat(stored)["study_id"]) == frame["study_id"].tolist()
    assert all(owners)
    if len(patients) <= most:
        assert [batch.key for batch in batches] == ["d"]
