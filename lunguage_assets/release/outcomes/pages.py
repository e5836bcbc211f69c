"""What `lunguage calibrate` and `lunguage compare-labels` write into a folder: tables, pictures and a page.

Counts, shares and hedging phrases; no row of a study, no report text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lunguage_assets.documents import markdown_table
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.files import replace_file, replace_text, write_csv
from lunguage_assets.pictures.reliability import p_by_answer, reliability_diagram
from lunguage_assets.release.outcomes.calibrating import Judged, as_ratings, reliability
from lunguage_assets.release.outcomes.comparing import Comparison
from lunguage_assets.release.outcomes.files import ANSWERS, OtherLabels

ANCHORS = "anchor_ratings.csv"

_CALIBRATION_PAGE = """# p against outcomes

Labels of release {version} of ranker `{ranker}` against {outcomes} outcomes of `{file}`: {cells} cells with
p, {unmentioned} without (unmentioned or contradictory), {unknown} of {unknown_studies} studies that the
release does not have. Counts are exact: round small ones before you pass this page on.

![Reliability diagram: mean p of each bin against the share of outcomes that are 1](reliability.png)

{table}

How to read it: slope 1 and intercept 0 are perfect; a slope below 1 means that p is too extreme, an intercept
below 0 that p is too high. Coverage is of groups of cells: how often the share of outcomes in a bin lies
within the bin's mean interval. p of what is stated without doubt is 1 or 0 by definition, and p of what is
implied is a bound. These numbers hold for studies that have an outcome, and no others.

## Anchors refitted to these outcomes

{anchors}
"""

_ADOPT = """{table}

To adopt them, read them first, then copy `{file}` into the home
(`cp {file} $LUNGUAGE_HOME/`): it takes the place of the anchors in use. `lunguage run` then makes every p
again, and asks no judge about a sentence that it has an answer for. Remove the file to go back. The two
ratings of a phrase lie one standard error below and above its refitted value; nobody gave them."""

_COMPARISON_PAGE = """# Labels beside those of `{file}`

Release {version} of ranker `{ranker}`: {studies} studies are in both; {only_theirs} only in the file,
{only_ours} only in the release. Not compared, because no label: {ignored}. Counts are
exact: round small ones before you pass this page on.

## Who says what

Columns are what the file says: 1, 0, -1 (uncertain) or blank.

{crossed}

## Agreement

Ours in the file's terms, as in `labels_chexpert.csv`: stated without doubt 1, denied without doubt 0, with
doubt -1, else blank. Kappa (Cohen) over these four, and over "1 or not".

{agreement}

## p against their positives

Labels with p, against cells of the file that say 1; `negatives` is what counts as not positive. AUROC: how
often a positive has the higher p.

![Histograms of p for every answer of the file](p_by_answer.png)

{ranked}
"""


def write_calibration(
    folder: Path,
    file: str,
    of: tuple[str, str],
    found: Judged,
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
    points = reliability(found.cells) if len(found.cells) else []
    write_csv(table, folder / "calibration.csv")
    write_csv(pd.DataFrame(points), folder / "reliability.csv")
    rows = [
        (
            one.mean_p,
            one.mean_low,
            one.mean_high,
            one.observed,
            one.observed_low,
            one.observed_high,
            one.cells,
        )
        for one in points
    ]
    picture = reliability_diagram(rows, f"{len(found.cells)} labels with an outcome")
    replace_file(folder / "reliability.png", lambda stream: stream.write(picture))
    written = [folder / name for name in ("calibration.csv", "reliability.csv", "reliability.png")]
    adopt = f"None: {why_none}."
    if anchors:
        write_csv(as_ratings(anchors), folder / ANCHORS)
        written.append(folder / ANCHORS)
        shown = pd.DataFrame(
            [(shown_phrase(a.phrase), a.probability, a.low, a.high) for a in anchors],
            columns=["phrase", "probability", "low", "high"],
        )
        adopt = _ADOPT.format(table=markdown_table(shown), file=ANCHORS)
    else:
        (folder / ANCHORS).unlink(missing_ok=True)
    page = _CALIBRATION_PAGE.format(
        ranker=of[0],
        version=of[1],
        file=file,
        outcomes=len(found.cells) + found.unmentioned + found.unknown,
        cells=len(found.cells),
        unmentioned=found.unmentioned,
        unknown=found.unknown,
        unknown_studies=found.unknown_studies,
        table=markdown_table(table),
        anchors=adopt,
    )
    replace_text(folder / "calibration.md", page)
    return [*written, folder / "calibration.md"]


def write_comparison(
    folder: Path, file: str, of: tuple[str, str], others: OtherLabels, found: Comparison, labels: pd.DataFrame
) -> list[Path]:
    """Write `crossed.csv`, `agreement.csv`, `p_against_positives.csv`, `p_by_answer.png` and
    `comparison.md`.
    """
    tables = {"crossed": found.crossed, "agreement": found.agreement, "p_against_positives": found.ranked}
    for name, frame in tables.items():
        write_csv(frame, folder / f"{name}.csv")
    met = others.cells.merge(labels[["study_id", "label", "p"]], on=["study_id", "label"])
    met = met[met["p"].notna()]
    values = {said: met.loc[met["said"] == said, "p"].to_numpy().astype(float) for said in ANSWERS}
    picture = p_by_answer(values)
    replace_file(folder / "p_by_answer.png", lambda stream: stream.write(picture))
    page = _COMPARISON_PAGE.format(
        ranker=of[0],
        version=of[1],
        file=file,
        studies=found.studies,
        only_theirs=found.only_theirs,
        only_ours=found.only_ours,
        ignored=", ".join(others.ignored) or "nothing",
        crossed=markdown_table(found.crossed),
        agreement=markdown_table(found.agreement),
        ranked=markdown_table(found.ranked),
    )
    replace_text(folder / "comparison.md", page)
    return [
        *(folder / f"{name}.csv" for name in tables),
        folder / "p_by_answer.png",
        folder / "comparison.md",
    ]
