"""What of a batch is compared with earlier batches: the distribution of p, how often diagnoses expand, what
intake could not use.

A study that comes again in the new batch is left out of the earlier ones, so that nothing is compared with
itself. The comparison itself is in `drift.py`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.quality.drift import Sample, Share

P_COLUMNS = ("study_id", "p", "p_source", "ranking_version")
MATCH_COLUMNS = ("study_id", "diagnosis", "reason", "generated")
REPORT_COLUMNS = ("study_id", "rows_rejected", "view_source")
FINDING_COLUMNS = ("study_id", "status", "mask_state")

COULD_EXPAND = (
    "matched",
    "unknown view",
    "view not covered",
    "no pathway for this refinement",
    "no information on certainty",
)
"""Reasons of a stated, current, positive finding that is a diagnosis: whether it expands hangs on views,
wording and certainty.
"""


def without(earlier: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Earlier rows of studies that the new batch does not deliver again; of a study in several earlier
    batches, the newest.
    """
    last = earlier.drop_duplicates("study_id", keep="last").set_index("study_id")["report_batch"]
    newest = earlier["report_batch"].to_numpy() == earlier["study_id"].map(last).to_numpy()
    kept: pd.DataFrame = earlier[
        newest & ~earlier["study_id"].isin(set(new["study_id"])).to_numpy(dtype=bool)
    ]
    return kept


def p_sample(fitted: pd.DataFrame) -> Sample:
    """p of the pairs that have one on some ground."""
    informed = fitted[(fitted["p_source"] != "none").to_numpy(dtype=bool)]
    return Sample(informed["p"].to_numpy(dtype=np.float64), informed["study_id"].to_numpy(dtype=object))


def expansion_shares(new: pd.DataFrame, earlier: pd.DataFrame) -> list[Share]:
    """Per diagnosis: of the studies that could expand it, those that do; and of all studies, those that do.

    The first falls when views or refinements are no longer known, the second also when names are no longer
    recognised.
    """
    diagnoses = sorted(
        {name for frame in (new, earlier) for name in frame.loc[_eligible(frame), "diagnosis"]}
    )
    shares = []
    for name in diagnoses:
        could, does = zip(*(_studies_of(frame, name) for frame in (new, earlier)), strict=True)
        shares.append(Share(f"{name}: expands where it could", does[0], could[0], does[1], could[1]))
        shares.append(
            Share(
                f"{name}: expands in a study",
                does[0],
                new["study_id"].nunique(),
                does[1],
                earlier["study_id"].nunique(),
            )
        )
    return shares


def _eligible(frame: pd.DataFrame) -> pd.Series:
    return ~frame["generated"].astype(bool) & (frame["diagnosis"] != "") & frame["reason"].isin(COULD_EXPAND)


def _studies_of(frame: pd.DataFrame, diagnosis: str) -> tuple[int, int]:
    """Studies that could expand the diagnosis, and those that do."""
    rows = frame[_eligible(frame) & (frame["diagnosis"] == diagnosis)]
    return rows["study_id"].nunique(), rows.loc[rows["reason"] == "matched", "study_id"].nunique()


def intake_shares(
    reports: pd.DataFrame,
    findings: pd.DataFrame,
    earlier_reports: pd.DataFrame,
    earlier_findings: pd.DataFrame,
) -> list[Share]:
    """Studies with rejected rows, without known views, with tentative findings, with findings that are not in
    their sentence.
    """
    here, before = _intake_counts(reports, findings), _intake_counts(earlier_reports, earlier_findings)
    return [Share(label, hits, studies, *before[label]) for label, (hits, studies) in here.items()]


def _intake_counts(reports: pd.DataFrame, findings: pd.DataFrame) -> dict[str, tuple[int, int]]:
    tentative = findings[findings["status"].isin(["tp", "tn"]) & (findings["mask_state"] != "not needed")]
    hedged = tentative["study_id"].nunique()
    return {
        "studies with a rejected row": (int((reports["rows_rejected"] > 0).sum()), len(reports)),
        "studies without known views": (int((reports["view_source"] == "unknown").sum()), len(reports)),
        "studies with a tentative finding": (hedged, len(reports)),
        "of these, studies with a finding that is not in its sentence": (
            tentative.loc[tentative["mask_state"] == "not located", "study_id"].nunique(),
            hedged,
        ),
    }
