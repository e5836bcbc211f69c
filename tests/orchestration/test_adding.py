"""What assets and notebooks of other people read and store; the asset on the page about
adding.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from quick_instance import quick_instance
from small_homes import SmallHome

from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES
from lunguage_assets.workspace.store import partition_path, read_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding.md"


def test_the_asset_on_the_page_reads_checks_and_stores(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snippet,) = re.findall(
        r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.setenv("LUNGUAGE_HOME", str(finished.home))
    pasted: dict[str, Any] = {}
    exec(compile(snippet, str(PAGE), "exec"), pasted)
    with quick_instance() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["first"])
        asset = pasted["findings_per_study"]
        job = (
            pasted["defs"]
            .get_repository_def()
            .get_implicit_job_def_for_assets({asset.key})
        )
        alone = job.get_subset(asset_selection={asset.key})
        result = alone.execute_in_process(instance=instance, partition_key="first")
        (checked,) = result.get_asset_check_evaluations()
        assert (checked.check_name, checked.passed) == ("few_empty_studies", True)
        again = pasted["defs"].load_asset_value(
            asset.key, partition_key="first", instance=instance
        )
    findings = read_table(
        FINDINGS, partition_path(finished.home / "tables", "findings", "first")
    )
    assert again["findings"].sum() == len(findings)
    stored = pd.read_parquet(
        finished.home / "tables" / "findings_per_study" / "first.parquet"
    )
    pd.testing.assert_frame_equal(again, stored)


def test_an_asset_without_partitions_gets_those_that_are_there(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snippet,) = re.findall(
        r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.setenv("LUNGUAGE_HOME", str(finished.home))
    pasted: dict[str, Any] = {}
    exec(compile(snippet, str(PAGE), "exec"), pasted)
    with quick_instance() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["first", "second"])
        asset = pasted["labels_of_rankers"]
        job = (
            pasted["defs"]
            .get_repository_def()
            .get_implicit_job_def_for_assets({asset.key})
        )
        result = job.get_subset(asset_selection={asset.key}).execute_in_process(
            instance=instance
        )
    rows = result.output_for_node("labels_of_rankers")
    assert set(rows["partition"]) == {"panel|first", "panel|second"}


def test_a_notebook_is_told_what_to_launch_for_a_missing_partition(
    finished: Finished,
) -> None:
    path = partition_path(
        finished.home / "tables", "hedge_phrases", "lexicon", "second"
    )
    with SmallHome.opened(finished.home) as small:
        ours = build_defs(small.configuration)
        keys = dg.MultiPartitionKey({"judge": "lexicon", "report_batch": "second"})
        loaded = ours.load_asset_value(
            "hedge_phrases", partition_key=keys, instance=small.instance
        )
        pd.testing.assert_frame_equal(loaded, read_table(HEDGE_PHRASES, path))
        small.instance.add_dynamic_partitions(REPORT_BATCH.name, ["third"])
        with pytest.raises(dg.Failure, match="`ingest`"):
            ours.load_asset_value(
                "findings", partition_key="third", instance=small.instance
            )
