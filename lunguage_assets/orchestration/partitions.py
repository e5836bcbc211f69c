"""Partitions, and how those of one asset map to those of another.

Dagster's page is "Partitioning assets" (https://docs.dagster.io). A batch of reports is
a dynamic partition; structurers, judges and rankers come from the judges file. Dagster
joins the keys of a partition by `|`, ordered by the names of their dimensions, as
`Table.partitioned_by` is.
"""

from __future__ import annotations

import warnings

import dagster as dg

from lunguage_assets.judges.configuration import JudgesConfiguration

BATCH = "report_batch"

REPORT_BATCH = dg.DynamicPartitionsDefinition(name=BATCH)


class Partitions:
    """The partitions of a home's assets, and mappings between them.

    Between partitions of one dimension and of two Dagster finds the mapping itself.

    Attributes:
        batch: the deliveries.
        structurer: who turns text into rows.
        judge: who says which of two sentences is surer.
        ranker: whose answers make a ranking: the panel, or a judge alone.
        structurer_and_batch: both.
        judge_and_batch: both.
        ranker_and_batch: both.
        extractor: the one judge whose vocabulary is ranked.
        extractor_of_batch: of `judge_and_batch` the extractor's, for every ranker.
        members: the judges of a ranker.
    """

    def __init__(self, judges: JudgesConfiguration) -> None:
        # Partition mappings, partitioned checks and data versions warn at every use.
        # The range of Dagster's versions in pyproject.toml bounds what may change.
        warnings.filterwarnings("ignore", category=dg.BetaWarning)
        warnings.filterwarnings("ignore", category=dg.PreviewWarning)
        self.batch = REPORT_BATCH
        self.structurer = dg.StaticPartitionsDefinition(list(judges.structurers))
        self.judge = dg.StaticPartitionsDefinition(list(judges.active_judges))
        self.ranker = dg.StaticPartitionsDefinition(list(judges.rankers))
        self.structurer_and_batch = _and_batch("structurer", self.structurer)
        self.judge_and_batch = _and_batch("judge", self.judge)
        self.ranker_and_batch = _and_batch("ranker", self.ranker)

        self.extractor = dg.SpecificPartitionsPartitionMapping([judges.extractor])
        self.extractor_of_batch = dg.MultiPartitionMapping(
            {
                BATCH: dg.DimensionPartitionMapping(
                    BATCH, dg.IdentityPartitionMapping()
                ),
                "judge": dg.DimensionPartitionMapping("ranker", self.extractor),
            }
        )
        rankers_by_judge: dict[str, list[str]] = {}
        for ranker in judges.rankers:
            for judge in judges.members(ranker):
                rankers_by_judge.setdefault(judge, []).append(ranker)
        self.members = dg.StaticPartitionMapping(rankers_by_judge)


def _and_batch(
    name: str, partitions: dg.StaticPartitionsDefinition
) -> dg.MultiPartitionsDefinition:
    return dg.MultiPartitionsDefinition({name: partitions, BATCH: REPORT_BATCH})
