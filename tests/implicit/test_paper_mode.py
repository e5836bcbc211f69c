"""Mode `paper`: where it follows the paper and the method does not (docs/method.md
section 10).
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from generated_reports import reports
from hypothesis import given
from invented_reports import (
    STUDY,
    AlikeEmbedder,
    StatedFinding,
    identity,
    run,
    stated,
)
from profiles import examples

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.merging.merge_constraints import Blacklist, load_blacklist
from lunguage_assets.implicit.policy import PAPER, Policy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "method" / "implicit.md"


def test_the_page_lists_exactly_the_points_at_which_the_modes_differ() -> None:
    listed = re.findall(r"^ *\| `([a-z_]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [field.name for field in fields(Policy)]


@pytest.mark.parametrize(
    ("mode", "prob", "low", "high"),
    [("method", 0.2, 0.0, 0.76), ("paper", 0.6, 0.3, 0.8)],
)
def test_a_denied_sign_has_the_diagnosis_own_p_in_mode_paper(
    mode: str, prob: float, low: float, high: float
) -> None:
    """Pneumothorax with p 0.6, at least 0.3, denies markings: P(markings) is at most 1
    - 0.8 * 0.3, and the paper stores 0.6.
    """
    outcome = run([stated("pneumothorax", "tp", p=0.6)], mode=mode)
    marking = outcome.row(identity(0) + "/1")
    assert (marking["name"], marking["status"]) == ("marking", "tn")
    np.testing.assert_allclose(
        [marking["prob"], marking["p_low"], marking["p_high"]], [prob, low, high]
    )
    assert marking["support"] == pytest.approx(0.6)
    assert marking["prob_is_bound"]


def test_the_papers_pairs_hold_in_both_modes() -> None:
    listed = {
        "method": Blacklist([("scar", "nodule"), ("left", "right")]),
        "paper": Blacklist([("left", "right")], inside_words=True),
    }
    sides = [stated("opacity", location="left"), stated("opacity", location="right")]
    signs = [stated("scar"), stated("nodule")]
    for mode, merged in (("method", 0), ("paper", 1)):
        for rows, expected in ((sides, 0), (signs, merged)):
            outcome = run(
                rows, mode=mode, embedder=AlikeEmbedder(), listed=listed[mode]
            )
            assert outcome.deduplicated["merged_into"].notna().sum() == expected


def test_a_blacklist_without_the_papers_pairs_is_refused_in_mode_paper(
    tmp_path: Path,
) -> None:
    file = tmp_path / "blacklist.yaml"
    file.write_text("term_pairs:\n  - [left, right]\n")
    with pytest.raises(ConfigurationError, match="paper_pairs"):
        load_blacklist(file, PAPER)


@examples(10)
@given(reports)
def test_the_winner_in_mode_paper_has_the_highest_stated_p(
    rows: list[StatedFinding],
) -> None:
    """Told without the resolver: of the stated rows of a key that do not contradict
    each other definitely, none left had a higher p.
    """
    outcome = run(rows, mode="paper")
    kept = outcome.deduplicated[outcome.deduplicated["disposition"] == "kept"]
    key = ["study_id", "currency", "name", "places"]
    kept = kept.assign(places=kept["location_parts"].str.join("|"))
    places = outcome.rows["location_parts"].str.join("|")
    result = outcome.rows.assign(places=places).set_index(key)["prob"]
    for values, group in kept.groupby(key):
        if set(group["status"]) != {"dp", "dn"}:
            assert result.loc[[values]].tolist() == [group["prob"].max()]


DENIED_AND_SUSPECTED = [stated("pneumonia", "dn"), stated("pneumonia", "tp", p=0.2)]
"""A certain denial, and a weak suspicion that outlives it in mode paper."""


@pytest.mark.parametrize(
    ("rows", "row_id", "expected_modes"),
    [
        (DENIED_AND_SUSPECTED, "0", ["method"]),
        (DENIED_AND_SUSPECTED, "1", ["paper"]),
        ([stated("CHF", location="right"), stated("pulmonary edema", "dn")], "0/1", ["paper"]),
        ([stated("lung cancer"), stated("opacity", location="RUL")], "0/0", ["method"]),
        ([stated("consolidation", improved="resolved")], "0/0", ["paper"]),
        ([stated("scar", location="RUL"), stated("scar", "dn", location="upper lobe, right")], "1", ["paper"]),
    ],
)  # fmt: skip
def test_a_departure_decides_in_which_mode_a_row_is(
    rows: list[StatedFinding], row_id: str, expected_modes: list[str]
) -> None:
    for mode in ("method", "paper"):
        is_there = f"{STUDY}:{row_id}" in run(rows, mode=mode).ids()
        assert is_there is (mode in expected_modes)


def test_attributes_of_a_denied_sign_and_such_as_exclude_each_other() -> None:
    denied = stated("pneumothorax", severity="mild", no_change="stable")
    excluding = stated("mass", severity="mild"), stated("mass", "tp", severity="dense")
    for mode, course, united in (
        ("method", ("", ""), False),
        ("paper", ("mild", "stable"), True),
    ):
        marking = run([denied], mode=mode).row(identity(0) + "/1")
        assert (marking["severity"], marking["no_change"]) == course
        severity = run(excluding, mode=mode).row(identity(0))["severity"]
        assert (severity != "mild") is united
