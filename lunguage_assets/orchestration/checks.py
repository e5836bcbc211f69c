"""Asset checks: each is something that a person acts on, and says how.

They belong to the asset and look at the tables that its step has made, before they are stored. What people
expect of a table stands in `expectations/` and only warns. Blocking is `conflict_free` alone: nothing that
breaks a rule is stored, and it says what was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dagster as dg
import pandas as pd

from lunguage_assets.current.recipes import RECIPES, STEP_OF
from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.explicit.analysis.verification import (
    PACKAGE_TOLERANCE,
    REPLAY_TOLERANCE,
    Verification,
)
from lunguage_assets.implicit.resolution.guarantees import GUARANTEES
from lunguage_assets.orchestration.metadata import examples, markdown
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.quality.drift import drift_of_p, earlier_fits
from lunguage_assets.quality.suites import load_suite, suite_file, unmet
from lunguage_assets.tables import TABLES

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


class CheckContext(NamedTuple):
    """What a check looks at: the home, the partition's keys by dimension, and what the step has made."""

    home: HomeResource
    keys: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class CheckOutcome:
    """What a check found. Where it does not pass, `remedy` says what to do, and `because` why, in few words
    for the summary of a run.
    """

    passed: bool
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    because: str = ""


Look = Callable[[CheckContext], CheckOutcome]


@dataclass(frozen=True)
class Check:
    """A check of a table, shown with the asset that makes it: what it says, and the function that looks;
    None: the asset yields it itself.
    """

    table: str
    name: str
    description: str
    look: Look | None = None
    severity: dg.AssetCheckSeverity = WARN

    def result(self, outcome: CheckOutcome) -> dg.AssetCheckResult:
        """An outcome as Dagster takes it, with the remedy where it did not pass."""
        return dg.AssetCheckResult(
            asset_key=STEP_OF[self.table],
            check_name=self.name,
            passed=outcome.passed,
            severity=self.severity,
            description=outcome.because or None,
            metadata={**outcome.metadata, **({} if outcome.passed else {"remedy": outcome.remedy})},
        )


def _expectations(table: str) -> Check:
    """What people expect of a table; each rule that does not hold with what was found, and its remedy."""

    def look(context: CheckContext) -> CheckOutcome:
        frame, file = context.tables[table], suite_file(table, context.home.home.root)
        found = unmet(TABLES[table], frame, file)
        report = markdown(
            ["expected", "found", "rows", "keys", "why", "what to do"],
            ((one.rule, one.found, one.rows, examples(one.keys), one.why, one.remedy) for one in found),
            f"All expectations hold for {len(frame)} rows.",
        )
        metadata = {
            "rows": len(frame),
            "expectations": len(load_suite(file).expectations),
            "not_met": len(found),
            "file": dg.MetadataValue.path(str(file)),
            "report": report,
        }
        because = "; ".join(f"expected: {one.why.rstrip('.')}, found: {one.found}" for one in found)
        remedy = " ".join(dict.fromkeys(one.remedy for one in found))
        return CheckOutcome(not found, metadata, remedy, because)

    return Check(table, "expectations", f"What people expect of the table: expectations/{table}.yaml.", look)


def _intake_accepted(context: CheckContext) -> CheckOutcome:
    frame, reports = context.tables["rejected"], context.tables["reports"]
    delivered = int(reports["rows_delivered"].sum()) + int((frame["study_id"] == "").sum())
    share = len(frame) / delivered if delivered else 0.0
    allowed = context.home.settings.checks.rejected_share
    places = [f"{file}:{line}" for file, line in zip(frame["file"], frame["line"], strict=True)]
    reasons = sorted(frame.groupby("reason", sort=False), key=lambda group: (-len(group[1]), group[0]))
    metadata = {
        "rows_delivered": delivered,
        "rejected": len(frame),
        "rejected_share": share,
        "allowed_share": allowed,
        "report": markdown(
            ["reason", "rows", "expected", "what to do"],
            ((why, len(rows), rows["expected"].iloc[0], rows["remedy"].iloc[0]) for why, rows in reasons),
            "Every delivered row was accepted.",
        ),
        "examples": examples(places),
    }
    remedy = (
        "Correct the rows as the table says and deliver them as a new batch: the table `rejected` has each "
        "of them in its column `content`. If nearly all rows share one reason, the export writes a column in "
        "another form: correct the export, and deliver everything again. Accepted rows stay valid."
    )
    return CheckOutcome(share <= allowed, metadata, remedy)


def _p_drift(context: CheckContext) -> CheckOutcome:
    earlier = earlier_fits(context.home.home, context.keys["ranker"], context.keys["report_batch"])
    allowed = context.home.settings.checks.drift_distance
    drift = drift_of_p(context.tables["fitted_probabilities"], list(earlier.values()), allowed)
    if drift is None:
        return CheckOutcome(True, {"note": "Nothing to compare with: no earlier batch is stored."})
    metadata = {
        "distance": drift.distance,
        "allowed_distance": allowed,
        "p_value": drift.p_value,
        "pairs": drift.new,
        "pairs_before": drift.earlier,
        "compared_with": ", ".join(earlier),
    }
    remedy = (
        "Compare p of this batch with an earlier one: another hospital or another way of reporting is a "
        "reason; a judge that answers otherwise than before (`lunguage doctor`) or phrases cut otherwise are "
        "faults. If the reports are right, run with --rebuild-ranking: the ranking then knows their phrases."
    )
    return CheckOutcome(not drift.drifted, metadata, remedy)


