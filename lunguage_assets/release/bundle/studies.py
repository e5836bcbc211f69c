"""The studies of a release, with identifiers as numbers too."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.tables.released import STUDIES


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
