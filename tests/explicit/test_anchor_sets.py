"""The published anchors, and files of one's own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.probability import (
    Anchor,
    anchors_in_use,
    published_anchors,
)


def ratings(folder: Path, *rows: tuple[str, str, str, float]) -> Path:
    path = folder / "anchor_ratings.csv"
    path.write_text(
        "rater,phrase,sentence,rating\n"
        + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    )
    return path


def test_without_ratings_the_papers_anchors_are_used(tmp_path: Path) -> None:
    chosen = anchors_in_use(tmp_path / "anchor_ratings.csv")
    assert chosen == published_anchors()
    assert "2511.04506" in chosen.source
    assert list(chosen.anchors) == [
        Anchor("less likely", 0.170, 0.156, 0.185),
        Anchor("most likely", 0.839, 0.818, 0.860),
    ]


def test_ratings_become_anchors_with_the_confidence_interval_of_their_mean(
    tmp_path: Path,
) -> None:
    values = [10, 20, 15, 25, 30]
    rows = [(f"r{i}", "Less  Likely", "s", value) for i, value in enumerate(values)]
    rows += [(f"r{i}", "sure", "s", value) for i, value in enumerate((80, 90, 85))]
    low, high = anchors_in_use(ratings(tmp_path, *rows)).anchors
    margin = 1.959964 * np.std(values, ddof=1) / math.sqrt(5) / 100
    assert (low.phrase, low.probability) == ("less likely", pytest.approx(0.20))
    assert [low.low, low.high] == pytest.approx([0.20 - margin, 0.20 + margin])
    assert (high.phrase, high.probability) == ("sure", pytest.approx(0.85))
    ends = [("r", "may", "s", 2), ("r", "sure", "s", 95), ("q", "sure", "s", 100)]
    may, sure = anchors_in_use(ratings(tmp_path, *ends)).anchors
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
        anchors_in_use(path)
