"""Asset checks: each is something that a person acts on, and says how. They look at the tables that a step
has made, before they are stored. What people expect of a table stands in `expectations/` and only warns.
Blocking is `conflict_free` alone: nothing that breaks a rule is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.texts.receiving import OTHER_LANGUAGE
from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.explicit.analysis.package_check import Verification
from lunguage_assets.explicit.distilled.evaluation import shortcomings
from lunguage_assets.explicit.distilled.scoring import OUT_OF_DISTRIBUTION
from lunguage_assets.implicit.resolution.guarantees import GUARANTEES, refuse_violations
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.lineage.recipes import RECIPES, STEP_OF
from lunguage_assets.orchestration.metadata import examples, markdown
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.quality.suites import examined, load_suite, suite_file
from lunguage_assets.tables import FITTED_PROBABILITIES, TABLES
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import is_stored, partition_path, read_table

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


class CheckContext(NamedTuple):
    """What a check looks at: the home, the partition's keys by dimension, what the step has made, and what
    its language models were asked.
    """

    configuration: Configuration
    keys: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame]
    asked: Sequence[Progress] = ()


Look = Callable[[CheckContext], dg.AssetCheckResult]


class Check(NamedTuple):
    """A check of a table, shown with the asset that makes it; without a function the asset yields it. Where a
    blocking one fails nothing is stored.
    """

    table: str
    name: str
    description: str
    look: Look | None = None
    severity: dg.AssetCheckSeverity = WARN
    blocking: bool = False

    def result(self, found: dg.AssetCheckResult) -> dg.AssetCheckResult:
        """A result as that of this check."""
        asset = dg.AssetKey(STEP_OF[self.table])
        return found._replace(
            asset_key=asset, check_name=self.name, severity=self.severity
        )


def outcome(
    passed: bool,
    metadata: Mapping[str, Any],
    remedy: str = "",
    because: str | None = None,
) -> dg.AssetCheckResult:
    """What a check found. Where it does not pass: what to do, and why, in few words for a run's summary."""
    more = {} if passed else {"remedy": remedy}
    return dg.AssetCheckResult(
        passed=passed, metadata={**metadata, **more}, description=because
    )


CHECKS: list[Check] = []

WITH_SUITE = [table for table in TABLES if suite_file(table).exists()]
"""Tables with a file in `expectations/`."""


def _check(table: str, *, blocking: bool = False) -> Callable[[Look], Look]:
    """Make a function a check of a table, named and described as the function."""

    def register(look: Look) -> Look:
        description = " ".join((look.__doc__ or "").split())
        severity = ERROR if blocking else WARN
        CHECKS.append(
            Check(table, look.__name__, description, look, severity, blocking)
        )
        return look

    return register


def _as_expected(table: str, context: CheckContext) -> dg.AssetCheckResult:
    frame, file = (
        context.tables[table],
        suite_file(table, context.configuration.home.root),
    )
    found = examined(TABLES[table], frame, file)
    not_met = [one for one in found if not one.is_met]
    report = markdown(
        ["", "expected", "observed", "rows", "keys", "why", "what to do"],
        (
            (
                "holds" if one.is_met else "does not hold",
                one.expected,
                one.observed,
                one.rows or "",
                examples(one.keys) if one.keys else "",
                one.why,
                "" if one.is_met else one.remedy,
            )
            for one in sorted(found, key=lambda one: one.is_met)
        ),
        "The table is empty: nothing to hold against the expectations.",
    )
    metadata = {
        "rows": len(frame),
        "expectations": len(load_suite(file).expectations),
        "not_met": len(not_met),
        "file": dg.MetadataValue.path(str(file)),
        "report": report,
    }
    because = "; ".join(
        f"expected: {one.expected}, observed: {one.observed} ({one.why.rstrip('.')})"
        for one in not_met
    )
    remedies = dict.fromkeys(one.remedy for one in not_met)
    return outcome(not not_met, metadata, " ".join(remedies), because or None)


for _table in WITH_SUITE:
    _told = f"What people expect of the table: expectations/{_table}.yaml."
    CHECKS.append(Check(_table, "expectations", _told, partial(_as_expected, _table)))


