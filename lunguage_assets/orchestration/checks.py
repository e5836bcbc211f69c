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
from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.explicit.distilled.judge import DistilledJudge
from lunguage_assets.explicit.distilled.learning import shortcomings
from lunguage_assets.implicit.resolution.guarantees import (
    GUARANTEES,
    violations_between,
)
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.trust import doubt
from lunguage_assets.orchestration.metadata import examples, listing
from lunguage_assets.quality.rules import InvalidStudy, Tables, broken_studies
from lunguage_assets.quality.suites import examined, suite_file
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.versions import changes_since_sealing, sealed_versions

WARN = dg.AssetCheckSeverity.WARN
ERROR = dg.AssetCheckSeverity.ERROR


def check_result(
    name: str,
    passed: bool,
    metadata: Mapping[str, Any],
    remedy: str,
    reason: str = "",
    severity: dg.AssetCheckSeverity = WARN,
) -> dg.AssetCheckResult:
    """Return the result of a check.

    Args:
        name: of the check.
        passed: whether all is as it should be.
        metadata: what was looked at.
        remedy: what to do where it is not; shown only then.
        reason: why it did not pass, in few words, for the summary of a run.
        severity: of a check that does not pass.
    """
    return dg.AssetCheckResult(
        check_name=name,
        passed=passed,
        metadata=metadata if passed else {**metadata, "remedy": remedy},
        description=reason or None,
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
        remedy = "Fix what the note names, and launch this again."
        return check_result("expectations", False, {"note": str(error)}, remedy)
    unmet = [outcome for outcome in outcomes if not outcome.is_met]
    rows = [
        {
            "expected": outcome.why,
            "observed": outcome.observed,
            "keys": examples(outcome.keys),
            "what to do": outcome.remedy,
        }
        for outcome in unmet
    ]
    metadata = {
        "rows": len(frame),
        "expectations": len(outcomes),
        "file": dg.MetadataValue.path(str(file)),
        "report": listing(rows, "All is as expected."),
    }
    reasons = [f"{outcome.why.rstrip('.')}: {outcome.observed}" for outcome in unmet]
    remedies = list(dict.fromkeys(outcome.remedy for outcome in unmet))
    reason = "; ".join([*reasons, *remedies])
    return check_result("expectations", not unmet, metadata, " ".join(remedies), reason)


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
    without_study = int((rejected["study_id"] == "").sum())
    delivered = int(reports["rows_delivered"].sum()) + without_study
    share = len(rejected) / delivered if delivered else 0.0
    allowed = configuration.settings.checks.rejected_share
    # The most frequent reason first: often one column of the export is wrong.
    by_reason = rejected.value_counts(["reason", "expected", "remedy"])
    rows = by_reason.reset_index(name="rows").rename(columns={"remedy": "what to do"})
    metadata = {
        "rejected": len(rejected),
        "rejected_share": share,
        "allowed_share": allowed,
        "report": listing(rows.to_dict("records"), "Every row was accepted."),
        "examples": examples(rejected["file"] + ":" + rejected["line"].astype(str)),
    }
    remedy = (
        "Correct the rows as the table says and deliver them as a new batch: the "
        "table `rejected` has each of them in its column `content`. If nearly all "
        "rows share one reason, correct the export, and deliver everything again. "
        "Accepted rows stay valid."
    )
    return check_result("intake_accepted", share <= allowed, metadata, remedy)


def answers_usable(
    configuration: Configuration, totals: Sequence[Progress]
) -> dg.AssetCheckResult:
    """Few replies of language models, which are paid, could not be used."""
    replies = sum(judge.calls - judge.failures for judge in totals)
    unusable = sum(judge.invalid for judge in totals)
    allowed = configuration.settings.checks.unusable_share
    metadata = {"replies": replies, "unusable": unusable, "allowed_share": allowed}
    if unusable > allowed * replies:
        remedy = (
            "Such replies are paid, and the question is asked again, up to four times. "
            "See `lunguage ledger stats`; a higher limit on output tokens or mode "
            "'enum' often helps. Give the changed judge a new key, or leave it out of "
            "the preset."
        )
        reason = (
            f"{unusable:,} of {replies:,} replies of language models, which are paid, "
            "could not be used"
        )
        return check_result("answers_usable", False, metadata, remedy, reason)
    doubts = [
        f"judge {judge.judge!r}: {doubt(judge)}" for judge in totals if doubt(judge)
    ]
    remedy = (
        'The judge prefers a position. Let it be asked in both orders (order = "both" '
        "in a table with a new key of the judges file), or choose another model."
    )
    reason = "; ".join(doubts)
    return check_result("answers_usable", not doubts, metadata, remedy, reason)


_IMPROVE_THE_MODEL = (
    "What it says is less than what the panel says. Let the panel fit more sentences "
    "of such phrases (docs/distilled.md), then `lunguage distill` again; or name a "
    "larger encoder."
)
FEW_UNLIKE = 0.05
"""Share of sentences that may be unlike what a distilled model has learnt."""


def as_good_as_the_panel(scorer: pd.DataFrame) -> dg.AssetCheckResult:
    """The distilled model errs little on phrases that it had not seen.

    And its intervals hold there.
    """
    return _learnt_well("as_good_as_the_panel", shortcomings(scorer))


def well_taught(panel: Sequence[Judge], fitted: pd.DataFrame) -> dg.AssetCheckResult:
    """A distilled model that is a judge did well in its test.

    And it was asked of sentences like those that it learnt from.

    Args:
        panel: the judges that fitted.
        fitted: FITTED_PROBABILITIES of the batch.
    """
    taught = [judge for judge in panel if isinstance(judge, DistilledJudge)]
    problems = [problem for judge in taught for problem in judge.shortcomings]
    # A sentence is fitted once, however many findings it has.
    stops = fitted.drop_duplicates("sentence_key")["stop"]
    unlike = int((stops == "no valid answers").sum())
    if taught and unlike > FEW_UNLIKE * len(stops):
        problems.append(
            f"{unlike} of {len(stops)} sentences are unlike what it learnt: p of their "
            "phrases"
        )
    return _learnt_well("well_taught", problems)


def _learnt_well(name: str, problems: Sequence[str]) -> dg.AssetCheckResult:
    reason = "; ".join(problems)
    return check_result(name, not problems, {}, _IMPROVE_THE_MODEL, reason)


_NOTHING_STORED = (
    "Nothing was stored, and what was stored before stays. Run it again with the "
    "newest version; if rows still break a rule, report it with the note."
)


def conflict_free(
    configuration: Configuration,
    inputs: Tables,
    tables: Tables,
    broken_rules: Sequence[InvalidStudy] | None = None,
) -> dg.AssetCheckResult:
    """No finding twice at one place and time, and no polarity clash.

    Every generated row is under a living parent, every probability in its range, every
    row accounted for. What breaks this is not stored.

    Args:
        configuration: says how many processes look.
        inputs: tables that resolution read, by name.
        tables: those that it made.
        broken_rules: what `broken_studies` finds in these tables, where it has looked.
    """
    rows = tables["lunguage_plus_plus"]
    delivered = inputs["reports"]["study_id"]
    try:
        if broken_rules is None:
            broken_rules = broken_studies(
                "lunguage_plus_plus", tables, delivered, configuration.processes
            )
        broken = [
            (study.rule, study.study_id, study.finding_ids) for study in broken_rules
        ]
        broken.extend(violations_between({**inputs, **tables}))
    except InvalidTable as error:
        return not_conflict_free(str(error))
    if broken:
        notes = [
            f"{rule} ({study or 'unreadable study ids'}: {', '.join(ids[:5])})"
            for rule, study, ids in broken[:5]
        ]
        return not_conflict_free(
            f"{len(broken)} violations, nothing stored: {'; '.join(notes)}"
        )
    guarantees = "\n".join(f"- {guarantee}" for guarantee in GUARANTEES)
    report = f"All guarantees hold for {len(rows)} rows:\n\n{guarantees}"
    metadata = {"rows": len(rows), "report": dg.MetadataValue.md(report)}
    return check_result(
        "conflict_free", True, metadata, _NOTHING_STORED, severity=ERROR
    )


def not_conflict_free(note: str) -> dg.AssetCheckResult:
    """Return the failed check of rows that broke rules."""
    return check_result(
        "conflict_free", False, {"note": note}, _NOTHING_STORED, severity=ERROR
    )


def as_sealed(releases: Path) -> dg.AssetCheckResult:
    """Every sealed version of the release has the files that it was sealed with."""
    changes = [
        change
        for version in sealed_versions(releases)
        for change in changes_since_sealing(version)
    ]
    remedy = "Restore the files from a copy, or delete the folder of that version."
    metadata = {"changed": examples(changes)}
    return check_result("as_sealed", not changes, metadata, remedy, "; ".join(changes))
