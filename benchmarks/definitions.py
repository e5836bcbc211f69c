"""Time to load the definitions and to answer the grid of partitions: `python benchmarks/definitions.py
[batches] [rankers]`.

Loads the code location in fresh processes, for an empty home and for one with many batches registered and
materialised for every ranker, and asks the webserver's GraphQL, in this process, what the page of a (ranker x
batch) asset asks. Prints seconds; the material is invented and thrown away.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import dagster as dg
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster_graphql.schema import create_schema

from lunguage_assets.files import replace_text
from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.runs.instance import dagster_instance, prepare_dagster_home

ASSET = "fitted_probabilities"
REPEATS = 5

LOAD = """
import time
begin = time.perf_counter()
import dagster
imported = time.perf_counter()
from lunguage_assets.definitions import defs
defs().get_repository_def().load_all_definitions()
print(imported - begin, time.perf_counter() - begin, time.process_time())
"""

QUESTIONS = {
    "counts of the catalogue": """{ assetNodeOrError(assetKey: {path: ["%s"]}) { ... on AssetNode {
        partitionStats { numMaterialized numPartitions } } } }""",
    "grid of the partitions": """{ assetNodeOrError(assetKey: {path: ["%s"]}) { ... on AssetNode {
        partitionKeysByDimension { name partitionKeys }
        assetPartitionStatuses { ... on MultiPartitionStatuses { primaryDimensionName ranges {
          primaryDimStartKey secondaryDim { ... on DefaultPartitionStatuses {
            materializedPartitions failedPartitions } } } } } } } }""",
    "plots over the partitions": """{ assetNodeOrError(assetKey: {path: ["%s"]}) { ... on AssetNode {
        assetMaterializations(limit: 100) { partition metadataEntries { label } } } } }""",
}


def judges_file(rankers: int) -> str:
    """A judges file whose panel and judges are as many rankers as asked for."""
    judges = [f"judge-{number}" for number in range(1, rankers)]
    lines = [
        'preset = "wide"',
        "[presets.wide]",
        'panel = "wide"',
        f'extractor = "{judges[0]}"',
        "[panels.wide]",
        f"members = {json.dumps(judges)}",
    ]
    for judge in judges:
        lines += [f"[judges.{judge}]", 'provider = "lexicon"']
    return "\n".join(lines) + "\n"


def fill(home: Home, batches: int, rankers: int) -> None:
    """Register invented batches and report a materialization of every (ranker x batch)."""
    keys = [f"b{number:04d}" for number in range(batches)]
    for number, key in enumerate(keys):
        manifest = {"key": key, "number": number, "sha256": f"{number:064x}", "files": []}
        (home.batches / key).mkdir(parents=True)
        replace_text(home.batches / key / "batch.json", json.dumps(manifest))
    with dagster_instance(home) as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, keys)
        for ranker in ["panel", *(f"judge-{number}" for number in range(1, rankers))]:
            for key in keys:
                partition = dg.MultiPartitionKey({"ranker": ranker, "report_batch": key})
                instance.report_runless_asset_event(
                    dg.AssetMaterialization(ASSET, partition=partition, metadata={"pairs": 1})
                )


def seconds_to_load() -> tuple[float, float, float]:
    """Median seconds that a fresh process needs to import Dagster, and in all to have every definition at
    hand; and of CPU.
    """
    times = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
        times.append([float(number) for number in done.stdout.split()])
    return median(t[0] for t in times), median(t[1] for t in times), median(t[2] for t in times)


def timed(ask: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a first and of a further call."""
    found = []
    for _ in range(2):
        begin = time.perf_counter()
        ask()
        found.append(time.perf_counter() - begin)
    return found[0], found[1]


def main(batches: int = 1000, rankers: int = 5) -> None:
    """Print the times for an empty home and for one with `batches` batches and `rankers` rankers."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        judges = Path(folder) / "judges.toml"
        judges.write_text(judges_file(rankers), encoding="utf-8")
        os.environ |= {"LUNGUAGE_HOME": str(home.root), "LUNGUAGE_JUDGES": str(judges)}
        prepare_dagster_home(home)
        print(
            "definitions, empty home: {1:.2f} s ({2:.2f} s of CPU), of them {0:.2f} s for "
            "Dagster itself".format(*seconds_to_load())
        )
        fill(home, batches, rankers)
        print(f"definitions, {batches} batches: " + "{1:.2f} s ({2:.2f} s of CPU)".format(*seconds_to_load()))
        schema = create_schema()
        target = ModuleTarget(
            "lunguage_assets.definitions", attribute=None, working_directory=None, location_name=None
        )
        with dagster_instance(home) as instance, WorkspaceProcessContext(instance, target) as process:
            context = process.create_request_context()
            for name, question in QUESTIONS.items():

                def ask(text: str = question % ASSET) -> None:
                    answer = asyncio.run(schema.execute_async(text, context_value=context))
                    assert not answer.errors, answer.errors

                print(f"{name}, {rankers} x {batches}: " + "{:.2f} s, then {:.2f} s".format(*timed(ask)))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
