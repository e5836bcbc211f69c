"""Asset checks. Each is something that a person acts on, and its `remedy` says how.

An asset names its checks in `table_asset` (`outputs.py`) and returns their results with
its tables, as Dagster's page on asset checks shows for checks that run with their
asset. They look at tables before those are stored: a check that runs afterwards could
only report, and the UI cannot execute one partition's check alone.

Only `conflict_free` blocks. What people expect of a table stands in `expectations/`
and only warns; rules that rows must hold (`quality.rules`) are no checks, because
nothing that breaks one is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.distilled.learning import shortcomings
from lunguage_assets.implicit.resolution.guarantees import (
    GUARANTEES,
    violations_between,
)
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.trust import doubt
from lunguage_assets.orchestration.metadata import listing
from lunguage_assets.quality.rules import InvalidStudy, Tables, broken_studies
from lunguage_assets.quality.suites import examined, suite_file
from lunguage_assets.tables import TABLES
from lunguage_assets.wording import examples
from lunguage_assets.workspace.versions import changes_since_sealing, sealed_versions

WARN = dg.AssetCheckSeverity.WARN
ERROR = dg.AssetCheckSeverity.ERROR
TOLD = 5
"""Problems of a check that its summary tells."""


def check_result(
    name: str,
    problems: Sequence[str],
    metadata: Mapping[str, Any],
    remedy: str,
    severity: dg.AssetCheckSeverity = WARN,
) -> dg.AssetCheckResult:
    """Return the result of a check.

    Args:
        name: of the check.
        problems: why it did not pass; the first of them are told. None: it passed.
        metadata: what was looked at.
        remedy: what to do where it did not pass; shown only then.
        severity: of a check that does not pass.
    """
    return dg.AssetCheckResult(
        check_name=name,
        passed=not problems,
        metadata={**metadata, "remedy": remedy} if problems else metadata,
        description="; ".join(problems[:TOLD]) or None,
        severity=severity,
    )


def expectations(
    configuration: Configuration, table: str, frame: pd.DataFrame
) -> dg.AssetCheckResult:
    """What people expect of the table: expectations/<table>.yaml.

    Args:
        configuration: of a home, which may have files of its own.
        table: whose rows they are.
        frame: the rows.
    """
    file = suite_file(table, configuration.home.root)
    try:
        outcomes = examined(TABLES[table], frame, file)
    # A file that was edited wrongly warns, and does not end the run.
    except LunguageError as error:
        remedy = "Fix the file, and launch this again."
        return check_result("expectations", [str(error)], {}, remedy)
    rows = [
        {
            "expected": outcome.why,
            "observed": outcome.observed,
            "keys": examples(outcome.keys),
            "what to do": outcome.remedy,
        }
        for outcome in outcomes
        if not outcome.is_met
    ]
    problems = [
        f"{row['expected'].rstrip('.')}: {row['observed']}. {row['what to do']}"
        for row in rows
    ]
    metadata = {
        "expectations": len(outcomes),
        "file": dg.MetadataValue.path(str(file)),
        "report": listing(rows, "All is as expected."),
    }
    remedy = "Do what the report says of each expectation."
    return check_result("expectations", problems, metadata, remedy)


def intake_accepted(
    configuration: Configuration, rejected: pd.DataFrame, reports: pd.DataFrame
) -> dg.AssetCheckResult:
    """Few of the delivered rows were rejected; the reasons say what to correct.

    Args:
        configuration: with the share that is allowed.
        rejected: REJECTED of the batch.
        reports: REPORTS of the batch.
    """
    # A rejected row without a study is counted in no report.
    without_study = (rejected["study_id"] == "").sum()
    delivered = int(reports["rows_delivered"].sum() + without_study)
    allowed = configuration.settings.checks.rejected_share
    problems = []
    if len(rejected) > allowed * delivered:
        problems.append(f"{len(rejected):,} of {delivered:,} rows were rejected")
    # The most frequent reason first: often one column of the export is wrong.
    by_reason = rejected.value_counts(["reason", "expected", "remedy"])
    rows = by_reason.reset_index(name="rows").to_dict("records")
    metadata = {
        "rejected": len(rejected),
        "delivered": delivered,
        "allowed_share": allowed,
        "report": listing(rows, "Every row was accepted."),
        "examples": examples(rejected["file"] + ":" + rejected["line"].astype(str)),
    }
    remedy = (
        "Correct the rows as the table says and deliver them as a new batch: the "
        "table `rejected` has each of them in its column `content`. If nearly all "
        "rows share one reason, correct the export, and deliver everything again. "
        "Accepted rows stay valid."
    )
    return check_result("intake_accepted", problems, metadata, remedy)


def answers_usable(
    configuration: Configuration, totals: Sequence[Progress]
) -> dg.AssetCheckResult:
    """Few replies, which are paid, could not be used; no judge prefers a position."""
    replies = sum(judge.calls - judge.failures for judge in totals)
    unusable = sum(judge.invalid for judge in totals)
    allowed = configuration.settings.checks.unusable_share
    problems = []
    if unusable > allowed * replies:
        problems.append(
            f"{unusable:,} of {replies:,} replies of language models, which are paid, "
            "could not be used"
        )
    problems += [
        f"judge {judge.judge!r}: {doubt(judge)}" for judge in totals if doubt(judge)
    ]
    metadata = {"replies": replies, "unusable": unusable, "allowed_share": allowed}
    remedy = (
        "Unusable replies are paid, and the question is asked again, up to four times: "
        "see `lunguage ledger stats`; a higher limit on output tokens or mode 'enum' "
        "often helps. Let a judge that prefers a position be asked in both orders "
        '(order = "both"). Give the changed judge a new key, or leave it out of the '
        "preset."
    )
    return check_result("answers_usable", problems, metadata, remedy)


def as_good_as_the_panel(scorer: pd.DataFrame) -> dg.AssetCheckResult:
    """The distilled model errs little on phrases that it had not seen.

    And its intervals hold there.
    """
    remedy = (
        "What it says is less than what the panel says. Let the panel fit more "
        "sentences of such phrases (docs/distilled.md), then `lunguage distill` again; "
        "or name a larger encoder."
    )
    return check_result("as_good_as_the_panel", shortcomings(scorer), {}, remedy)


def conflict_free(
    configuration: Configuration,
    tables: Tables,
    broken_rules: Sequence[InvalidStudy] | None = None,
) -> dg.AssetCheckResult:
    """No finding twice at one place and time, and no polarity clash.

    Every generated row is under a living parent, every probability in its range, every
    row accounted for. What breaks this is not stored.

    Args:
        configuration: says how many processes look.
        tables: those that resolution read and made, by name.
        broken_rules: what a look at just these tables has found; None: they are looked
            at.
    """
    if broken_rules is None:
        studies = tables["reports"]["study_id"]
        broken_rules = broken_studies(
            "lunguage_plus_plus", tables, studies, configuration.processes
        )
    broken = [(study.rule, study.study_id, study.finding_ids) for study in broken_rules]
    broken.extend(violations_between(tables))
    problems = [
        f"{rule} ({study or 'unreadable study ids'}: {examples(ids)})"
        for rule, study, ids in broken
    ]
    guarantees = "\n".join(f"- {guarantee}" for guarantee in GUARANTEES)
    rows = len(tables["lunguage_plus_plus"])
    report = f"All guarantees hold for {rows} rows:\n\n{guarantees}"
    if problems:
        report = f"{len(problems)} violations in {rows} rows, nothing stored."
    remedy = (
        "Nothing was stored, and what was stored before stays. Run it again with the "
        "newest version; if rows still break a rule, report it with the reasons."
    )
    metadata = {"report": dg.MetadataValue.md(report)}
    return check_result("conflict_free", problems, metadata, remedy, ERROR)


def as_sealed(releases: Path) -> dg.AssetCheckResult:
    """Every sealed version of the release has the files that it was sealed with."""
    changes = [
        change
        for version in sealed_versions(releases)
        for change in changes_since_sealing(version)
    ]
    remedy = "Restore the files from a copy, or delete the folder of that version."
    return check_result("as_sealed", changes, {}, remedy)