@_check("rejected")
def intake_accepted(context: CheckContext) -> dg.AssetCheckResult:
    """Few of the delivered rows were rejected; the reasons say what to correct."""
    frame, reports = context.tables["rejected"], context.tables["reports"]
    delivered = int(reports["rows_delivered"].sum()) + int(
        (frame["study_id"] == "").sum()
    )
    share = len(frame) / delivered if delivered else 0.0
    allowed = context.configuration.settings.checks.rejected_share
    reasons = sorted(
        frame.groupby("reason", sort=False),
        key=lambda group: (-len(group[1]), group[0]),
    )
    rows = (
        (why, len(of), of["expected"].iloc[0], of["remedy"].iloc[0])
        for why, of in reasons
    )
    metadata = {
        "rows_delivered": delivered,
        "rejected": len(frame),
        "rejected_share": share,
        "allowed_share": allowed,
        "report": markdown(
            ["reason", "rows", "expected", "what to do"],
            rows,
            "Every row was accepted.",
        ),
        "examples": examples(frame["file"] + ":" + frame["line"].astype(str)),
    }
    remedy = (
        "Correct the rows as the table says and deliver them as a new batch: the table `rejected` has each "
        "of them in its column `content`. If nearly all rows share one reason, correct the export, and "
        "deliver everything again. Accepted rows stay valid."
    )
    return outcome(share <= allowed, metadata, remedy)


@_check("rejected")
def in_english(context: CheckContext) -> dg.AssetCheckResult:
    """Every report is in English: the offline rules read no other language."""
    rejected, reports = context.tables["rejected"], context.tables["reports"]
    foreign = rejected.loc[rejected["reason"] == OTHER_LANGUAGE, "study_id"]
    because = (
        f"{len(foreign)} of {len(foreign) + len(reports)} reports are not in English"
    )
    remedy = (
        "These reports have no findings and no labels. Choose a language model that reads their language as "
        "structurer (--structurer), or deliver a translation."
    )
    metadata = {
        "reports_in_another_language": len(foreign),
        "examples": examples(foreign),
    }
    return outcome(foreign.empty, metadata, remedy, None if foreign.empty else because)


def _answers_usable(context: CheckContext) -> dg.AssetCheckResult:
    """Whether few of the replies to the questions of a partition, whenever they came, were of no use."""
    replies = sum(judge.replies for judge in context.asked)
    if not replies:
        return outcome(True, {"note": "No language model was asked."})
    unusable = sum(judge.unusable for judge in context.asked)
    allowed = context.configuration.settings.checks.unusable_share
    rows = [
        (judge.judge, judge.replies, judge.unusable, judge.void)
        for judge in context.asked
    ]
    metadata = {
        "replies": replies,
        "unusable": unusable,
        "allowed_share": allowed,
        "report": markdown(
            ["judge", "replies", "of no use", "questions without an answer"], rows
        ),
    }
    remedy = (
        "Such replies are paid, and the question is asked again, up to four times. See `lunguage ledger "
        "stats`; a higher limit on output tokens or mode 'enum' often helps. Give the changed judge a new "
        "key, or leave it out of the preset."
    )
    passed = unusable <= allowed * replies
    because = f"{unusable:,} of {replies:,} replies of language models, which are paid, could not be used"
    return outcome(passed, metadata, remedy, None if passed else because)


for _table in (step for step, recipe in RECIPES.items() if recipe.asks_judges):
    _told = "Few replies of language models, which are paid, could not be used."
    CHECKS.append(Check(_table, "answers_usable", _told, _answers_usable))


BATCHES = 20
"""Latest earlier batches that a batch is compared with."""

CHANCE = 0.01
"""p value from which a difference counts as chance."""


