"""Checks that compare a batch with the batches registered before it: the distribution of p, how often
diagnoses expand, what intake met.

They warn: other reports may differ from earlier ones for good reasons, and a person should know which. A
first batch passes with a note.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.checks.report import markdown, partition_keys, result, where_stored
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check
from lunguage_assets.quality.drift import Sample, ShareShift, distribution_shift, share_shifts
from lunguage_assets.quality.earlier import Earlier, batches_before, earlier_rows
from lunguage_assets.quality.measures import (
    FINDING_COLUMNS,
    MATCH_COLUMNS,
    P_COLUMNS,
    REPORT_COLUMNS,
    expansion_shares,
    intake_shares,
    p_sample,
    without,
)
from lunguage_assets.settings import CheckSettings

FIRST = (
    "Nothing to compare with: no earlier batch is stored. The batches that follow are compared with this one."
)


def drift_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    @asset_check(
        asset=dg.AssetKey("fitted_probabilities"),
        name="p_drift",
        description="The p of tentative findings are distributed as in earlier batches of the same ranker "
        "and ranking.",
        partitions_def=partitions.of("fitted_probabilities"),
    )
    def p_drift(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        settings, keys = home.settings.checks, partition_keys(context, "fitted_probabilities")
        found = _earlier(home.home, "fitted_probabilities", P_COLUMNS, keys, settings)
        same_ranking = found.frame[
            found.frame["ranking_version"].isin(set(frame["ranking_version"])).to_numpy(dtype=bool)
        ]
        new, earlier = p_sample(frame), p_sample(without(same_ranking, frame))
        shift = distribution_shift(new, earlier, settings)
        if shift is None:
            return result(
                context, True, {"note": FIRST, **where_stored(context, home.home, "fitted_probabilities")}, ""
            )
        return result(
            context,
            not shift.drifted,
            {
                "distance": shift.distance,
                "p_value": shift.p_value,
                "compared_with": ", ".join(
                    sorted(set(same_ranking["report_batch"]), key=found.batches.index)
                ),
                "report": _distributions(new, earlier, shift.effective, shift.effective_earlier),
                **where_stored(context, home.home, "fitted_probabilities"),
            },
            "Look at the histograms of p of this batch and of an earlier one, then at "
            "`pairs_informed` and `pairs_reviewed`: another hospital or "
            "another way of reporting is a reason, a judge that answers otherwise than before "
            "(`judge_alive`, `position_bias`) or phrases cut "
            "otherwise are faults. If the reports are right, launch `build_vocabulary`, "
            "`compare` and `rank`, so that the ranking knows their phrases.",
        )

    @asset_check(
        asset=dg.AssetKey("pathway_matches"),
        name="expansion_drift",
        description="Diagnoses expand as often as in earlier batches, where they could and over all studies.",
        partitions_def=partitions.of("pathway_matches"),
    )
    def expansion_drift(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        keys = partition_keys(context, "pathway_matches")
        found = _earlier(home.home, "pathway_matches", MATCH_COLUMNS, keys, home.settings.checks)
        shifts = share_shifts(expansion_shares(frame, without(found.frame, frame)), home.settings.checks)
        return _shares_result(
            context,
            shifts,
            found,
            "Diagnoses that expand less often where they could: look at the reasons of "
            "pathway_matches, most often views that are not known (deliver the "
            "metadata file, or set default_view). Diagnoses that expand in fewer studies: names "
            "may not be recognised (deliver "
            "Lunguage_vocab.csv) or the reports are of other patients. Then launch `ingest`, "
            "`fit` and `expand` for this batch.",
            where_stored(context, home.home, "pathway_matches"),
        )

    @asset_check(
        asset=dg.AssetKey("reports"),
        name="intake_drift",
        description="Rejected rows, unknown views, tentative findings and findings that are not in their "
        "sentence are as frequent as in earlier batches.",
        partitions_def=partitions.of("reports"),
        additional_ins={"findings": dg.AssetIn()},
    )
    def intake_drift(
        context: dg.AssetCheckExecutionContext,
        home: HomeResource,
        frame: pd.DataFrame,
        findings: pd.DataFrame,
    ) -> dg.AssetCheckResult:
        keys, settings = partition_keys(context, "reports"), home.settings.checks
        reports = _earlier(home.home, "reports", REPORT_COLUMNS, keys, settings)
        rows = _earlier(home.home, "findings", FINDING_COLUMNS, keys, settings)
        shares = intake_shares(frame, findings, without(reports.frame, frame), without(rows.frame, findings))
        return _shares_result(
            context,
            share_shifts(shares, settings),
            reports,
            "Compare the delivery with an earlier one: a changed export often loses the metadata "
            "file (views), changes a code (rejected rows, see the check "
            "`intake_accepted`), or gives another column as the finding (findings that are not "
            "in their sentence). Deliver what is missing as a "
            "new batch. If the reports are right, nothing is to be done.",
            where_stored(context, home.home, "reports"),
        )

    return [p_drift, expansion_drift, intake_drift]


def _earlier(
    home: Home, table: str, columns: Sequence[str], keys: dict[str, str], settings: CheckSettings
) -> Earlier:
    others = {dimension: key for dimension, key in keys.items() if dimension != "report_batch"}
    return earlier_rows(
        home, table, columns, batches_before(home, keys["report_batch"], settings.earlier_batches), **others
    )


def _shares_result(
    context: dg.AssetCheckExecutionContext,
    shifts: Sequence[ShareShift],
    found: Earlier,
    remedy: str,
    links: dict[str, Any],
) -> dg.AssetCheckResult:
    if not found.batches:
        return result(context, True, {"note": FIRST, **links}, "")
    drifted = [shift for shift in shifts if shift.drifted]
    return result(
        context,
        not drifted,
        {
            "compared": len(shifts),
            "drifted": len(drifted),
            "compared_with": ", ".join(found.batches),
            "report": markdown(
                ["share of studies", "this batch", "earlier", "difference (Cohen's h)", "p value (Holm)", ""],
                (
                    _share_row(shift)
                    for shift in sorted(
                        shifts, key=lambda shift: (not shift.drifted, shift.p_value, shift.share.label)
                    )
                ),
                "Nothing that could be compared occurs in this batch and in earlier ones.",
            ),
            **links,
        },
        remedy,
    )


def _share_row(shift: ShareShift) -> tuple[object, ...]:
    share = shift.share
    return (
        share.label,
        f"{share.hits} of {share.studies} ({share.hits / share.studies:.1%})",
        f"{share.hits_earlier} of {share.studies_earlier} ({share.hits_earlier / share.studies_earlier:.1%})",
        f"{shift.effect:+.2f}",
        f"{shift.p_value:.2g}",
        "drift" if shift.drifted else "",
    )


def _distributions(
    new: Sample, earlier: Sample, effective: float, effective_earlier: float
) -> dg.MetadataValue:
    rows = []
    for label, sample, worth in (
        ("this batch", new, effective),
        ("earlier batches", earlier, effective_earlier),
    ):
        low, middle, high = np.quantile(sample.values, [0.1, 0.5, 0.9])
        mean, sd = sample.values.mean(), sample.values.std()
        rows.append(
            (
                label,
                len(sample.values),
                f"{worth:.0f}",
                *(f"{value:.3f}" for value in (mean, sd, low, middle, high)),
            )
        )
    return markdown(["", "pairs", "worth (studies counted)", "mean", "sd", "10%", "median", "90%"], rows)
