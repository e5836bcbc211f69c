"""What `lunguage calibrate` and `lunguage compare-labels` write into a folder: tables, pictures and a page.

Counts, shares and hedging phrases; no row of a study, no report text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lunguage_assets.data_files import page_template
from lunguage_assets.documents import markdown_table
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.files import replace_file, replace_text, write_csv
from lunguage_assets.pictures.plots import p_by_answer, reliability_diagram
from lunguage_assets.release.outcomes.calibrating import LabelOutcomes, as_ratings, reliability
from lunguage_assets.release.outcomes.comparing import Comparison
from lunguage_assets.release.outcomes.files import ANSWERS, OtherLabels

ANCHORS = "anchor_ratings.csv"


def write_calibration(
    folder: Path,
    file: str,
    of: tuple[str, str],
    found: LabelOutcomes,
    table: pd.DataFrame,
    anchors: Sequence[Anchor],
    why_none: str,
) -> list[Path]:
    """Write `calibration.csv`, `reliability.csv`, `reliability.png`, `calibration.md`, and the anchors where
    there are some.

    Args:
        folder: is made.
        file: name of the outcomes file.
        of: ranker and version of the release.
        found: labels with an outcome.
        table: CALIBRATION of them.
        anchors: refitted ones, or none, and then
        why_none: why.
    """
    points = reliability(found.cells)
    picture = reliability_diagram(points, f"{len(found.cells)} labels with an outcome")
    shown = [(shown_phrase(a.phrase), a.probability, a.low, a.high) for a in anchors]
    page = page_template("release", "calibration.md.j2").render(
        ranker=of[0],
        version=of[1],
        file=file,
        found=found,
        table=markdown_table(table),
        anchors=anchors
        and markdown_table(pd.DataFrame(shown, columns=["phrase", "probability", "low", "high"])),
        why_none=why_none,
    )
    tables = {"calibration.csv": table, "reliability.csv": points}
    if anchors:
        tables[ANCHORS] = as_ratings(anchors)
    else:
        (folder / ANCHORS).unlink(missing_ok=True)
    written = _write_tables(folder, tables)
    replace_file(folder / "reliability.png", lambda stream: stream.write(picture))
    replace_text(folder / "calibration.md", page)  # last: it speaks of the others
    return [*written, *(folder / name for name in ("reliability.png", "calibration.md"))]


def write_comparison(
    folder: Path, file: str, of: tuple[str, str], others: OtherLabels, found: Comparison, labels: pd.DataFrame
) -> list[Path]:
    """Write `crossed.csv`, `agreement.csv`, `p_against_positives.csv`, `p_by_answer.png` and
    `comparison.md`.
    """
    tables = {"crossed": found.crossed, "agreement": found.agreement, "p_against_positives": found.ranked}
    met = others.cells.merge(labels[["study_id", "label", "p"]], on=["study_id", "label"])
    met = met[met["p"].notna()]
    values = {said: met.loc[met["said"] == said, "p"].to_numpy().astype(float) for said in ANSWERS}
    page = page_template("release", "comparison.md.j2").render(
        ranker=of[0],
        version=of[1],
        file=file,
        found=found,
        ignored=others.ignored,
        tables={name: markdown_table(frame) for name, frame in tables.items()},
    )
    named = {f"{name}.csv": frame for name, frame in tables.items()}
    picture = p_by_answer(values)
    written = _write_tables(folder, named)
    replace_file(folder / "p_by_answer.png", lambda stream: stream.write(picture))
    replace_text(folder / "comparison.md", page)
    return [*written, *(folder / name for name in ("p_by_answer.png", "comparison.md"))]


def _write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    for name, frame in tables.items():
        write_csv(frame, folder / name)
    return [folder / name for name in tables]
