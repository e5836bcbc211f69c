"""Checks that say which batches were made with another ranking, other settings or other files than the
present ones, and what to do about it.

A new ranking makes no batch be fitted again, nor do changed settings: that may cost money, and a person
decides. `fits_current` looks at all batches of a ranker, when its ranking is made and at every release;
`ranking_current` says the same of one batch, on its fits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
import pandas as pd

from lunguage_assets.orchestration.checks.report import markdown, note_beside, result_for
from lunguage_assets.orchestration.inventory import Inventory
from lunguage_assets.orchestration.latest import latest_records, noted
from lunguage_assets.orchestration.metadata import plain_failures
from lunguage_assets.orchestration.partitions import REPORT_BATCH, Partitions, partition_of
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check

FITS_CURRENT = dg.AssetCheckKey(dg.AssetKey("reference_ranking"), "fits_current")
RANKING_CURRENT = dg.AssetCheckKey(dg.AssetKey("fitted_probabilities"), "ranking_current")

SHOWN = 50
"""Batches listed in a report."""

REMEDY = (
    "Fit these batches again: launch the job `refit` on their partitions (a backfill, for "
    "several), or `lunguage run`, which does it for all. "
    "Ask `lunguage estimate` first when language models judge. A release that would mix two "
    "rankings is refused."
)

REMEDY_FOR_ALL = (
    "Launch the job `everything`, or run `lunguage run` on any batch: both make again what "
    "is stale, from the phrases on where corrections.csv has "
    "changed. Ask `lunguage estimate` first when language models judge. Until then a release "
    "of these batches is refused."
)


@dataclass(frozen=True)
class Standing:
    """With which ranking a batch's fits, and the result that came of them, were made (empty: there are none),
    and with what else that has changed.
    """

    batch: str
    fits: str
    result: str
    outdated: tuple[str, ...] = ()

    def is_stale(self, version: str) -> bool:
        """Whether something was made with another ranking than this one, or with what has changed; what is
        missing is not stale.
        """
        return bool(self.outdated) or any(
            made_with not in ("", version) for made_with in (self.fits, self.result)
        )


def standings(
    instance: dg.DagsterInstance, ranker: str, outdated: Callable[[str], Sequence[str]] = lambda _: ()
) -> list[Standing]:
    """Every registered batch of a ranker; `outdated` tells of a batch what else has changed
    (`Inventory.outdated`).
    """
    batches = instance.get_dynamic_partitions(REPORT_BATCH.name)
    keys = {f"{ranker}|{batch}" for batch in batches}
    fits, results = (
        _versions(latest_records(instance, table, keys))
        for table in ("fitted_probabilities", "lunguage_plus_plus")
    )
    return [
        Standing(
            batch, fits.get(key, ""), results.get(key, ""), tuple(outdated(batch)) if key in results else ()
        )
        for batch, key in ((batch, f"{ranker}|{batch}") for batch in batches)
    ]


def stale_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """The two checks; both only warn, for every table by itself is right."""

    @asset_check(
        asset=FITS_CURRENT.asset_key,
        name=FITS_CURRENT.name,
        description="Every batch that this ranker has fitted was made with its present ranking, and with the "
        "present settings, pathways and corrections.",
        partitions_def=partitions.of("reference_ranking"),
    )
    def fits_current(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        ranker, version = partition_of(context), version_of(frame)
        with plain_failures():
            there = Inventory(home.home, context.instance, home.judges)
            known = standings(context.instance, ranker, lambda batch: there.outdated(ranker, batch))
        if _made_here(context, ranker):
            mark(context.instance, context.run, ranker, version, known)
        return told(ranker, version, known)

    @asset_check(
        asset=RANKING_CURRENT.asset_key,
        name=RANKING_CURRENT.name,
        description="The batch was fitted with its ranker's present ranking.",
        partitions_def=partitions.of("fitted_probabilities"),
        additional_ins={"reference_ranking": dg.AssetIn(partition_mapping=partitions.ranker_only)},
    )
    def ranking_current(
        context: dg.AssetCheckExecutionContext, frame: pd.DataFrame, reference_ranking: pd.DataFrame
    ) -> dg.AssetCheckResult:
        present = version_of(reference_ranking)
        made_with = (
            version_of(frame) or present
        )  # without a tentative finding there is nothing that a ranking could change
        return _of_one_batch(partition_of(context), made_with, present)

    return [fits_current, ranking_current]


def told(ranker: str, version: str, known: list[Standing]) -> dg.AssetCheckResult:
    """The result of `fits_current`: which batches are stale, and what to do."""
    stale = [standing for standing in known if standing.is_stale(version)]
    rows = [
        (
            standing.batch,
            standing.fits or "none",
            standing.result or "none",
            ", ".join(standing.outdated) or "nothing",
        )
        for standing in stale
    ]
    more = [(f"and {len(stale) - SHOWN} more", "", "", "")] if len(stale) > SHOWN else []
    metadata = {
        "present_ranking": version,
        "batches": len(known),
        "stale": len(stale),
        "not_fitted": sum(standing.fits == "" for standing in known),
        "report": markdown(
            ["batch", "ranking of its fits", "ranking of its result", "what else has changed since"],
            rows[:SHOWN] + more,
            "All fits are of the present ranking, and nothing else has changed since.",
        ),
    }
    return result_for(
        ranker,
        not stale,
        metadata,
        REMEDY_FOR_ALL if any(standing.outdated for standing in stale) else REMEDY,
    )


def mark(
    instance: dg.DagsterInstance, run: dg.DagsterRun, ranker: str, version: str, known: list[Standing]
) -> None:
    """Note beside the fits of every batch whether they are of the present ranking: no run of their own would
    tell.
    """
    fitted = {f"{ranker}|{standing.batch}": standing.fits for standing in known if standing.fits}
    for key, record in sorted(latest_records(instance, "fitted_probabilities", set(fitted)).items()):
        note_beside(instance, run, RANKING_CURRENT, record, _of_one_batch(key, fitted[key], version))


def version_of(frame: pd.DataFrame) -> str:
    """The ranking version that a table names; empty for an empty table."""
    return str(frame["ranking_version"].iloc[0]) if len(frame) else ""


def _versions(records: Mapping[str, dg.EventLogRecord]) -> dict[str, str]:
    return {key: str(noted(record).get("ranking_version", "")) for key, record in records.items()}


def _made_here(context: dg.AssetCheckExecutionContext, ranker: str) -> bool:
    """Whether the run that this check is part of has made the ranking."""
    records = latest_records(context.instance, FITS_CURRENT.asset_key.path[-1], {ranker})
    return ranker in records and records[ranker].run_id == context.run.run_id


def _of_one_batch(key: str, made_with: str, present: str) -> dg.AssetCheckResult:
    return result_for(
        key, made_with == present, {"made_with_ranking": made_with, "present_ranking": present}, REMEDY
    )
