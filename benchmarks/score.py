"""How `lunguage_assets.score` agrees with people: `python benchmarks/score.py FILE`.

FILE (.csv, .csv.gz or .parquet) has a reference, a generated report and a rating in
every row. Printed is the rank correlation of every measure with the ratings (Kendall's
tau-b, which counts ties), with its 95% interval by a bootstrap over references, and
beside them that of the share of words that both reports have.

Without FILE: how the score answers reports that were changed on purpose. Invented
reports of eight statements are changed in one, two or three of them, in one way at a
time. The table has the score of the findings by the Brier and the logarithmic score,
what it lost of which kind, and beside them the F1 of the 14 CheXpert labels, counted
over all reports, with hedged labels as positive, as it is usual.

With `--ladders FILE` (tests/fixtures/score_ladders.csv) it prints the first ladder of
every behaviour, with scores; with `--speed FILE` (the Open-i collection) pairs a CPU
second.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import lunguage_assets
from lunguage_assets.corpus.whole_tables import read_table
from lunguage_assets.errors import InputError

SURE = "sure"
PROBABLE = "probable"
POSSIBLE = "possible"
DENIED = "denied"
SIDES = ("on the left", "on the right")
BASES = ("at the left base", "at the right base")
LOBES = ("in the right upper lobe", "in the left lower lobe")
FINDINGS = {
    "pleural effusion": SIDES, "pneumothorax": SIDES, "atelectasis": BASES, "consolidation": BASES,
    "pneumonia": LOBES, "pulmonary nodule": LOBES, "rib fracture": SIDES, "pulmonary edema": (),
    "cardiomegaly": (), "hiatal hernia": (), "pleural thickening": SIDES, "emphysema": (),
}  # fmt: skip
WORDED = {
    SURE: "There is {}.",
    PROBABLE: "Probable {}.",
    POSSIBLE: "Possible {}.",
    DENIED: "No {}.",
}
AGAIN = {SURE: "{} is present.", PROBABLE: "{} is probable.", POSSIBLE: "{} is possible.",
         DENIED: "{} is not seen."}  # fmt: skip
SYNONYMS = {"pleural effusion": "pleural fluid", "cardiomegaly": "enlarged heart"}
LOST = [
    "presence",
    "certainty",
    "omission",
    "invention",
    "name",
    "place",
    "description",
]
MEASURES = ["findings", *LOST]
RESAMPLES = 1000
BEHAVIOURS_SHOWN = ("place", "precision", "doubt added")
"""Of the ladders, on docs/score.md."""


@dataclass(frozen=True)
class Statement:
    """A finding, where, and how surely; `again`: in other words."""

    finding: str
    place: str
    said: str
    again: bool = False

    def __str__(self) -> str:
        name = (
            SYNONYMS.get(self.finding, self.finding)
            if self.again and self.said == SURE
            else self.finding
        )
        place = "" if self.said == DENIED else self.place
        words = (AGAIN if self.again else WORDED)[self.said].format(
            f"{name} {place}".strip()
        )
        return words[0].upper() + words[1:]


Report = tuple[Statement, ...]
Change = Callable[[Statement], Statement | None]


def _said(said: str) -> Change:
    return lambda statement: replace(statement, said=said)


def _elsewhere(statement: Statement) -> Statement:
    first, second = FINDINGS[statement.finding]
    return replace(statement, place=second if statement.place == first else first)


CHANGES: dict[str, tuple[Callable[[Statement], bool], Change]] = {
    "paraphrased": (lambda one: True, lambda one: replace(one, again=True)),
    "doubt added: probable": (lambda one: one.said == SURE, _said(PROBABLE)),
    "doubt added: possible": (lambda one: one.said == SURE, _said(POSSIBLE)),
    "doubt removed": (lambda one: one.said == POSSIBLE, _said(SURE)),
    "finding dropped": (lambda one: one.said == SURE, lambda one: None),
    "place changed": (lambda one: one.said == SURE and bool(one.place), _elsewhere),
    "negated": (lambda one: one.said == SURE, _said(DENIED)),
}


def reports(count: int, seed: int = 0) -> list[Report]:
    """Invented reports: three findings with a place stated, three possible, two
    denied.
    """
    draw = np.random.default_rng(seed)
    placed = [name for name, locations in FINDINGS.items() if locations]
    reports_drawn = []
    for _ in range(count):
        sure = draw.choice(placed, 3, replace=False).tolist()
        other_findings = draw.permutation(
            [name for name in FINDINGS if name not in sure]
        ).tolist()
        certainties = [SURE] * 3 + [POSSIBLE] * 3 + [DENIED] * 2
        names = [*sure, *other_findings[:5]]
        locations = [
            draw.choice(FINDINGS[name]) if FINDINGS[name] else "" for name in names
        ]
        reports_drawn.append(
            tuple(map(Statement, names, map(str, locations), certainties))
        )
    return reports_drawn


def changed(report: Report, name: str, size: int, draw: np.random.Generator) -> Report:
    """A report with a change of `size` statements; one that is invented is of a finding
    not spoken of.
    """
    if name == "finding invented":
        spoken_of = {statement.finding for statement in report}
        unspoken = [finding for finding in FINDINGS if finding not in spoken_of]
        names = draw.choice(unspoken, size, replace=False).tolist()
        return (
            *report,
            *(
                Statement(finding, (*FINDINGS[finding], "")[0], SURE)
                for finding in names
            ),
        )
    is_open, change = CHANGES[name]
    open_to = [number for number, statement in enumerate(report) if is_open(statement)]
    chosen = set(draw.choice(open_to, size, replace=False).tolist())
    statements = (
        change(statement) if number in chosen else statement
        for number, statement in enumerate(report)
    )
    return tuple(statement for statement in statements if statement is not None)


def text(report: Report) -> str:
    """The report in words."""
    return "FINDINGS: " + " ".join(map(str, report))


def positive_labels(texts: Sequence[str]) -> dict[str, set[str]]:
    """The CheXpert labels that each text states, with or without doubt."""
    distinct = list(dict.fromkeys(texts))
    frame = pd.DataFrame({"study_id": range(len(distinct)), "report": distinct})
    labels = lunguage_assets.annotate(frame).labels
    stated_labels = labels[(labels["chexpert"] != "") & (labels["source"] == "stated")]
    labels_by_report: dict[str, set[str]] = {
        text_of_report: set() for text_of_report in distinct
    }
    for number, name in zip(
        stated_labels["study_id"], stated_labels["chexpert"], strict=True
    ):
        labels_by_report[distinct[int(number)]].add(name)
    return labels_by_report


def label_f1(references: Sequence[str], generated: Sequence[str]) -> float:
    """Micro F1 of positive labels."""
    labels_by_report = positive_labels([*references, *generated])
    hit = sum(
        len(labels_by_report[a] & labels_by_report[b])
        for a, b in zip(references, generated, strict=True)
    )
    return (
        2
        * hit
        / sum(len(labels_by_report[report]) for report in (*references, *generated))
    )


def table(count: int) -> pd.DataFrame:
    """A row per change and size: the measures, and label F1."""
    originals = reports(count)
    draw = np.random.default_rng(1)
    rows = []
    references = [text(original) for original in originals]
    for name in (*CHANGES, "finding invented"):
        for size in (1, 2, 3):
            generated = [
                text(changed(original, name, size, draw)) for original in originals
            ]
            values = lunguage_assets.score(references, generated).corpus.loc[
                MEASURES, "value"
            ]
            rows.append(
                {
                    "change": name,
                    "of": size,
                    **values,
                    "label F1": label_f1(references, generated),
                }
            )
    return pd.DataFrame(rows)


def markdown(scores: pd.DataFrame) -> str:
    """The table of docs/score.md: `findings` by how many statements are changed, and
    the F1 of labels of the same.
    """
    changes = scores["change"].unique()
    lines = ["| change | 1 | 2 | 3 | label F1 of 1, 2, 3 |", "|---|---|---|---|---|"]
    for change in changes:
        rows = scores[scores["change"] == change].sort_values("of")
        findings = [f"{value:.2f}" for value in rows["findings"]]
        f1 = ", ".join(f"{value:.2f}" for value in rows["label F1"])
        lines.append("| " + " | ".join([change, *findings, f1]) + " |")
    return "\n".join(lines)


def speed(file: Path) -> str:
    """Pairs a CPU second: of texts that were never read, with references that were, and
    with both.
    """
    read = pd.read_csv(file, dtype="str").fillna("")
    texts = list(
        dict.fromkeys(
            "FINDINGS: " + read["findings"] + "\nIMPRESSION: " + read["impression"]
        )
    )
    lunguage_assets.rewards(texts[:50], texts[:50])
    chunks = [texts[50:550], texts[550:1050], texts[1050:1550]]
    lines = []
    pairs_by_name = {
        "both new": chunks[:2],
        "references known": [chunks[0], chunks[2]],
        "both known": [chunks[0], chunks[1]],
    }
    for pairs_name, pairs in pairs_by_name.items():
        begin = time.process_time()
        lunguage_assets.rewards(*pairs)
        lines.append(
            f"{pairs_name}: {len(pairs[0]) / (time.process_time() - begin):.0f} pairs a CPU second"
        )
    return "\n".join(lines)


def agreement(rated: pd.DataFrame, lower_is_better: bool = False) -> pd.DataFrame:
    """Correlate the measures with ratings.

    Args:
        rated: columns `reference`, `candidate` and `rating`.
        lower_is_better: the ratings count errors.

    Returns:
        A row per measure, and one for the words in common: `tau` and its 95% interval
        `low` to `high`, from references that are drawn again with all their candidates
        (candidates of one report are alike).
    """
    references = rated["reference"].fillna("").tolist()
    candidates = rated["candidate"].fillna("").tolist()
    values = lunguage_assets.score(references, candidates).studies[["findings"]]
    values["words in common"] = [
        words_in_common(reference, candidate)
        for reference, candidate in zip(references, candidates, strict=True)
    ]
    ratings = rated["rating"].to_numpy(dtype=float) * (-1.0 if lower_is_better else 1.0)
    # Two texts in which nothing is read have no score: here they agree in nothing.
    values = values.fillna(0.0)
    groups = rated.reset_index(drop=True).groupby("reference", dropna=False)
    rows_by_reference = [*groups.indices.values()]
    draw = np.random.default_rng(0)
    resampled = []
    for _ in range(RESAMPLES):
        drawn = draw.integers(len(rows_by_reference), size=len(rows_by_reference))
        resampled.append(
            np.concatenate([rows_by_reference[number] for number in drawn])
        )
    rows = []
    for measure in values:
        scores = values[measure].to_numpy()
        taus = [
            kendalltau(scores[drawn], ratings[drawn]).statistic for drawn in resampled
        ]
        low, high = np.nanquantile(taus, (0.025, 0.975))
        tau = kendalltau(scores, ratings).statistic
        rows.append({"measure": measure, "tau": tau, "low": low, "high": high})
    return pd.DataFrame(rows)


def words_in_common(reference: str, candidate: str) -> float:
    """F1 of the words of two texts, each as often as it stands there: a baseline that
    knows no medicine.
    """
    first = Counter(re.findall(r"[a-z0-9.]+", reference.lower()))
    second = Counter(re.findall(r"[a-z0-9.]+", candidate.lower()))
    return 2.0 * (first & second).total() / max(first.total() + second.total(), 1)


def read_rated(file: Path, reference: str, candidate: str, rating: str) -> pd.DataFrame:
    """The pairs of a file and their ratings, from the columns that are named.

    Raises:
        InputError: a column is missing, a rating is no number, or there are fewer than
            two rows.
    """
    table = read_table(file, (reference, candidate, rating))
    ratings = pd.to_numeric(table[rating], errors="coerce")
    if ratings.isna().any():
        row = int(ratings.isna().to_numpy().argmax()) + 1
        raise InputError(
            file.name,
            "no number",
            "a number",
            "Rate every row, or leave it out.",
            row=row,
            column=rating,
        )
    if len(table) < 2:
        raise InputError(
            file.name, f"{len(table)} rows", "two rows or more", "Give more pairs."
        )
    return pd.DataFrame(
        {
            "reference": table[reference],
            "candidate": table[candidate],
            "rating": ratings,
        }
    )


def behaviours(file: Path) -> str:
    """The first ladder of every behaviour that the page shows, from the best generated
    report to the worst, with its scores.
    """
    ladders = pd.read_csv(file)
    ladders = ladders[ladders["behaviour"].isin(BEHAVIOURS_SHOWN)]
    first_ladders = ladders.drop_duplicates("behaviour")["ladder"]
    chosen_ladders = ladders[ladders["ladder"].isin(first_ladders)]
    scores = lunguage_assets.rewards(
        chosen_ladders["reference"].tolist(), chosen_ladders["candidate"].tolist()
    )
    lines = ["| behaviour | reference | generated | score |", "|---|---|---|---|"]
    previous_ladder = ""
    for row, value in zip(chosen_ladders.itertuples(index=False), scores, strict=True):
        is_first = row.ladder != previous_ladder
        previous_ladder = row.ladder
        start = f"{row.behaviour} | {row.reference}" if is_first else " | "
        lines.append(f"| {start} | {row.candidate} | {value:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print what the options ask for."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("file", type=Path, nargs="?", help="pairs with ratings")
    options.add_argument(
        "--reference", default="reference", help="column of the references"
    )
    options.add_argument(
        "--candidate", default="candidate", help="column of the generated reports"
    )
    options.add_argument("--rating", default="rating", help="column of the ratings")
    options.add_argument(
        "--lower-is-better", action="store_true", help="the ratings count errors"
    )
    options.add_argument(
        "--reports", type=int, default=12, help="how many are changed on purpose"
    )
    options.add_argument(
        "--ladders", type=Path, default=None, help="invented reports by behaviour"
    )
    options.add_argument(
        "--speed", type=Path, default=None, help="the Open-i collection"
    )
    chosen = options.parse_args()
    if chosen.speed:
        print(speed(chosen.speed))
    elif chosen.ladders:
        print(behaviours(chosen.ladders))
    elif chosen.file:
        try:
            rated = read_rated(
                chosen.file, chosen.reference, chosen.candidate, chosen.rating
            )
        except InputError as error:
            raise SystemExit(str(error)) from None
        print(
            f"{len(rated)} pairs of {rated['reference'].nunique(dropna=False)} references"
        )
        print(agreement(rated, chosen.lower_is_better).round(3).to_string(index=False))
    else:
        print(markdown(table(chosen.reports)))


if __name__ == "__main__":
    main()
