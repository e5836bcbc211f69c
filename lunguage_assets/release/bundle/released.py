"""The released rows: the published form of Lunguage++, exactly the thirty columns, references by number
(implicit.md section 6), and the studies with identifiers as numbers.
"""

from __future__ import annotations

import pandas as pd

from lunguage_assets.implicit.rows import BARE
from lunguage_assets.tables import ATTRIBUTES, PUBLISHED_COLUMNS
from lunguage_assets.tables.released import STUDIES


def published_frame(rows: pd.DataFrame, reports: pd.DataFrame) -> pd.DataFrame:
    """Rows in the published columns and order.

    Args:
        rows: `tables.LUNGUAGE_PLUS_PLUS` rows of any number of studies.
        reports: `tables.REPORTS` rows of the same studies; their text fills `report`.

    Returns:
        One row per input row, same order; `prob` rounded to six decimals; absent text is the empty string.
    """
    report_of = dict(zip(reports["study_id"], reports["report"], strict=True))
    names = dict(zip(rows["finding_id"], rows["ent"], strict=True))
    numbers = dict(zip(rows["finding_id"], rows["idx"], strict=True))

    def written(tokens: list[str]) -> str:
        pairs = [f"{names[own]}, idx{numbers[own]}" for own in tokens if not own.startswith(BARE)]
        bare = [token.removeprefix(BARE) for token in tokens if token.startswith(BARE)]
        return ", ".join([*pairs, *bare])  # before a pair a bare name would read as the beginning of its name

    published = {
        "cat": rows["cat"].str.upper(),
        "prob": rows["prob"].round(6),
        "evidence": [written(tokens) for tokens in rows["evidence"]],
        "associate": [written(tokens) for tokens in rows["associate"]],
        "report": [report_of[study] for study in rows["study_id"]],
        "DxTP": rows["currency"],
        **{public: rows[internal] for internal, public in ATTRIBUTES.items()},
    }
    columns = {name: published[name] if name in published else rows[name] for name in PUBLISHED_COLUMNS}
    return pd.DataFrame(columns, index=rows.index)


def released_rows(rows: pd.DataFrame, ranker: str, ranking: pd.DataFrame) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS rows with their batch, in the order of the release and with the columns of RELEASE:
    whose probabilities, who judged.
    """
    ordered = rows.sort_values(
        ["subject_id", "sequence", "study_id", "idx"], kind="stable", ignore_index=True
    )
    judges = list(ranking["judges"].iloc[0])
    return ordered.assign(
        ranker=pd.Series(ranker, index=ordered.index, dtype="str"),
        judges=pd.Series([judges] * len(ordered), index=ordered.index, dtype=object),
        ruler=pd.Series(str(ranking["ruler"].iloc[0]), index=ordered.index, dtype="str"),
    ).astype({"report_batch": "str"})


def studies_frame(accounts: pd.DataFrame, reports: pd.DataFrame, aside: pd.DataFrame) -> pd.DataFrame:
    """ACCOUNTING, REPORTS and SET_ASIDE of some studies to STUDIES, sorted by patient and study.

    Args:
        accounts: with the column `report_batch`.
        reports: of the same studies, without those that are set aside.
        aside: of the same studies.
    """
    columns = ["study_id", "subject_id", "view_information", "set_aside"]
    listed = [
        *((*one, "") for one in reports[columns[:3]].itertuples(index=False, name=None)),
        *((*own, "", "; ".join(rows["rule"].unique())) for own, rows in aside.groupby(columns[:2])),
    ]
    joined = accounts[["study_id", "report_batch", "rows_out"]].merge(
        pd.DataFrame(listed, columns=columns), on="study_id", validate="1:1"
    )
    joined["study_number"] = joined["study_id"].str[1:].astype("int64")
    joined["subject_number"] = joined["subject_id"].str[1:].astype("int64")
    ordered = joined.sort_values(["subject_number", "study_number"])
    return STUDIES.frame({name: ordered[name].tolist() for name in STUDIES.names})
