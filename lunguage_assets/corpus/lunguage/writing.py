"""Structured rows as a file in the form of Lunguage.csv, which any reader of the data set understands."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.tables import ATTRIBUTES, SECTIONS

_STATUS = {"p": "positive", "n": "negative", "d": "definitive", "t": "tentative"}


def lunguage_frame(
    report_texts: pd.DataFrame, structured_findings: pd.DataFrame, sequences: pd.Series | None = None
) -> pd.DataFrame:
    """Rows in the columns of Lunguage.csv, in the order of study, section and number of the finding.

    Reports in which no finding was read have no row. Write it with `frame.to_csv(path, index=False)`.

    Args:
        report_texts: `tables.REPORT_TEXTS` of all studies of the rows.
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        sequences: rank in the patient's time line by study id; without it the column is left out, and whoever
            reads the file counts.
    """
    rank = {section: place for place, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(_rank=structured_findings["section"].map(rank))
    rows = rows.sort_values(["study_id", "_rank", "ent_idx"], kind="stable", ignore_index=True)
    own = report_texts.set_index("study_id")
    names = {
        (study, f"{section}:{number}"): f"{name}, idx{number}"
        for study, section, number, name in zip(
            rows["study_id"], rows["section"], rows["ent_idx"], rows["normed_ent"], strict=True
        )
    }

    def named(column: str) -> list[str]:
        return [
            ", ".join(names[study, reference] for reference in references)
            for study, references in zip(rows["study_id"], rows[column], strict=True)
        ]

    columns = {
        "": range(len(rows)),
        "subject_id": rows["study_id"].map(own["subject_id"]),
        "study_id": rows["study_id"],
        **({} if sequences is None else {"sequence": rows["study_id"].map(sequences)}),
        "section": rows["section"],
        "report": rows["study_id"].map(own["report"]),
        **{name: rows[name] for name in ("sent_idx", "sent", "ent_idx", "ent", "normed_ent", "cat")},
        "dx_status": rows["status"].str[1].map(_STATUS),
        "dx_certainty": rows["status"].str[0].map(_STATUS),
        "location": rows["location"],
        "evidence": named("evidence"),
        "associate": named("associate"),
        **{published: rows[column] for column, published in ATTRIBUTES.items()},
    }
    return pd.DataFrame(columns)