def _none_set_aside(context: CheckContext) -> CheckOutcome:
    frame = context.tables["set_aside"]
    found = (
        (rule, rows["study_id"].nunique(), examples(rows["study_id"]), rows["found"].iloc[0])
        for rule, rows in frame.groupby("rule")
    )
    report = markdown(["rule", "studies", "for instance", "found"], found, "No study was set aside.")
    remedy = (
        "The result is whole without these studies. A row that breaks a rule is a fault of this package or "
        "of a model's answer: look at them with `lunguage explain STUDY`, and report the rule and what was "
        "found."
    )
    return CheckOutcome(frame.empty, {"studies": int(frame["study_id"].nunique()), "report": report}, remedy)


def _conflict_free(context: CheckContext) -> CheckOutcome:
    """The step has asserted the guarantees of these rows, and set aside the studies that break one."""
    frame, conflicts = context.tables["lunguage_plus_plus"], context.tables["conflicts"]
    both = conflicts.loc[conflicts["conflict_type"] == "stated_contradiction", "study_id"]
    guarantees = "\n".join(f"- {one}" for one in GUARANTEES)
    metadata = {
        "rows": len(frame),
        "studies": int(frame["study_id"].nunique()),
        "studies_that_state_both": int(both.nunique()),
        "report": dg.MetadataValue.md(f"All guarantees hold for {len(frame)} rows:\n\n{guarantees}"),
    }
    return CheckOutcome(True, metadata)


CONFLICT_FREE = Check(
    "lunguage_plus_plus",
    "conflict_free",
    "No finding twice at one place and time, no polarity clash, every generated row under a living parent, "
    "every probability in its range, every row accounted for. What breaks this is not stored.",
    _conflict_free,
    ERROR,
)

VERIFIED = Check(
    "reference_ranking",
    "equals_trueskill_package",
    "Closed form and the `trueskill` package agree on a sample, and the ranking is what its matches give.",
    severity=ERROR,
)

WITH_SUITE = (
    *("sentence_accounts", "hedge_phrases", "hedge_vocabulary", "comparison_matches", "reference_ranking"),
    *("fitted_probabilities", "deduplicated_findings", "expansions", "lunguage_plus_plus"),
    "judge_agreement",
)
"""Tables with a file in `expectations/`."""

CHECKS: tuple[Check, ...] = (
    CONFLICT_FREE,
    Check(
        "rejected",
        "intake_accepted",
        "Few of the delivered rows were rejected; the reasons say what to correct.",
        _intake_accepted,
    ),
    *map(_expectations, WITH_SUITE),
    VERIFIED,
    Check(
        "fitted_probabilities",
        "p_drift",
        "The p of tentative findings are distributed as in earlier batches of the same ranker and ranking.",
        _p_drift,
    ),
    Check(
        "set_aside",
        "none_set_aside",
        "No study was set aside because a row broke a rule.",
        _none_set_aside,
    ),
)


def refused(step: str, error: InvalidTable) -> Iterator[dg.AssetCheckResult]:
    """The blocking check of a step of whose tables nothing is stored, because rows break rules."""
    if CONFLICT_FREE.table in RECIPES[step].tables:
        remedy = (
            "Nothing was stored, and what was stored before stays. Run it again with the newest version; "
            "if rows still break a rule, report it with the note."
        )
        yield CONFLICT_FREE.result(CheckOutcome(False, {"note": str(error)}, remedy))


def verification_result(found: Verification) -> dg.AssetCheckResult:
    """What `verify_with_package` found, as the result of the check `VERIFIED`."""
    metadata = {
        "matches_played_by_the_package": found.matches,
        "order": found.order,
        "largest_difference_to_the_package": found.package_difference,
        "tolerance_of_the_package": PACKAGE_TOLERANCE,
        "largest_difference_to_the_stored_ranking": found.replay_difference,
        "tolerance_of_the_stored_ranking": REPLAY_TOLERANCE,
    }
    remedy = "The rating arithmetic differs from the trueskill package: report this; do not use the ranking."
    return VERIFIED.result(CheckOutcome(found.passed, metadata, remedy))


def check_specs(tables: Sequence[str], partitions: Partitions) -> list[dg.AssetCheckSpec]:
    """Of the checks of tables that are made together, for `check_specs` of their asset."""
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=STEP_OF[check.table],
            description=check.description,
            blocking=check is CONFLICT_FREE,
            partitions_def=partitions.of(check.table),
        )
        for check in CHECKS
        if check.table in tables
    ]


def check_results(context: CheckContext) -> Iterator[dg.AssetCheckResult]:
    """Of the checks of tables that are there; to be yielded before the tables are. What keeps a check from
    looking, such as a file that was edited wrongly, is a finding too.
    """
    for check in CHECKS:
        if check.table in context.tables and check.look is not None:
            try:
                found = check.look(context)
            except LunguageError as error:
                remedy = "Fix what the note names, and launch this again."
                found = CheckOutcome(False, {"note": str(error)}, remedy)
            yield check.result(found)
