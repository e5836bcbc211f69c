"""Asset checks: the expectation suite of every table, the conflict-free guarantees, the accounts.

A check reports on the partition of the run it is part of: which rule, how many rows, and the keys of failing
rows. The guarantees are blocking; they are also asserted before a table is stored and when the release reads
it, because blocking checks do not reach assets with other partitions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.implicit.resolution.accounting import explained_studies
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.orchestration.checks.beliefs import belief_checks
from lunguage_assets.orchestration.checks.corpus import corpus_checks
from lunguage_assets.orchestration.checks.drift import drift_checks
from lunguage_assets.orchestration.checks.explicit import explicit_checks
from lunguage_assets.orchestration.checks.judges import judge_checks
from lunguage_assets.orchestration.checks.report import EXAMPLES, examples, markdown, result, where_stored
from lunguage_assets.orchestration.checks.stale import stale_checks
from lunguage_assets.orchestration.jobs import STAGES
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check
from lunguage_assets.quality.validation import RuleResult, validate
from lunguage_assets.tables import TABLES

JOB_OF = {table: job for job, (_, tables) in reversed(STAGES.items()) for table in tables}
"""Table -> the first of the jobs that make it."""

_RESOLVE_AGAIN = (
    "Launch `expand` for this ranker and batch: it stores nothing unless every guarantee "
    "holds, so the file was changed after it was stored. If it is refused "
    "there, too, report it with the keys. The release leaves this result alone until then: "
    "it asserts the same."
)
_ACCOUNT_AGAIN = (
    "Launch `expand` for this ranker and batch. If studies are still not accounted for, "
    "report it with their ids: rows were lost or "
    "doubled, and the result must not be used."
)


def expectation_check(table: str, partitions: Partitions) -> dg.AssetChecksDefinition:
    """The table's Great Expectations suite as a check of the materialised partition."""

    @asset_check(
        asset=dg.AssetKey(table),
        name="expectations",
        description=f"The rules of expectations/{table}.json: columns, empty values, codes, ranges, forms, "
        "keys, and rules written by hand.",
        partitions_def=partitions.of(table),
    )
    def expectations(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        results = validate(TABLES[table], frame, JOB_OF[table])
        return suite_result(context, results, len(frame), where_stored(context, home.home, table))

    return expectations


def suite_result(
    context: dg.AssetCheckExecutionContext, results: Sequence[RuleResult], rows: int, links: Mapping[str, Any]
) -> dg.AssetCheckResult:
    """A check result whose report is a table of failing rules with the keys of failing rows."""
    failing = [r for r in results if not r.success]
    report = markdown(
        ["rule", "column", "rows", "keys", "why", "what to do"],
        ((r.rule, r.column, r.failing_rows, examples(r.failing_keys), r.why, r.remedy) for r in failing),
        f"All {len(results)} rules hold for {rows} rows.",
    )
    metadata = {"rows": rows, "rules": len(results), "failing_rules": len(failing), "report": report, **links}
    remedy = " ".join(dict.fromkeys(r.remedy for r in failing))
    return result(context, not failing, metadata, remedy, dg.AssetCheckSeverity.ERROR)


_ACCOUNT = (
    "study_id",
    "rows_in",
    "originals_out",
    "merged",
    "removed",
    "excluded",
    "rejected",
    "generated",
    "discarded",
    "rows_out",
)


def guarantee_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of implicit.md section 5."""

    @asset_check(
        asset=dg.AssetKey("lunguage_plus_plus"),
        name="conflict_free",
        blocking=True,
        description=(
            "No finding twice at one place and time, no polarity clash, every generated row "
            "under a living parent and one stated root, "
            "every reference to an existing row, every delivered study present or explained."
        ),
        partitions_def=partitions.of("lunguage_plus_plus"),
        additional_ins={
            "accounting": dg.AssetIn(),
            "reports": dg.AssetIn(partition_mapping=partitions.batch_only),
        },
    )
    def conflict_free(
        context: dg.AssetCheckExecutionContext,
        home: HomeResource,
        frame: pd.DataFrame,
        accounting: pd.DataFrame,
        reports: pd.DataFrame,
    ) -> dg.AssetCheckResult:
        found = violations(frame, reports["study_id"], explained_studies(accounting))
        metadata = {
            "rows": len(frame),
            "violations": len(found),
            "report": markdown(
                ["guarantee", "study", "rows"],
                ((v.guarantee, v.study_id, examples(v.finding_ids)) for v in found[:EXAMPLES]),
                f"All guarantees hold for {len(frame)} rows.",
            ),
            **where_stored(context, home.home, "lunguage_plus_plus"),
        }
        return result(context, not found, metadata, _RESOLVE_AGAIN, dg.AssetCheckSeverity.ERROR)

    @asset_check(
        asset=dg.AssetKey("accounting"),
        name="accounts_balance",
        blocking=True,
        description="For every study: rows in = originals out + merged + removed + excluded + rejected; and "
        "every delivered study is listed.",
        partitions_def=partitions.of("accounting"),
        additional_ins={"reports": dg.AssetIn(partition_mapping=partitions.batch_only)},
    )
    def accounts_balance(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame, reports: pd.DataFrame
    ) -> dg.AssetCheckResult:
        unbalanced = frame[~frame["balanced"]]
        unlisted = sorted(set(reports["study_id"]) - set(frame["study_id"]))
        rows = [
            (study or "unreadable study ids", *numbers)
            for study, *numbers in unbalanced[list(_ACCOUNT)].itertuples(index=False)
        ]
        rows += [(study, "not listed", *[""] * (len(_ACCOUNT) - 2)) for study in unlisted]
        metadata = {
            "studies": len(frame),
            "unbalanced": len(unbalanced),
            "unlisted": len(unlisted),
            "report": markdown(_ACCOUNT, rows[:EXAMPLES], f"The accounts of {len(frame)} studies balance."),
            **where_stored(context, home.home, "accounting"),
        }
        return result(context, not rows, metadata, _ACCOUNT_AGAIN, dg.AssetCheckSeverity.ERROR)

    return [conflict_free, accounts_balance]


def all_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """Every check that is not made by an asset itself."""
    return [
        *(expectation_check(table, partitions) for table in TABLES),
        *guarantee_checks(partitions),
        *corpus_checks(partitions),
        *explicit_checks(partitions),
        *judge_checks(partitions),
        *belief_checks(partitions),
        *drift_checks(partitions),
        *stale_checks(partitions),
    ]
