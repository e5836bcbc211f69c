"""Hypothesis strategies of invented reports: every kind of row, place, claim and
reference.
"""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st
from invented_reports import StatedFinding, stated

ENTS = (
    "CHF", "congestive heart failure", "pulmonary edema", "interstitial edema", "consolidation",
    "lobar pneumonia", "pneumonia", "pna", "effusion", "pleural effusion", "opacity", "volume loss",
    "heart size", "cardiomegaly", "atelectasis", "COPD", "emphysema", "bronchitis", "cough", "dyspnea",
    "fever", "blunting", "nodule", "mass", "fracture", "a > b & (c) / d\\e",
)  # fmt: skip
PLACES = (
    "", "", "", "right", "left", "RUL", "right upper lobe", "lower lung", "right lower lung", "T8", "T9",
    "airspace", "cardiothoracic", "( ) > & \\ /, right",
)  # fmt: skip
STUDIES = ("s00000001", "s00000002")


ATTRIBUTES: tuple[dict[str, str], ...] = (
    {},
    {},
    {"measurement": "5 mm"},
    {"measurement": "8 mm"},
    {"measurement": "normal"},
    {"severity": "severe"},
    {"onset": "acute on chronic", "severity": "severe"},
    {"improved": "better"},
    {"worsened": "worse", "measurement": "5 mm"},
    {"past_hx": "history of"},
)
REFERENCES: tuple[list[int | str], ...] = (
    [], [], [0], [1, 11], [2, 0], [5, "~cough"], [99, 1], ["~opacity, idx1", 0],
)  # fmt: skip
DOUBTS = product(("tp", "tn"), (None, 0.01, 0.3, 0.5, 0.7, 0.99))
CLAIMS = (("dp", None), ("dp", None), ("dn", None), *DOUBTS)
VIEWS = ("", "ap", "pa, lateral", "lateral", "erect, supine, recumbent")


@st.composite
def statements(draw: st.DrawFn) -> StatedFinding:
    status, p = draw(st.sampled_from(CLAIMS))
    return stated(
        draw(st.sampled_from(ENTS)),
        status,
        p=p,
        location=draw(st.sampled_from(PLACES)),
        section=draw(st.sampled_from(["find", "find", "impr", "impr", "hist"])),
        view=draw(st.sampled_from(VIEWS)),
        study=draw(st.sampled_from(STUDIES)),
        sent_idx=draw(st.integers(0, 2)),
        evidence=draw(st.sampled_from(REFERENCES)),
        associate=draw(st.sampled_from(REFERENCES)),
        **draw(st.sampled_from(ATTRIBUTES)),
    )


reports = st.lists(statements(), max_size=9)
