"""Checks of what was read in raw reports: quotes, accounts of sentences, refused values, drift."""

import dagster as dg
import pandas as pd

from lunguage_assets.orchestration.checks.drift import shares_found
from lunguage_assets.orchestration.checks.look import Found, Look, check, few
from lunguage_assets.orchestration.metadata import EXAMPLES, markdown
from lunguage_assets.quality.measures import reading_shares
from lunguage_assets.structuring.rows import read_spans, unquoted, without_account

_STRUCTURE_AGAIN = (
    "Launch `structure` for this structurer and batch, then `ingest`: it stores only what quotes the reports,"
    " so the file was changed after it was stored, or `report_texts` was made again since."
)
_ACCOUNT_AGAIN = (
    "Launch `structure` for this structurer and batch. If sentences are still without an account, report the "
    "structurer: nobody can say what became of them."
)


@check(
    "structured_findings",
    "spans_quote_reports",
    "Every cell is, word for word, what stands at its characters in the report.",
    blocking=True,
)
def spans_quote_reports(look: Look) -> Found:
    frame = look.table("structured_findings")
    wrong = unquoted(frame, look.table("report_texts"))
    metadata = {
        "rows": len(frame),
        "rows_that_quote_nothing": len(wrong),
        "report": _rows(wrong, f"All values of {len(frame)} rows quote their reports."),
    }
    return Found(not wrong, metadata, _STRUCTURE_AGAIN, dg.AssetCheckSeverity.ERROR)


@check(
    "sentence_accounts",
    "sentences_accounted",
    "Every sentence of findings and impression has an account, and as many rows as it says.",
    blocking=True,
)
def sentences_accounted(look: Look) -> Found:
    frame, findings = look.table("sentence_accounts"), look.table("structured_findings")
    missing = without_account(frame, look.table("report_sentences"))
    key = ["study_id", "section", "sent_idx"]
    counted = findings.groupby(key).size()
    said = frame[frame["rows"] > 0].set_index(key)["rows"]
    compared = pd.concat([counted, said], axis=1).fillna(0)
    differing = [tuple(place) for place in compared.index[compared.iloc[:, 0] != compared.iloc[:, 1]]]
    wrong = [*missing, *differing]
    metadata = {
        "sentences": len(frame),
        "without_account": len(missing),
        "with_other_rows": len(differing),
        "report": _rows(wrong, f"The accounts of {len(frame)} sentences are complete."),
    }
    return Found(not wrong, metadata, _ACCOUNT_AGAIN, dg.AssetCheckSeverity.ERROR)


@check(
    "sentence_accounts",
    "sentences_readable",
    "The structurer could read nearly all sentences of findings and impression.",
)
def sentences_readable(look: Look) -> Found:
    frame = look.table("sentence_accounts")
    frame = frame[frame["section"] != "hist"]
    unreadable = frame[frame["account"] == "unreadable"]
    places = unreadable[["study_id", "section", "sent_idx"]].itertuples(index=False, name=None)
    return few(
        ("unreadable", len(unreadable)),
        ("sentences", len(frame)),
        look.limits.unreadable_share,
        {"report": _rows(list(places), "Every sentence was read.")},
        "Look at some of these sentences. Another language or cut texts: deliver what is right as a new "
        "batch. A language model whose answers cannot be read: raise its output tokens, or choose another "
        "structurer with --structurer.",
    )


@check(
    "refused_values",
    "values_believed",
    "Few of the values that the structurer claimed were refused; the reasons say why.",
)
def values_believed(look: Look) -> Found:
    refused, findings = look.table("refused_values"), look.table("structured_findings")
    believed = sum(sum(map(len, read_spans(spans).values())) for spans in findings["spans"].tolist())
    claimed = believed + len(refused)
    reasons = refused["reason"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
    report = markdown(["reason", "values"], reasons.items(), f"All {claimed} values were believed.")
    return few(
        ("refused", len(refused)),
        ("values_claimed", claimed),
        look.limits.refused_share,
        {"report": report},
        "A structurer that claims what the reports do not say should not be trusted with the rest: look at "
        "the reasons, compare it with `rules`, and choose another model or prompt.",
    )


@check(
    "sentence_accounts",
    "reading_drift",
    "Sentences that state findings, say nothing, or cannot be read, and refused values, are as frequent as "
    "in earlier batches of the same structurer.",
)
def reading_drift(look: Look) -> Found:
    return shares_found(
        look,
        ("sentence_accounts", "structured_findings", "refused_values"),
        reading_shares,
        "Compare the delivery with an earlier one: another hospital or template is a reason. Headings that "
        "are no longer recognised (see `reading_notes`), cut texts or another language are faults. Then "
        "launch `read_reports`, `structure` and `ingest`.",
    )


def _rows(places: list[tuple[str, str, int]], fine: str) -> dg.MetadataValue:
    return markdown(["study", "section", "number"], places[:EXAMPLES], fine)
