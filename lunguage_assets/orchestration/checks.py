"""Asset checks. Each is something that a person acts on, and its `remedy` says how.

An asset names its checks in `check_specs` (`check_specs` below) and returns their
results with its tables, as Dagster's page on asset checks shows for checks that run
with their asset. They look at tables before those are stored: a check that runs
afterwards could only report, and the UI cannot execute one partition's check alone.

Only `conflict_free` blocks. What people expect of a table stands in `expectations/`
and only warns; rules that rows must hold (`quality.rules`) are no checks, because
nothing that breaks one is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.texts.receiving import OTHER_LANGUAGE
from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.explicit.distilled.learning import shortcomings
from lunguage_assets.explicit.distilled.scoring import OUT_OF_DISTRIBUTION
from lunguage_assets.implicit.resolution.guarantees import (
    GUARANTEES,
    violations_between,
)
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.trust import doubt, share_of
from lunguage_assets.orchestration.metadata import examples, markdown
from lunguage_assets.quality.rules import broken_studies
from lunguage_assets.quality.suites import (
    examined,
    suite_file,
)
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.store import partition_path, read_table
from lunguage_assets.workspace.versions import changes_since_sealing, sealed_versions

WARN = dg.AssetCheckSeverity.WARN
ERROR = dg.AssetCheckSeverity.ERROR

P = ParamSpec("P")
Check = Callable[P, dg.AssetCheckResult]


def check_specs(
    asset: str,
    partitions: dg.PartitionsDefinition[str],
    *checks: Callable[..., dg.AssetCheckResult],
    blocking: Callable[..., dg.AssetCheckResult] | None = None,
    expectations_of: str | None = None,
) -> list[dg.AssetCheckSpec]:
    """Return the specs of an asset's checks, named and described as their functions.

    Args:
        asset: with which they run.
        partitions: of the asset.
        checks: functions below.
        blocking: the one of them that lets nothing be stored where it fails.
        expectations_of: the table that `expectations` looks at; None: the asset's own.
    """
    return [
        dg.AssetCheckSpec(
            check.__name__,
            asset=asset,
            description=_description(check, expectations_of or asset),
            blocking=check is blocking,
            partitions_def=partitions,
        )
        for check in checks
    ]


def _description(check: Callable[..., dg.AssetCheckResult], table: str) -> str:
    # What a check says, without its arguments.
    summary, _, _ = (check.__doc__ or "").partition("Args:")
    sentences = " ".join(summary.split())
    return sentences.replace("<table>", table)


def check_result(
    passed: bool,
    metadata: Mapping[str, Any],
    remedy: str = "",
    reason: str | None = None,
    severity: dg.AssetCheckSeverity = WARN,
) -> dg.AssetCheckResult:
    """Return the result of a check, without its name.

    Args:
        passed: whether all is as it should be.
        metadata: what was looked at.
        remedy: what to do where it is not; shown only then.
        reason: why it did not pass, in few words, for the summary of a run.
        severity: of a check that does not pass.
    """
    with_remedy = dict(metadata)
    if not passed:
        with_remedy["remedy"] = remedy
    return dg.AssetCheckResult(
        passed=passed, metadata=with_remedy, description=reason, severity=severity
    )


def named_check(check: Check[P]) -> Check[P]:
    """Name the results of a check as its function, and let it fail where it can't look.

    A file that was edited wrongly, such as `expectations/expansions.yaml`, warns then
    and does not end the run.
    """

    @wraps(check)
    def run(*args: P.args, **kwargs: P.kwargs) -> dg.AssetCheckResult:
        try:
            result = check(*args, **kwargs)
        except LunguageError as error:
            remedy = "Fix what the note names, and launch this again."
            result = check_result(False, {"note": str(error)}, remedy)
        return result._replace(check_name=check.__name__)

    return run


# Every table


@named_check
def expectations(
    configuration: Configuration,
    table: str,
    frame: pd.DataFrame,
    review_file: Path | None = None,
) -> dg.AssetCheckResult:
    """What people expect of the table: expectations/<table>.yaml.

    Args:
        configuration: of a home, which may have files of its own.
        table: whose rows they are.
        frame: the rows.
        review_file: where a person corrects them; None: nowhere.
    """
    # A home may have a file of its own, such as expectations/expansions.yaml.
    file = suite_file(table, configuration.home.root)
    outcomes = examined(TABLES[table], frame, file)
    unmet = [outcome for outcome in outcomes if not outcome.is_met]
    unmet_first = sorted(outcomes, key=lambda outcome: outcome.is_met)
    metadata = {
        "rows": len(frame),
        "expectations": len(outcomes),
        "not_met": len(unmet),
        "file": dg.MetadataValue.path(str(file)),
        "report": markdown(
            ["expected", "holds", "observed", "keys", "what to do"],
            [
                (
                    outcome.why,
                    "yes" if outcome.is_met else "no",
                    outcome.observed,
                    examples(outcome.keys) if outcome.keys else "",
                    "" if outcome.is_met else outcome.remedy,
                )
                for outcome in unmet_first
            ],
            "The table is empty: nothing to hold against the expectations.",
        ),
    }
    reasons = [f"{outcome.why.rstrip('.')}: {outcome.observed}" for outcome in unmet]
    remedies = list(dict.fromkeys(outcome.remedy for outcome in unmet))
    if review_file is not None:
        remedies.append(f"The review queue is {review_file}.")
    reason = "; ".join([*reasons, *remedies]) if unmet else None
    return check_result(not unmet, metadata, " ".join(remedies), reason)


# Intake


@named_check
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
    by_reason = sorted(
        rejected.groupby("reason", sort=False),
        key=lambda group: (-len(group[1]), group[0]),
    )
    reason_rows = [
        (reason, len(rows), rows["expected"].iloc[0], rows["remedy"].iloc[0])
        for reason, rows in by_reason
    ]
    metadata = {
        "rows_delivered": delivered,
        "rejected": len(rejected),
        "rejected_share": share,
        "allowed_share": allowed,
        "report": markdown(
            ["reason", "rows", "expected", "what to do"],
            reason_rows,
            "Every row was accepted.",
        ),
        "examples": examples(rejected["file"] + ":" + rejected["line"].astype(str)),
    }
    remedy = (
        "Correct the rows as the table says and deliver them as a new batch: the "
        "table `rejected` has each of them in its column `content`. If nearly all "
        "rows share one reason, correct the export, and deliver everything again. "
        "Accepted rows stay valid."
    )
    return check_result(share <= allowed, metadata, remedy)


@named_check
def in_english(rejected: pd.DataFrame, reports: pd.DataFrame) -> dg.AssetCheckResult:
    """Every report is in English: the offline rules read no other language."""
    foreign = rejected.loc[rejected["reason"] == OTHER_LANGUAGE, "study_id"]
    metadata = {
        "reports_in_another_language": len(foreign),
        "examples": examples(foreign),
    }
    if foreign.empty:
        return check_result(True, metadata)
    remedy = (
        "These reports have no findings and no labels. Choose a language model that "
        "reads their language as structurer (--structurer), or deliver a translation."
    )
    read_or_foreign = len(foreign) + len(reports)
    reason = f"{len(foreign)} of {read_or_foreign} reports are not in English"
    return check_result(False, metadata, remedy, reason)


# Judges


_ASK_BOTH_WAYS = (
    'The judge prefers a position. Let it be asked in both orders (order = "both" in '
    "a table with a new key of the judges file), or choose another model."
)


@named_check
def answers_usable(
    configuration: Configuration, totals: Sequence[Progress]
) -> dg.AssetCheckResult:
    """Few replies of language models, which are paid, could not be used."""
    if not totals:
        return check_result(True, {"note": "No language model was asked."})
    replies = sum(judge.replies for judge in totals)
    unusable = sum(judge.invalid for judge in totals)
    allowed = configuration.settings.checks.unusable_share
    rows = [
        (
            judge.judge,
            judge.replies,
            judge.invalid,
            judge.void,
            str(share_of(judge.first, judge.decided)) if judge.decided else "",
            f"{judge.agreed:,} of {judge.pairs:,}" if judge.pairs else "",
        )
        for judge in totals
    ]
    doubts = [
        f"judge {judge.judge!r}: {doubt(judge)}" for judge in totals if doubt(judge)
    ]
    metadata = {
        "replies": replies,
        "unusable": unusable,
        "allowed_share": allowed,
        "report": markdown(
            [
                "judge",
                "replies",
                "of no use",
                "questions without an answer",
                "share of first-shown answers",
                "the same answer in both orders",
            ],
            rows,
        ),
    }
    if unusable <= allowed * replies and doubts:
        return check_result(False, metadata, _ASK_BOTH_WAYS, "; ".join(doubts))
    if unusable <= allowed * replies:
        return check_result(True, metadata)
    remedy = (
        "Such replies are paid, and the question is asked again, up to four times. "
        "See `lunguage ledger stats`; a higher limit on output tokens or mode 'enum' "
        "often helps. Give the changed judge a new key, or leave it out of the preset."
    )
    reason = (
        f"{unusable:,} of {replies:,} replies of language models, which are paid, "
        "could not be used"
    )
    return check_result(False, metadata, remedy, reason)


# Distilled models

_IMPROVE_THE_MODEL = (
    "p of scored sentences is less than the panel's. Let the panel fit more sentences "
    "of such phrases (docs/distilled.md), then `lunguage distill` again; or name a "
    "larger encoder."
)


@named_check
def as_good_as_the_panel(scorer: pd.DataFrame) -> dg.AssetCheckResult:
    """The distilled model errs little on phrases that it had not seen.

    And its intervals hold there.
    """
    return _as_good(shortcomings(scorer), {})


FEW_UNLIKE = 0.05
"""Share of sentences that may be unlike what a distilled model has learnt."""


@named_check
def scored_as_tested(
    configuration: Configuration, ranker: str, fitted: pd.DataFrame
) -> dg.AssetCheckResult:
    """Scores that a distilled model gives are those of a model that did well.

    And they are of sentences like those that it learnt from.

    Args:
        configuration: of the home with the model.
        ranker: whose model it is.
        fitted: FITTED_PROBABILITIES of the batch.
    """
    # A sentence is fitted once, however many findings it has.
    by_sentence = fitted.drop_duplicates("sentence_key")
    scored = int((by_sentence["stop"] == "scored").sum())
    unlike = int((by_sentence["stop"] == OUT_OF_DISTRIBUTION).sum())
    read_by_model = scored + unlike
    path = partition_path(configuration.home.tables, DISTILLED_SCORER.name, ranker)
    problems = shortcomings(read_table(DISTILLED_SCORER, path))
    if read_by_model and unlike / read_by_model > FEW_UNLIKE:
        problems.append(
            f"{unlike} of {read_by_model} sentences are unlike what it learnt: "
            "p of their phrases"
        )
    return _as_good(problems, {"scored": scored, "unlike": unlike})


def _as_good(
    problems: Sequence[str], metadata: Mapping[str, object]
) -> dg.AssetCheckResult:
    listed = "; ".join(problems)
    return check_result(
        not problems,
        {**metadata, "found": listed or "none"},
        _IMPROVE_THE_MODEL,
        listed or None,
    )


# The result


@named_check
def none_set_aside(set_aside: pd.DataFrame) -> dg.AssetCheckResult:
    """No study was set aside because a row broke a rule."""
    rule_rows = [
        (
            rule,
            rows["study_id"].nunique(),
            examples(rows["study_id"]),
            rows["found"].iloc[0],
        )
        for rule, rows in set_aside.groupby("rule")
    ]
    metadata = {
        "studies": int(set_aside["study_id"].nunique()),
        "report": markdown(
            ["rule", "studies", "for instance", "found"],
            rule_rows,
            "No study was set aside.",
        ),
    }
    remedy = (
        "The result is whole without these studies. A row that breaks a rule is a "
        "fault of this package or of a model's answer: look at them with `lunguage "
        "explain STUDY`, and report the rule and what was found."
    )
    return check_result(set_aside.empty, metadata, remedy)


_SHOWN = 5
"""How many violations, and rows of one, a note names."""
_NOTHING_STORED = (
    "Nothing was stored, and what was stored before stays. Run it again with the "
    "newest version; if rows still break a rule, report it with the note."
)


@named_check
def conflict_free(
    configuration: Configuration,
    inputs: Mapping[str, pd.DataFrame],
    tables: Mapping[str, pd.DataFrame],
) -> dg.AssetCheckResult:
    """No finding twice at one place and time, and no polarity clash.

    Every generated row is under a living parent, every probability in its range, every
    row accounted for. What breaks this is not stored.

    Args:
        configuration: says how many processes look.
        inputs: tables that resolution read, by name.
        tables: those that it made.
    """
    rows = tables["lunguage_plus_plus"]
    conflicts = tables["conflicts"]
    states_both = conflicts["conflict_type"] == "stated_contradiction"
    metadata: dict[str, Any] = {
        "rows": len(rows),
        "studies": int(rows["study_id"].nunique()),
        "studies_that_state_both": int(
            conflicts.loc[states_both, "study_id"].nunique()
        ),
    }
    delivered = inputs["reports"]["study_id"]
    try:
        broken = [
            (study.rule, study.study_id, study.finding_ids)
            for study in broken_studies(
                "lunguage_plus_plus", tables, delivered, configuration.processes
            )
        ]
        broken.extend(violations_between(inputs, tables))
        notes = [
            f"{rule} ({study or 'unreadable study ids'}: {', '.join(ids[:_SHOWN])})"
            for rule, study, ids in broken
        ]
    except InvalidTable as error:
        notes = [str(error)]
    if notes:
        note = f"{len(notes)} violations, nothing stored: {'; '.join(notes[:_SHOWN])}"
        return check_result(
            False, {**metadata, "note": note}, _NOTHING_STORED, severity=ERROR
        )
    guarantees = "\n".join(f"- {guarantee}" for guarantee in GUARANTEES)
    report = f"All guarantees hold for {len(rows)} rows:\n\n{guarantees}"
    metadata["report"] = dg.MetadataValue.md(report)
    return check_result(True, metadata, severity=ERROR)


def conflict_free_refused(error: InvalidTable) -> dg.AssetCheckResult:
    """Return the failed check of rows that broke rules already while they were made."""
    result = check_result(False, {"note": str(error)}, _NOTHING_STORED, severity=ERROR)
    return result._replace(check_name=conflict_free.__name__)


@named_check
def as_sealed(releases: Path) -> dg.AssetCheckResult:
    """Every sealed version of the release has the files that it was sealed with."""
    versions = sealed_versions(releases)
    changes = [
        change for version in versions for change in changes_since_sealing(version)
    ]
    metadata = {"versions": len(versions), "changed": examples(changes)}
    remedy = "Restore the files from a copy, or delete the folder of that version."
    return check_result(not changes, metadata, remedy, "; ".join(changes) or None)
