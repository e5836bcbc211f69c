"""What `annotate` says of reports is what a run with the published ruler stores of
them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from raw_deliveries import REPORTS
from small_homes import SmallHome

import lunguage_assets
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS
from lunguage_assets.workspace.store import partition_path, read_table

TEXTS = pd.DataFrame(
    {
        "study_id": [f"s{one.study}" for one in REPORTS],
        "report": [one.text for one in REPORTS],
    }
)
OWN = (
    "subject_id",
    "finding_id",
    "parent_id",
    "root_id",
    "evidence",
    "associate",
    "merged_ids",
    "sequence",
)
"""Ids, which are the caller's, and what a text alone does not say."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a home that took the reports in as a file of texts; without the
    release.
    """
    folder = tmp_path_factory.mktemp("run")
    home = folder / "home"
    delivery = folder / "reports"
    for new_folder in (home, delivery):
        new_folder.mkdir()
    (home / "settings.toml").write_text(
        '[explicit]\nreference_scale = "published"\nrepetitions = 1\nbootstrap = 0\n'
    )
    TEXTS.to_csv(delivery / "reports.csv", index=False)
    with SmallHome.opened(home) as small:
        small.register({"texts": delivery})
        runner = small.runner()
        runner.run([one for one in runner.plan("panel") if one.job != "release"])
        return Path(str(small.home.tables))


def _by_study(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["study_id", "idx"], kind="stable", ignore_index=True)


@pytest.mark.lengthy
def test_the_rows_and_their_numbers_are_those_of_the_run(run: Path) -> None:
    path = partition_path(run, "lunguage_plus_plus", "panel", "texts")
    stored = _by_study(read_table(LUNGUAGE_PLUS_PLUS, path))
    annotated = _by_study(lunguage_assets.annotate(TEXTS).findings)
    assert len(annotated) > 3 * len(REPORTS)
    columns = [name for name in LUNGUAGE_PLUS_PLUS.names if name not in OWN]
    pd.testing.assert_frame_equal(annotated[columns], stored[columns])
