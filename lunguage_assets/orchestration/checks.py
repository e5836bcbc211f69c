"""Asset checks: the expectation suite of every table, the conflict-free guarantees, the accounts.

A check reports on the partition of the run it is part of: which rule, how many rows, and the keys of failing rows. The guarantees are
blocking; they are also asserted before a table is stored and when the release reads it, because blocking checks do not reach
assets with other partitions.
"""

from collections.abc import Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.implicit.accounting import explained_studies
from lunguage_assets.implicit.guarantees import violations
from lunguage_assets.orchestration.checks_explicit import explicit_checks
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.quality.validation import EXAMPLES, RuleResult, validate
from lunguage_assets.tables import TABLES

REMEDY = "See which rule fails and for which rows; mend the delivered file or report the defect, then materialise this partition again."


def expectation_check(table: str, partitions: Partitions) -> dg.AssetChecksDefinition:
    """The table's Great Expectations suite as a check of the materialised partition."""

    @dg.asset_check(
        asset=dg.AssetKey(table),
        name="expectations",
        description=f"The rules of expectations/{table}.json: columns, types, empty values, codes, ranges, key, and rules written by hand.",
        partitions_def=partitions.of(table),
    )
    def expectations(context: dg.AssetCheckExecutionContext, frame: pd.DataFrame) -> dg.AssetCheckResult:
        return suite_result(validate(TABLES[table], frame), len(frame), partition_of(context))

    return expectations


def suite_result(results: Sequence[RuleResult], rows: int, partition: str) -> dg.AssetCheckResult:
    """A check result whose report is a table of failing rules with the keys of failing rows."""
    failing = [result for result in results if not result.success]
    metadata = {
        "partition": partition,
        "rows": rows,
        "rules": len(results),
        "failing_rules": len(failing),
        "report": dg.MetadataValue.md(_report(failing) if failing else f"All {len(results)} rules hold for {rows} rows."),
    }
    if failing:
        metadata["remedy"] = REMEDY
    return dg.AssetCheckResult(passed=not failing, severity=dg.AssetCheckSeverity.ERROR, metadata=metadata)


def _report(failing: Sequence[RuleResult]) -> str:
    lines = ["| rule | column | rows | keys |", "|---|---|---|---|"]
    lines += [f"| {r.rule} | {r.column} | {r.failing_rows} | {', '.join(r.failing_keys).replace('|', ' / ')} |" for r in failing]
    return "\n".join(lines)


def guarantee_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of implicit.md section 5."""

    @dg.asset_check(
        asset=dg.AssetKey("lunguage_plus_plus"),
        name="conflict_free",
        blocking=True,
        description=(
            "No finding twice at one place and time, no polarity clash, every generated row under a living parent and one stated root, "
            "every reference to an existing row, every delivered study present or explained."
        ),
        partitions_def=partitions.of("lunguage_plus_plus"),
        additional_ins={"accounting": dg.AssetIn(), "reports": dg.AssetIn(partition_mapping=partitions.batch_only)},
    )
    def conflict_free(
        context: dg.AssetCheckExecutionContext, frame: pd.DataFrame, accounting: pd.DataFrame, reports: pd.DataFrame
    ) -> dg.AssetCheckResult:
        found = violations(frame, reports["study_id"], explained_studies(accounting))
        lines = ["| guarantee | study | rows |", "|---|---|---|"]
        lines += [f"| {v.guarantee} | {v.study_id} | {', '.join(v.finding_ids[:5])} |" for v in found[:EXAMPLES]]
        metadata = {
            "partition": partition_of(context),
            "rows": len(frame),
            "violations": len(found),
            "report": dg.MetadataValue.md("\n".join(lines) if found else f"All guarantees hold for {len(frame)} rows."),
        }
        return dg.AssetCheckResult(passed=not found, severity=dg.AssetCheckSeverity.ERROR, metadata=metadata)

    @dg.asset_check(
        asset=dg.AssetKey("accounting"),
        name="accounts_balance",
        blocking=True,
        description="For every study: rows in = originals out + merged + removed + excluded + rejected; and every delivered study is listed.",
        partitions_def=partitions.of("accounting"),
        additional_ins={"reports": dg.AssetIn(partition_mapping=partitions.batch_only)},
    )
    def accounts_balance(context: dg.AssetCheckExecutionContext, frame: pd.DataFrame, reports: pd.DataFrame) -> dg.AssetCheckResult:
        unbalanced = frame.loc[~frame["balanced"], "study_id"].tolist()
        unlisted = sorted(set(reports["study_id"]) - set(frame["study_id"]))
        metadata = {
            "partition": partition_of(context),
            "studies": len(frame),
            "unbalanced": len(unbalanced),
            "unlisted": len(unlisted),
            "report": dg.MetadataValue.md(
                f"Unbalanced: {', '.join(unbalanced[:EXAMPLES]) or 'none'}. Delivered but not listed: {', '.join(unlisted[:EXAMPLES]) or 'none'}."
            ),
        }
        return dg.AssetCheckResult(passed=not unbalanced and not unlisted, severity=dg.AssetCheckSeverity.ERROR, metadata=metadata)

    return [conflict_free, accounts_balance]


def all_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    return [*(expectation_check(table, partitions) for table in TABLES), *guarantee_checks(partitions), *explicit_checks(partitions)]
