"""What a step reads, and what it says that it was made of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from small_homes import SmallHome

from lunguage_assets.home.store import partition_path, stored_record, write_table
from lunguage_assets.orchestration.assets import table_asset
from lunguage_assets.orchestration.build import TABLE_ASSETS
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.tables import DEDUPLICATED_FINDINGS


def test_the_record_names_the_rows_that_were_read_though_the_file_is_exchanged_meanwhile(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, table = ("panel", "second"), DEDUPLICATED_FINDINGS
    path = partition_path(small.home.tables, table.name, *keys)
    before = stored_record(table, path)
    assert before is not None

    def exchanging(root: Path, name: str, place: Sequence[str]) -> pd.DataFrame:
        frame = stored_table(root, name, place)
        if name == table.name:
            write_table(table, frame.iloc[:-1], path, keys, before.made_of)
        return frame

    monkeypatch.setattr(table_asset, "stored_table", exchanging)
    made, *_ = TABLE_ASSETS["expansions"].made(small.resource, keys, logging.getLogger(__name__))
    after = stored_record(table, path)
    assert after is not None
    assert after.version != before.version
    assert [one.record.table for one in made] == ["expansions", "pathway_matches"]
    for encoded in made:
        assert encoded.record.made_of.inputs["deduplicated_findings/panel/second"] == before.version
