"""Findings over time, of a ranker over all its batches (implicit.md section 9).

The batches are read a part at a time by SQL, as the release reads them.
"""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from upath import UPath

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.home.record import encode
from lunguage_assets.home.store import partition_path, read_sound_table
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.implicit.statements.courses import course_counts, finding_courses
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.orchestration.assets.release import querying, stored_batches
from lunguage_assets.orchestration.metadata import picture, rows_table, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.pictures.course_bars import course_bars
from lunguage_assets.release.bundle.newest import NewestStudies
from lunguage_assets.tables import FINDING_COURSES, REFERENCE_RANKING, TERMS

STEP = FINDING_COURSES.name


def course_assets(partitions: Partitions, tables_root: Path | UPath, group: str) -> list[dg.AssetsDefinition]:
    """The table of each ranker, made on request."""

    deps = [
        dg.AssetDep(wanted.table, partition_mapping=partitions.mapping(STEP, wanted))
        for wanted in RECIPES[STEP].inputs
        if not wanted.side
    ]
    outs = {STEP: dg.AssetOut(code_version=RECIPES[STEP].code, **table_options(STEP, group))}

    @dg.multi_asset(name=STEP, partitions_def=partitions.of(STEP), deps=deps, outs=outs)
    def write_finding_courses(context: dg.AssetExecutionContext, home: HomeResource) -> Iterator[dg.Output]:
        ranker, root = context.partition_key, UPath(tables_root)
        with plain_failures():
            now = home.standings()
            made_of = now.made_of(STEP, (ranker,))
            ranking = read_sound_table(
                REFERENCE_RANKING, partition_path(root, REFERENCE_RANKING.name, ranker)
            )
            batches, missing = stored_batches(root, ranker, now.batches)
            dictionary = load_dictionary(home.home.pathways_file, Vocabulary.from_terms(TERMS.frame()))
            with querying(home.home.root) as connection:
                studies = NewestStudies(connection, batches)
                courses = finding_courses(
                    (
                        (tables["reports"], tables["lunguage_plus_plus"])
                        for tables in studies.parts("patient", ("reports", "lunguage_plus_plus"))
                    ),
                    load_label_list(None, dictionary),
                    str(ranking["ranking_version"].iloc[0]),
                )
            table = encode(FINDING_COURSES, courses, (ranker,), made_of)
        counted = course_counts(courses)
        yield dg.Output(
            table,
            STEP,
            metadata={
                "counts": rows_table(counted, list(counted.columns)),
                "plot": picture(course_bars(counted)),
                "batches_not_included": ", ".join(missing) or "none",
            },
            data_version=dg.DataVersion(table.record.version),
        )

    return [write_finding_courses]