def drift_of_p(
    new: pd.DataFrame, earlier: Sequence[pd.DataFrame], allowed: float
) -> dict[str, Any]:
    """p of a batch's FITTED_PROBABILITIES compared with that of earlier batches of the same ranking, without
    studies that come again and pairs without information; empty: there is nothing to compare. A drift needs a
    p value that is not chance, as small differences of large batches have, and a distance
    (Kolmogorov-Smirnov) of at least `allowed`.
    """
    from scipy.stats import ks_2samp  # slow to import, and definitions load this module

    before = pd.concat([new.head(0), *earlier])
    before = before[~before["study_id"].isin(new["study_id"])]
    before = before[before["ranking_version"].isin(new["ranking_version"])]
    here, there = (
        frame.loc[frame["p_source"] != "none", "p"].to_numpy(float)
        for frame in (new, before)
    )
    if not (len(here) and len(there)):
        return {}
    distance, p_value = map(float, ks_2samp(here, there))
    drifted = p_value < CHANCE and distance >= allowed
    counts = {"pairs": len(here), "pairs_before": len(there)}
    return {**counts, "distance": distance, "p_value": p_value, "drifted": drifted}


def earlier_fits(home: Home, ranker: str, batch: str) -> dict[str, pd.DataFrame]:
    """FITTED_PROBABILITIES of the latest batches registered before this one, if of this version's form."""
    table, keys = FITTED_PROBABILITIES, [known.key for known in home.registered()]
    before = keys[: keys.index(batch)][-BATCHES:] if batch in keys else []
    paths = {
        key: partition_path(home.tables, table.name, ranker, key) for key in before
    }
    return {
        key: read_table(table, path)
        for key, path in paths.items()
        if is_stored(table, path)
    }


@_check("fitted_probabilities")
def p_drift(context: CheckContext) -> dg.AssetCheckResult:
    """The p of tentative findings are distributed as in earlier batches of the same ranker and ranking."""
    earlier = earlier_fits(
        context.configuration.home, context.keys["ranker"], context.keys["report_batch"]
    )
    allowed = context.configuration.settings.checks.drift_distance
    drift = drift_of_p(
        context.tables["fitted_probabilities"], list(earlier.values()), allowed
    )
    if not drift:
        return outcome(
            True, {"note": "Nothing to compare with: no earlier batch is stored."}
        )
    metadata = {
        **drift,
        "allowed_distance": allowed,
        "compared_with": ", ".join(earlier),
    }
    remedy = (
        "Compare p of this batch with an earlier one: another hospital or another way of reporting is a "
        "reason; a judge that answers otherwise than before (`lunguage doctor`) or phrases cut otherwise are "
        "faults. If the reports are right, run with --rebuild-ranking: the ranking then knows their phrases."
    )
    return outcome(not drift["drifted"], metadata, remedy)


LESS_TRUSTED = (
    "p of scored sentences is less than the panel's. Let the panel fit more sentences of such phrases "
    "(docs/distilled.md), then `lunguage distill` again; or fine-tune (--tune), or name a larger encoder."
)


@_check("distilled_evaluation")
def as_good_as_the_panel(context: CheckContext) -> dg.AssetCheckResult:
    """The distilled model errs little on phrases that it had not seen, and its intervals hold there."""
    found = shortcomings(context.tables["distilled_evaluation"])
    return outcome(
        not found,
        {"found": "; ".join(found) or "none"},
        LESS_TRUSTED,
        "; ".join(found) or None,
    )


FEW_UNLIKE = 0.05
"""Share of sentences that may be unlike what a distilled model has learnt."""


@_check("fitted_probabilities")
def scored_as_tested(context: CheckContext) -> dg.AssetCheckResult:
    """Places that a distilled model says are those of a model that did well, of sentences like its own."""
    frame = context.tables["fitted_probabilities"].drop_duplicates("sentence_key")
    scored, unlike = (
        int((frame["stop"] == stop).sum()) for stop in ("scored", OUT_OF_DISTRIBUTION)
    )
    if not scored + unlike:
        return outcome(True, {"note": "The judges fitted every sentence."})
    ranker, home = context.keys["ranker"], context.configuration.home
    path = partition_path(home.tables, DISTILLED_EVALUATION.name, ranker)
    found, share = (
        shortcomings(read_table(DISTILLED_EVALUATION, path)),
        unlike / (scored + unlike),
    )
    if share > FEW_UNLIKE:
        found.append(
            f"{unlike} of {scored + unlike} sentences are unlike what it learnt: p of their phrases"
        )
    metadata = {"scored": scored, "unlike": unlike, "found": "; ".join(found) or "none"}
    return outcome(not found, metadata, LESS_TRUSTED, "; ".join(found) or None)


