"""Whatever is missing or stale, every stage of a plan finds what it reads, and none is
planned twice.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.lineage.recipes import (
    BATCH,
    RECIPES,
    RELEASE,
    STEP_OF,
    STEPS_OF_JOB,
    STRUCTURER,
    dimensions_of,
)
from lunguage_assets.lineage.run_plan import Stage, plan
from lunguage_assets.lineage.staleness import (
    CURRENT,
    MISSING,
    Staleness,
    StalenessChecker,
)
from lunguage_assets.packaged_data import resource
from lunguage_assets.workspace.home import Home

BATCHES = ["a", "b"]
OWNERS = ["lexicon", "cues", "new", "panel"]
STALE = Staleness("stale", ("something changed",))


@cache
def with_a_candidate() -> JudgesConfiguration:
    """The offline judges, and judge `new` beside the panel."""
    preset = '[presets.offline]\npanel = "offline"\n'
    text = (
        resource("judges.toml")
        .read_text()
        .replace(preset, preset + 'candidates = ["new"]\n')
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "judges.toml"
        file.write_text(
            text + '\n[judges.new]\nprovider = "cues"\ndescription = "Just added."\n'
        )
        return load_judges(file)


class Supposed(StalenessChecker):
    """StalenessChecker by step and keys; what is not named is current."""

    def __init__(self, by_step: dict[tuple[str, ...], Staleness]) -> None:
        super().__init__(Home(Path("nowhere")), with_a_candidate())
        self.by_step = by_step
        self.batches = BATCHES

    def is_text(self, batch: str) -> bool:
        return batch == "b"  # raw reports; the other one is of findings

    def _of(self, table: str, *keys: str) -> Staleness:
        return self.by_step.get((STEP_OF[table], *keys), CURRENT)


PLACES = [
    (step, *keys)
    for step, recipe in RECIPES.items()
    for keys in {
        ("judge", BATCH): [(judge, batch) for judge in OWNERS[:3] for batch in BATCHES],
        ("ranker", BATCH): [(ranker, batch) for ranker in OWNERS for batch in BATCHES],
        (STRUCTURER, BATCH): [("rules", "b")],
        ("judge",): [(judge,) for judge in OWNERS[:3]],
        ("ranker",): [(ranker,) for ranker in OWNERS],
        (BATCH,): [(batch,) for batch in BATCHES],
    }[recipe.dimensions]
]
supposed = st.dictionaries(
    st.sampled_from(PLACES), st.sampled_from([MISSING, STALE])
).map(Supposed)


def made_by(stage: Stage) -> list[tuple[str, ...]]:
    return [(step, *stage.keys) for step in STEPS_OF_JOB[stage.job]]


@given(staleness=supposed, ranker=st.sampled_from(OWNERS), rebuild=st.booleans())
def test_every_stage_of_a_plan_finds_what_it_reads_current(
    staleness: Supposed, ranker: str, rebuild: bool
) -> None:
    stages = plan(staleness, ranker, rebuild=rebuild)
    assert len(set(stages)) == len(stages)
    done: set[tuple[str, ...]] = set()
    for stage in stages:
        for step, *keys in made_by(stage):
            for source, source_keys in staleness.inputs(step, tuple(keys)):
                if source.on_request or step == RELEASE:
                    continue
                partition_read = (STEP_OF[source.table], *source_keys)
                assert partition_read in done or staleness.is_current(
                    source.table, *source_keys
                ), (
                    stage,
                    partition_read,
                )
            done.add((step, *keys))


@given(staleness=supposed, rebuild=st.booleans())
def test_a_run_for_a_candidate_touches_no_other_judge(
    staleness: Supposed, rebuild: bool
) -> None:
    shared = (
        "read_reports",
        "structure",
        "ingest",
        "extract_hedges",
        "build_vocabulary",
    )
    for stage in plan(staleness, "new", rebuild=rebuild):
        assert "new" in stage.keys or stage.job in shared, stage


@given(staleness=supposed)
def test_what_is_planned_is_all_there_is_to_do(staleness: Supposed) -> None:
    """After the plan's stages, nothing is planned."""
    stages = plan(staleness, "panel")
    done = {partition for stage in stages for partition in made_by(stage)}
    after = Supposed(
        {
            partition: state
            for partition, state in staleness.by_step.items()
            if partition not in done
        }
    )
    assert plan(after, "panel") == []


def test_only_a_batch_of_raw_reports_is_read_and_structured() -> None:
    missing = Supposed(dict.fromkeys(PLACES, MISSING))
    stages = [(stage.job, stage.keys) for stage in plan(missing, "panel")]
    assert [stage for stage in stages if stage[0] in ("read_reports", "structure")] == [
        ("read_reports", ("b",)),
        ("structure", ("rules", "b")),
    ]
    assert stages.index(("structure", ("rules", "b"))) < stages.index(
        ("ingest", ("b",))
    )


def test_a_table_and_its_step_have_the_same_partitions() -> None:
    for recipe in RECIPES.values():
        assert {dimensions_of(table) for table in recipe.tables} == {recipe.dimensions}
