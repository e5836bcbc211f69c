"""What assets and notebooks of other people are given of the tables: own steps read for themselves."""

from __future__ import annotations

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from small_homes import SmallHome

from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.tables import HEDGE_PHRASES


def test_a_notebook_reads_a_partition_and_is_told_what_to_launch_for_one_that_is_not_there(
    finished: Finished,
) -> None:
    place = partition_path(finished.home / "tables", "hedge_phrases", "lexicon", "second")
    with SmallHome.opened(finished.home) as small:
        ours = build_defs(small.resource)
        keys = dg.MultiPartitionKey({"judge": "lexicon", "report_batch": "second"})
        read = ours.load_asset_value("hedge_phrases", partition_key=keys, instance=small.instance)
        pd.testing.assert_frame_equal(read, read_table(HEDGE_PHRASES, place))
        small.instance.add_dynamic_partitions(REPORT_BATCH.name, ["third"])
        with pytest.raises(dg.Failure, match="`ingest`"):
            ours.load_asset_value("findings", partition_key="third", instance=small.instance)
