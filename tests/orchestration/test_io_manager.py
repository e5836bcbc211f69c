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
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES


def test_an_asset_of_somebody_else_reads_one_batch_or_all(finished: Finished) -> None:
    given: dict[str, int] = {}

    @dg.asset(partitions_def=REPORT_BATCH)
    def of_one(findings: pd.DataFrame) -> None:
        given["alone"] = len(findings)

    @dg.asset(ins={"findings": dg.AssetIn(partition_mapping=dg.AllPartitionMapping())})
    def of_all(findings: dict[str, pd.DataFrame]) -> None:
        given.update({batch: len(frame) for batch, frame in findings.items()})

    with SmallHome.opened(finished.home) as small:
        ours = build_defs(small.resource)
        for asset, partition in ((of_one, "second"), (of_all, None)):
            dg.materialize(
                [*(ours.assets or ()), asset],
                selection=[asset],
                partition_key=partition,
                instance=small.instance,
                resources=ours.resources,
            )
    rows = {
        batch: len(read_table(FINDINGS, partition_path(finished.home / "tables", "findings", batch)))
        for batch in ("first", "second")
    }
    assert given == {"alone": rows["second"], **rows}


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
