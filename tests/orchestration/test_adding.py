"""The structurer and the assets on the page about adding, and what a notebook reads."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from quick_instance import quick_instance
from small_homes import SmallHome
from stored_tables import stored_table

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.settings import CorpusSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding.md"
STRUCTURER, ASSETS = re.findall(
    r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)


def placed(text: str, words: str) -> tuple[int, int]:
    """Characters of words in a text."""
    begin = text.index(words)
    return begin, begin + len(words)


def test_the_structurer_on_the_page_makes_rows_that_are_taken_in(
    tmp_path: Path,
) -> None:
    text = "FINDINGS: Small left effusion. No pneumothorax."
    entities = [
        {"words": "effusion", "label": "present", "located_at": [placed(text, "left")]},
        {"words": "pneumothorax", "label": "absent", "located_at": []},
    ]
    for entity in entities:
        entity["begin"], entity["end"] = placed(text, str(entity.pop("words")))
    (tmp_path / "entities.json").write_text(json.dumps({"s50000001": entities}))
    (tmp_path / "reports.csv").write_text(f"study_id,report\n50000001,{text}\n")
    (tmp_path / "my_structurer.py").write_text(STRUCTURER)
    subprocess.run([sys.executable, "my_structurer.py"], cwd=tmp_path, check=True)
    findings = take_in(find_delivery(tmp_path / "rows"), CorpusSettings()).findings
    columns = ["study_id", "name", "status", "location"]
    assert findings[columns].to_numpy().tolist() == [
        ["s50000001", "pleural effusion", "dp", "left"],
        ["s50000001", "pneumothorax", "dn", ""],
    ]


@pytest.fixture(scope="module")
def asset_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's assets in a file of the name that the page gives it."""
    file = tmp_path_factory.mktemp("assets") / "my_assets.py"
    file.write_text(ASSETS)
    return file


@pytest.mark.lengthy
def test_dagster_loads_the_file_of_the_page(
    finished: Finished, asset_file: Path
) -> None:
    validated = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate", "-f", asset_file],
        env={**os.environ, "LUNGUAGE_HOME": str(finished.home)},
        cwd=asset_file.parent,
        capture_output=True,
        text=True,
    )
    assert validated.returncode == 0, validated.stdout + validated.stderr


class Page:
    """What the file of the page defines, and an instance that knows two batches."""

    def __init__(self, file: Path, instance: dg.DagsterInstance) -> None:
        self.definitions: dg.Definitions = runpy.run_path(str(file))["defs"]
        self.instance = instance
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["first", "second"])

    def make(
        self, asset: str, partition: str | None = None
    ) -> dg.ExecuteInProcessResult:
        keys = {dg.AssetKey(asset)}
        repository = self.definitions.get_repository_def()
        job = repository.get_implicit_job_def_for_assets(keys)
        assert job is not None
        alone = job.get_subset(asset_selection=keys)
        return alone.execute_in_process(instance=self.instance, partition_key=partition)

    def load(self, asset: str, partition: str) -> pd.DataFrame:
        frame: pd.DataFrame = self.definitions.load_asset_value(
            asset, partition_key=partition, instance=self.instance
        )
        return frame


@pytest.fixture
def page(
    finished: Finished, asset_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Page]:
    """The page beside a finished home."""
    monkeypatch.setenv("LUNGUAGE_HOME", str(finished.home))
    with quick_instance() as instance:
        yield Page(asset_file, instance)


def test_the_asset_on_the_page_reads_checks_and_stores(
    finished: Finished, page: Page
) -> None:
    result = page.make("findings_per_study", "first")
    (checked,) = result.get_asset_check_evaluations()
    assert (checked.check_name, checked.passed) == ("few_empty_studies", True)
    again = page.load("findings_per_study", "first")
    tables = finished.home / "tables"
    assert again["findings"].sum() == len(stored_table(tables, "findings"))
    stored = pd.read_parquet(tables / "findings_per_study" / "first.parquet")
    pd.testing.assert_frame_equal(again, stored)


def test_an_asset_has_a_partition_dimension_of_its_own(page: Page) -> None:
    keys = dg.MultiPartitionKey({"section": "impr", "report_batch": "first"})
    page.make("findings_of_section", keys)
    assert set(page.load("findings_of_section", keys)["section"]) == {"impr"}


def test_an_asset_without_partitions_gets_those_that_are_there(page: Page) -> None:
    result = page.make("labels_of_rankers")
    rows = result.output_for_node("labels_of_rankers")
    assert set(rows["partition"]) == {"panel|first", "panel|second"}


def test_a_notebook_is_told_what_to_launch_for_a_missing_partition(
    finished: Finished,
) -> None:
    with SmallHome.opened(finished.home) as small:
        ours = build_defs(small.configuration)
        keys = dg.MultiPartitionKey({"judge": "lexicon", "report_batch": "second"})
        loaded = ours.load_asset_value(
            "hedge_phrases", partition_key=keys, instance=small.instance
        )
        stored = stored_table(small.home.tables, "hedge_phrases", report_batch="second")
        pd.testing.assert_frame_equal(loaded, stored)
        small.instance.add_dynamic_partitions(REPORT_BATCH.name, ["third"])
        with pytest.raises(dg.Failure, match="`lunguage run`"):
            ours.load_asset_value(
                "findings", partition_key="third", instance=small.instance
            )
