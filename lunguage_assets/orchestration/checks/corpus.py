"""Checks of what a delivery brought: how much of it could be used, and whether it contradicts itself."""

import pandas as pd

from lunguage_assets.orchestration.checks.look import Found, Look, check, few
from lunguage_assets.orchestration.metadata import examples, markdown


@check(
    "rejected", "intake_accepted", "Few of the delivered rows were rejected; the reasons say what to mend."
)
def intake_accepted(look: Look) -> Found:
    frame = look.table("rejected")
    delivered = int(look.table("reports")["rows_delivered"].sum()) + int((frame["study_id"] == "").sum())
    reasons = [
        (reason, len(rows), rows["expected"].iloc[0], rows["remedy"].iloc[0], examples(_lines(rows.head(3))))
        for reason, rows in sorted(
            frame.groupby("reason", sort=False), key=lambda group: (-len(group[1]), group[0])
        )
    ]
    header = ["reason", "rows", "expected", "what to do", "for instance"]
    return few(
        ("rejected", len(frame)),
        ("rows_delivered", delivered),
        look.limits.rejected_share,
        {
            "report": markdown(header, reasons, "Every delivered row was accepted."),
            "examples": examples(_lines(frame)),
        },
        "Mend the rows as the table says and deliver them as a new batch: the table `rejected` has each of "
        "them in its column `content`. If nearly all rows share one reason, the export writes a column in "
        "another form: mend the export, and deliver everything again. The rows that were accepted stay "
        "valid.",
    )


@check(
    "conflicts",
    "reports_consistent",
    "Few reports state that something is present and that it is not, at places that contain each other.",
)
def reports_consistent(look: Look) -> Found:
    """Statements that contradict each other by containment stay; the label has no target."""
    frame = look.table("conflicts")
    both = frame[frame["conflict_type"] == "stated_contradiction"]
    names = [(name, len(rows), examples(rows["study_id"])) for name, rows in both.groupby("name")]
    report = markdown(["finding", "contradictions", "studies"], names, "No report contradicts itself.")
    return few(
        ("studies", int(both["study_id"].nunique())),
        ("reports", len(look.table("reports"))),
        look.limits.contradicted_share,
        {"contradictions": len(both), "report": report},
        "Look at some of these studies with `lunguage explain STUDY`. If the reports do say both, nothing is "
        "wrong: their labels are `contradictory`. If they do not, the findings were structured wrongly, or a "
        "place is read wrongly: see resources/statements.yaml.",
    )


def _lines(rows: pd.DataFrame) -> list[str]:
    return [f"{file}:{line}" for file, line in zip(rows["file"], rows["line"], strict=True)]
