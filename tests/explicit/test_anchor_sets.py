"""Named sets of anchors, and files of one's own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tentative_findings import published_scale

from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.probability import (
    Anchor,
    calibrate,
    chosen_anchors,
    published_anchors,
)

_, RULER = published_scale()
PHRASES = set(RULER["phrase"])


def ratings(folder: Path, *rows: tuple[str, str, str, float]) -> Path:
    path = folder / "anchor_ratings.csv"
    path.write_text(
        "rater,phrase,sentence,rating\n"
        + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    )
    return path


def test_the_published_set_is_the_default() -> None:
    chosen = chosen_anchors("")
    assert (chosen.name, chosen.anchors) == ("published", published_anchors())
    assert "2511.04506" in chosen.source
    assert list(chosen.anchors) == [
        Anchor("less likely", 0.170, 0.156, 0.185),
        Anchor("most likely", 0.839, 0.818, 0.860),
    ]


def test_an_optional_anchor_counts_where_ranked_a_needed_one_is_missed() -> None:
    chosen = chosen_anchors("bwh")
    ranked = [anchor.phrase for anchor in chosen.of(PHRASES)]
    assert ranked == ["most likely", "likely", "may represent"]
    assert "unlikely" in [anchor.phrase for anchor in chosen.of(PHRASES | {"unlikely"})]
    with pytest.raises(MethodError, match="no anchor phrase 'likely'"):
        calibrate(RULER[RULER["phrase"] != "likely"], chosen.of(PHRASES - {"likely"}))


def test_ratings_of_the_home_are_taken_unless_a_set_is_named(tmp_path: Path) -> None:
    path = ratings(tmp_path, ("a", "may be", "1", 40), ("a", "likely", "1", 80))
    chosen = chosen_anchors("", path)
    assert chosen.name == "ratings"
    assert chosen_anchors("published", path).anchors == published_anchors()


def test_an_unknown_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="expected one of published, bwh"):
        chosen_anchors("elsewhere")


def test_ratings_become_anchors_with_the_confidence_interval_of_their_mean(
    tmp_path: Path,
) -> None:
    values = [10, 20, 15, 25, 30]
    rows = [(f"r{i}", "Less  Likely", "s", value) for i, value in enumerate(values)]
    rows += [(f"r{i}", "sure", "s", value) for i, value in enumerate((80, 90, 85))]
    low, high = chosen_anchors("", ratings(tmp_path, *rows)).anchors
    margin = 1.959964 * np.std(values, ddof=1) / math.sqrt(5) / 100
    assert (low.phrase, low.probability) == ("less likely", pytest.approx(0.20))
    assert [low.low, low.high] == pytest.approx([0.20 - margin, 0.20 + margin])
    assert (high.phrase, high.probability) == ("sure", pytest.approx(0.85))
    ends = [("r", "may", "s", 2), ("r", "sure", "s", 95), ("q", "sure", "s", 100)]
    may, sure = chosen_anchors("", ratings(tmp_path, *ends)).anchors
    assert may.low == pytest.approx(0.02 * 0.01), "not below zero"
    assert sure.high == pytest.approx(1.0 - 0.025 * 0.01), "not beyond one"


@pytest.mark.parametrize(("rows", "problem"), [
    ("rater,phrase,sentence,rating", "no ratings"),
    ("rater,phrase,sentence,score\nr,p,s,50", "no column"),
    ("rater,phrase,sentence,rating\nr,p,s,50\nr,p,s,101", "row 2"),
    ("rater,phrase,sentence,rating\nr,p,s,", "no ratings"),
    ("rater,phrase,sentence,rating\nr,p,s", "row 1"),
    ("rater,phrase,sentence,rating\nr,p,s,50\nr,p,one, two,50", "row 2"),
    ('rater,phrase,sentence,rating\nr,p,"s,50\nr,p,"s",60', "unreadable"),
    ("rater,phrase,sentence,rating\nr,p,s,nan", "row 1"),
    ("rater,phrase,sentence,rating\nr,p,s,0\nq,p,s,0", "mean rating"),
])  # fmt: skip
def test_a_wrong_ratings_file_is_refused(
    tmp_path: Path, rows: str, problem: str
) -> None:
    path = tmp_path / "anchor_ratings.csv"
    path.write_text(rows + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        chosen_anchors("", path)
