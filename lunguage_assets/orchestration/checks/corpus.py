"""Check of what a delivery brought: how much of it could be used, and what to mend in the rest."""

import dagster as dg
import pandas as pd

from lunguage_assets.orchestration.checks.report import examples, markdown, result, where_stored
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check


def corpus_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    @asset_check(
        asset=dg.AssetKey("rejected"),
        name="intake_accepted",
        description="Few of the delivered rows were rejected; the reasons say what to mend.",
        partitions_def=partitions.of("rejected"),
        additional_ins={"reports": dg.AssetIn()},
    )
    def intake_accepted(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame, reports: pd.DataFrame
    ) -> dg.AssetCheckResult:
        delivered = int(reports["rows_delivered"].sum()) + int((frame["study_id"] == "").sum())
        share = len(frame) / delivered if delivered else 0.0
        limit = home.settings.checks.rejected_share
        reasons = [
            (
                reason,
                len(rows),
                rows["expected"].iloc[0],
                rows["remedy"].iloc[0],
                examples(_lines(rows.head(3))),
            )
            for reason, rows in sorted(
                frame.groupby("reason", sort=False), key=lambda group: (-len(group[1]), group[0])
            )
        ]
        return result(
            context,
            share <= limit,
            {
                "rows_delivered": delivered,
                "rejected": len(frame),
                "rejected_share": share,
                "allowed_share": limit,
                "report": markdown(
                    ["reason", "rows", "expected", "what to do", "for instance"],
                    reasons,
                    "Every delivered row was accepted.",
                ),
                "examples": examples(_lines(frame)),
                **where_stored(context, home.home, "rejected"),
            },
            "Mend the rows as the table says and deliver them as a new batch: the table "
            "`rejected` has each of them in its column `content`. If nearly all rows "
            "share one reason, the export writes a column in another form: mend the export, and "
            "deliver everything again. The rows that were "
            "accepted stay valid.",
        )

    return [intake_accepted]


def _lines(rows: pd.DataFrame) -> list[str]:
    return [f"{file}:{line}" for file, line in zip(rows["file"], rows["line"], strict=True)]