@_check("set_aside")
def none_set_aside(context: CheckContext) -> dg.AssetCheckResult:
    """No study was set aside because a row broke a rule."""
    frame = context.tables["set_aside"]
    found = (
        (
            rule,
            rows["study_id"].nunique(),
            examples(rows["study_id"]),
            rows["found"].iloc[0],
        )
        for rule, rows in frame.groupby("rule")
    )
    report = markdown(
        ["rule", "studies", "for instance", "found"], found, "No study was set aside."
    )
    remedy = (
        "The result is whole without these studies. A row that breaks a rule is a fault of this package or "
        "of a model's answer: look at them with `lunguage explain STUDY`, and report the rule and what was "
        "found."
    )
    return outcome(
        frame.empty,
        {"studies": int(frame["study_id"].nunique()), "report": report},
        remedy,
    )


_NOT_STORED = (
    "Nothing was stored, and what was stored before stays. Run it again with the newest version; if rows "
    "still break a rule, report it with the note."
)


@_check("lunguage_plus_plus", blocking=True)
def conflict_free(context: CheckContext) -> dg.AssetCheckResult:
    """No finding twice at one place and time, no polarity clash, every generated row under a living parent,
    every probability in its range, every row accounted for. What breaks this is not stored.
    """
    tables = context.tables
    frame, conflicts = tables["lunguage_plus_plus"], tables["conflicts"]
    accounts = tables["accounting"]
    of_studies = accounts[accounts["study_id"] != ""]
    both = conflicts.loc[
        conflicts["conflict_type"] == "stated_contradiction", "study_id"
    ]
    metadata = {
        "rows": len(frame),
        "studies": int(frame["study_id"].nunique()),
        "studies_that_state_both": int(both.nunique()),
    }
    try:
        refuse_violations(frame, accounts, of_studies, context.configuration.processes)
    except InvalidTable as error:
        return outcome(False, {**metadata, "note": str(error)}, _NOT_STORED)
    guarantees = "\n".join(f"- {one}" for one in GUARANTEES)
    report = dg.MetadataValue.md(
        f"All guarantees hold for {len(frame)} rows:\n\n{guarantees}"
    )
    return outcome(True, {**metadata, "report": report})


VERIFIED = Check(
    "reference_ranking",
    "equals_trueskill_package",
    "Closed form and the `trueskill` package agree on a sample, and the ranking is what its matches give.",
    severity=ERROR,
)
CHECKS.append(VERIFIED)


def refused(step: str, error: InvalidTable) -> Iterator[dg.AssetCheckResult]:
    """The blocking check of a step of whose tables nothing is stored, because rows break rules."""
    for check in CHECKS:
        if check.blocking and check.table in RECIPES[step].tables:
            yield check.result(outcome(False, {"note": str(error)}, _NOT_STORED))


def may_be_stored(results: Sequence[dg.AssetCheckResult]) -> bool:
    """Whether no blocking check failed."""
    blocking = {check.name for check in CHECKS if check.blocking}
    return all(found.passed or found.check_name not in blocking for found in results)


def verification_result(found: Verification) -> dg.AssetCheckResult:
    """What `verify_with_package` found, as the result of the check `VERIFIED`."""
    remedy = "The rating arithmetic differs from the trueskill package: report this; do not use the ranking."
    return VERIFIED.result(outcome(found.passed, found._asdict(), remedy))


def check_specs(
    tables: Sequence[str], partitions: Partitions
) -> list[dg.AssetCheckSpec]:
    """Of the checks of tables that are made together, for `check_specs` of their asset."""
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=STEP_OF[check.table],
            description=check.description,
            blocking=check.blocking,
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
                found = outcome(False, {"note": str(error)}, remedy)
            yield check.result(found)
