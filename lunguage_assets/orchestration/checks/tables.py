"""Checks of stored tables: the rules of every table, the guarantees of the result, the accounts.

The guarantees are blocking; they are also asserted before a table is stored and when the release reads it,
because blocking checks do not reach assets with other partitions.
"""

import dagster as dg

from lunguage_assets.current.plan import first_job
from lunguage_assets.implicit.resolution.accounting import balance, explained_studies
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.orchestration.checks.look import Check, Found, Look, check
from lunguage_assets.orchestration.metadata import EXAMPLES, examples, markdown
from lunguage_assets.quality.suites import derived_rules
from lunguage_assets.quality.validation import record_results, schema_results, suite_results
from lunguage_assets.tables import TABLES

_RESOLVE_AGAIN = (
    "Launch `expand` for this ranker and batch: it stores nothing unless every guarantee holds, so the file "
    "was changed after it was stored. If it is refused there, too, report it with the keys. The release "
    "leaves this result alone until then: it asserts the same."
)
_ACCOUNT_AGAIN = (
    "Launch `expand` for this ranker and batch. If studies are still not accounted for, report it with "
    "their ids: rows were lost or doubled, and the result must not be used."
)


def expectations(table: str) -> Check:
    """The rules of a table: those of its schema, which the store has asserted, and those written by hand. It
    reports failing rules with the keys of failing rows.
    """

    def look(at: Look) -> Found:
        frame, schema, job = at.table(table), TABLES[table], first_job(table)
        by_suite = suite_results(schema, frame, job, by_hand=not at.all_rules)
        by_store = [] if at.all_rules else schema_results(schema, frame, job)
        results = [*record_results(schema, at.path(table), job), *by_store, *by_suite]
        failing, asserted = [rule for rule in results if not rule.success], len(derived_rules(schema))
        said = (
            f"Asserted when written: {asserted} rules. Run by Great Expectations now: {len(by_suite)} rules."
        )
        report = markdown(
            ["rule", "column", "rows", "keys", "why", "what to do"],
            ((r.rule, r.column, r.failing_rows, examples(r.failing_keys), r.why, r.remedy) for r in failing),
            f"{said} All hold for {len(frame)} rows.",
        )
        metadata = {
            "rows": len(frame),
            "rules_asserted_when_written": asserted,
            "rules_run_by_great_expectations": len(by_suite),
            "failing_rules": len(failing),
            "report": report,
        }
        remedy = " ".join(dict.fromkeys(rule.remedy for rule in failing))
        return Found(not failing, metadata, remedy, dg.AssetCheckSeverity.ERROR)

    return Check(
        table,
        "expectations",
        f"The rules of expectations/{table}.json: columns, empty values, codes, ranges, forms, keys, and "
        "rules written by hand.",
        look,
    )


@check(
    "lunguage_plus_plus",
    "conflict_free",
    "No finding twice at one place and time, no polarity clash, every generated row under a living parent "
    "and one stated root, every reference to an existing row, every delivered study present or explained.",
    blocking=True,
)
def conflict_free(look: Look) -> Found:
    """The guarantees of implicit.md section 5."""
    frame = look.table("lunguage_plus_plus")
    explained = explained_studies(look.table("accounting"))
    found = violations(frame, look.table("reports")["study_id"], explained)
    report = markdown(
        ["guarantee", "study", "rows"],
        ((v.guarantee, v.study_id, examples(v.finding_ids)) for v in found[:EXAMPLES]),
        f"All guarantees hold for {len(frame)} rows.",
    )
    metadata = {"rows": len(frame), "violations": len(found), "report": report}
    return Found(not found, metadata, _RESOLVE_AGAIN, dg.AssetCheckSeverity.ERROR)


_REPORT_RULE = (
    "The result is whole without these studies. A row that breaks a rule is a fault of this package or of a "
    "model's answer: look at them with `lunguage explain STUDY`, and report the rule and what was found."
)
_ACCOUNT = ("study_id", "rows_in", "originals_out", "merged", "removed", "excluded", "rejected", "set_aside",
            "generated", "discarded", "rows_out")  # fmt: skip


@check(
    "accounting",
    "accounts_balance",
    "For every study: rows in = originals out + merged + removed + excluded + rejected + set aside; and "
    "every delivered study is listed.",
    blocking=True,
)
def accounts_balance(look: Look) -> Found:
    frame = look.table("accounting")
    unbalanced = frame[~(frame["balanced"] & balance(frame))]
    unlisted = sorted(set(look.table("reports")["study_id"]) - set(frame["study_id"]))
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
    }
    return Found(not rows, metadata, _ACCOUNT_AGAIN, dg.AssetCheckSeverity.ERROR)


@check("set_aside", "none_set_aside", "No study was set aside because a row broke a rule.")
def none_set_aside(look: Look) -> Found:
    frame = look.table("set_aside")
    found = [
        (rule, rows["study_id"].nunique(), examples(rows["study_id"]), rows["found"].iloc[0])
        for rule, rows in frame.groupby("rule")
    ]
    header = ["rule", "studies", "for instance", "found"]
    metadata = {
        "studies": int(frame["study_id"].nunique()),
        "report": markdown(header, found, "No study was set aside."),
    }
    return Found(not len(frame), metadata, _REPORT_RULE)
