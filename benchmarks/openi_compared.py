"""Labels on Open-i beside published ones, as the tables of docs/compared.md: `python
benchmarks/openi_compared.py indiana_reports.csv [--reports IDS] [--gold CSV] [--labels
CSV]`.

Reads the collection as `benchmarks/openi.py` does, and compares with what people coded.
`--reports` keeps the reports of a list (one `CXR12` a line, as NegBio's
`openi-testset.txt`), `--gold` takes the truth from NegBio's `openi_gld_std14.csv`
instead of the codes, and `--labels` adds another labeler's answers: a CSV with `uid`
and CheXpert's columns of 1, 0, -1 and blank. Published figures, in
`openi_published.csv`: table 18 of Wang et al., ChestX-ray8 (arXiv 1705.02315v5), whose
"our method" became NegBio.

An answer of -1 (hedged, in either direction) becomes a decision by a policy; each is
named. Printed are counts and scores, never text and never a report's id.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from openi import DIAGNOSES, Compared, Reader, by_annotate, compare, read_collection

PUBLISHED = Path(__file__).with_name("openi_published.csv")
GOLD = {
    "atelectasis": "Atelectasis", "cardiomegaly": "Cardiomegaly", "pleural effusion": "Effusion",
    "pneumonia": "Pneumonia", "pneumothorax": "Pneumothorax", "consolidation": "Consolidation",
    "pulmonary edema": "Edema", "emphysema": "Emphysema",
}  # fmt: skip
"""Columns of NegBio's gold standard by label: those of its 14 that are labels of this
project.
"""
CHEXPERT = {"pleural effusion": "Pleural Effusion"}
"""CheXpert's name, where it is another one than NegBio's."""
NUMBERS = [number for number, one in enumerate(DIAGNOSES) if one.label in GOLD]

Answers = NDArray[np.float64]
"""1, 0, -1 (hedged) or nan (not asked), shape (reports, labels)."""
POLICIES = {
    "U-Zeros": "-1 is 0",
    "U-Ones": "-1 is 1",
    "U-Ignore": "cells of -1 are left out",
    "p of 0.5 or more": "-1 is 1 where p is at least 0.5",
    "p": "-1 is p itself",
}


def decided(
    answers: Answers, policy: str, p: NDArray[np.float64] | None = None
) -> Answers:
    """Predictions from 0 to 1 under a policy of -1; nan: left out. The last two
    policies need `p`.
    """
    if p is None:
        by_policy: Mapping[str, object] = {
            "U-Zeros": 0.0,
            "U-Ones": 1.0,
            "U-Ignore": np.nan,
        }
    else:
        by_policy = {
            "U-Zeros": 0.0,
            "U-Ones": 1.0,
            "U-Ignore": np.nan,
            "p of 0.5 or more": p >= 0.5,
            "p": p,
        }
    return np.where(answers == -1, np.asarray(by_policy[policy], dtype=float), answers)


def answers_of(compared: Compared) -> Answers:
    """What was read, in the values of CheXpert's files; unmentioned is 0, as a score
    needs an answer.
    """
    return np.where(compared.hedged, -1.0, compared.present.astype(float))


def scores(truth: NDArray[np.bool_], predicted: Answers) -> tuple[float, float, float]:
    """Precision, recall and F1 of some cells (predicted from 0.5 on); those of nan are
    left out.
    """
    is_asked = ~np.isnan(predicted)
    is_predicted = predicted[is_asked] >= 0.5
    is_true = truth[is_asked]
    hit = float((is_predicted & is_true).sum())
    ratio = [
        hit / total if total else np.nan
        for total in (is_predicted.sum(), is_true.sum())
    ]
    total = is_predicted.sum() + is_true.sum()
    return ratio[0], ratio[1], 2 * hit / total if total else np.nan


def brier(truth: NDArray[np.bool_], predicted: Answers) -> float:
    """Mean squared distance of the cells that are not left out; nan of none."""
    is_asked = ~np.isnan(predicted)
    return (
        float(((predicted - truth)[is_asked] ** 2).mean()) if is_asked.any() else np.nan
    )


def beside_published(compared: Compared, other_answers: Answers | None) -> pd.DataFrame:
    """F1 per label: published, ours by two policies, another labeler's; the mean of the
    labels last.
    """
    published = (
        pd.read_csv(PUBLISHED).pivot(index="label", columns="tool", values="f1") / 100
    )
    answers = answers_of(compared)
    rows = []
    for at, number in enumerate(NUMBERS):
        truth = compared.coded[:, at]
        name = DIAGNOSES[number].label
        row = {
            "label": name,
            "coded": int(truth.sum()),
            **published.loc[name].to_dict(),
        }
        row["this, U-Zeros"] = scores(truth, decided(answers, "U-Zeros")[:, at])[2]
        row["this, p of 0.5 or more"] = scores(
            truth, decided(answers, "p of 0.5 or more", compared.p)[:, at]
        )[2]
        if other_answers is not None:
            row["other, U-Zeros"] = scores(
                truth, decided(other_answers, "U-Zeros")[:, at]
            )[2]
        rows.append(row)
    frame = pd.DataFrame(rows).sort_values("coded", ascending=False, kind="stable")
    mean = frame.drop(columns=["label", "coded"]).mean().to_dict()
    return pd.concat(
        [
            frame,
            pd.DataFrame([{"label": "mean", "coded": frame["coded"].sum(), **mean}]),
        ]
    )


def by_policy(
    compared: Compared, answers: Answers, p: NDArray[np.float64] | None, reader: str
) -> pd.DataFrame:
    """F1 (mean of the labels, all decisions together) and Brier score of every
    policy.
    """
    rows = []
    for policy, policy_text in POLICIES.items():
        if p is None and policy.startswith("p"):
            continue
        predicted = decided(answers, policy, p)
        scores_of_labels = [
            scores(compared.coded[:, at], predicted[:, at])[2]
            for at in range(len(NUMBERS))
        ]
        together = scores(compared.coded.ravel(), predicted.ravel())[2]
        hedged = brier(compared.coded[answers == -1], predicted[answers == -1])
        rows.append(
            {
                "labels": reader,
                "policy": policy,
                "meaning": policy_text,
                "macro F1": np.nanmean(scores_of_labels),
            }
            | {
                "micro F1": together,
                "Brier": brier(compared.coded, predicted),
                "Brier of the hedged": hedged,
            }
        )
    return pd.DataFrame(rows)


def by_certainty(compared: Compared) -> pd.DataFrame:
    """What people coded of each class of certainty, per label: cells, share coded, and
    Brier scores of the hedged cells, as p and as the two policies.
    """
    rows = []
    for at, number in [*enumerate(NUMBERS), (slice(None), None)]:
        kind_of_decision = compared.kinds[:, at].astype(str)
        truth = compared.coded[:, at]
        p = compared.p[:, at]
        hedged = compared.hedged[:, at]
        stated = compared.present[:, at] & ~hedged
        denied = np.char.startswith(kind_of_decision, "denied") & ~hedged
        row: dict[str, object] = {
            "label": "all" if number is None else DIAGNOSES[number].label
        }
        for name, cells in (("stated", stated), ("hedged", hedged), ("denied", denied)):
            row |= {
                name: int(cells.sum()),
                f"{name}, coded": truth[cells].mean() if cells.any() else np.nan,
            }
        rows.append(
            row
            | {"Brier of p": brier(truth[hedged], p[hedged])}
            | {f"of {name}": brier(truth[hedged], np.full(hedged.sum(), float(value)))
               for value, name in ((0, "U-Zeros"), (1, "U-Ones"))}
        )  # fmt: skip
    return pd.DataFrame(rows)


def restricted(compared: Compared, keep: NDArray[np.bool_]) -> Compared:
    """The reports to keep, and the labels that are compared."""
    field_names = ("coded", "present", "p", "hedged", "kinds")
    return replace(
        compared,
        **{name: getattr(compared, name)[keep][:, NUMBERS] for name in field_names},
    )


def of_file(
    file: Path, key: str, columns: Sequence[str], ids: pd.Series
) -> NDArray[np.float64]:
    """Cells of a labels file for these reports, in their order, nan where it is blank.

    Raises:
        SystemExit: the file has not these columns, or not these reports.
    """
    frame = pd.read_csv(file, dtype={key: str})
    if missing := [name for name in (key, *columns) if name not in frame.columns]:
        raise SystemExit(
            f"{file}: columns {missing} are missing; found {', '.join(frame.columns)}"
        )
    rows = frame.set_index(frame[key].str.removeprefix("CXR"))[list(columns)]
    if absent := len(set(ids) - set(rows.index)):
        raise SystemExit(
            f"{file}: {absent} of {len(ids)} reports are missing; expected all of them"
        )
    return rows.loc[ids.tolist()].to_numpy(dtype=float)


def markdown(frame: pd.DataFrame) -> str:
    """A table of a page; shares with two decimals, Brier scores with three."""

    def cell(name: str, value: object) -> str:
        if not isinstance(value, float):
            return str(value)
        return (
            ""
            if np.isnan(value)
            else f"{value:.{3 if name.startswith(('Brier', 'of ')) else 2}f}"
        )

    lines = [" | ".join(frame.columns), "|".join("---" for _ in frame.columns)]
    lines += [
        " | ".join(cell(*pair) for pair in row.items())
        for row in frame.to_dict("records")
    ]
    return "\n".join(
        f"| {line} |".replace("| ---", "|---").replace("--- |", "---|")
        for line in lines
    )


def main(arguments: Sequence[str], reader: Reader = by_annotate) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("file", type=Path, help="indiana_reports.csv")
    for name, help_text in (("reports", "ids to keep, one a line"), ("gold", "NegBio's openi_gld_std14.csv"),
                       ("labels", "another labeler's answers")):  # fmt: skip
        options.add_argument(f"--{name}", type=Path, default=None, help=help_text)
    chosen = options.parse_args(arguments)
    collection = read_collection(chosen.file)
    if chosen.reports is not None:
        listed = {
            line.strip().removeprefix("CXR")
            for line in chosen.reports.read_text().splitlines()
        }
        collection = collection[collection["study_id"].isin(listed)].reset_index(
            drop=True
        )
    ids = collection["study_id"]
    compared = restricted(
        compare(collection, reader(collection)), np.ones(len(ids), dtype=bool)
    )
    names = [DIAGNOSES[number].label for number in NUMBERS]
    if chosen.gold is not None:
        truth = (
            of_file(chosen.gold, "filename", [GOLD[name] for name in names], ids) == 1
        )
        differ = int((truth != compared.coded).sum())
        print(
            f"the gold standard differs from the codes in {differ} of {truth.size:,} decisions\n"
        )
        compared = replace(compared, coded=truth)
    other_answers = None
    if chosen.labels is not None:
        columns = [
            CHEXPERT.get(name, GOLD[name]) for name in names if name != "emphysema"
        ]
        other_told = of_file(chosen.labels, "uid", columns, ids)
        other_answers = np.insert(
            np.nan_to_num(other_told), names.index("emphysema"), np.nan, axis=1
        )
    print(f"{len(ids)} coded reports\n")
    low, high = compared.intervals(2000)[:, 0]
    print(markdown(beside_published(compared, other_answers)), end="\n\n")
    print(
        f"95% interval of the mean F1 at p of 0.5 or more, over reports: {low:.2f} to {high:.2f}\n"
    )
    policies = [by_policy(compared, answers_of(compared), compared.p, "this")]
    policies += (
        [by_policy(compared, other_answers, None, "other")]
        if other_answers is not None
        else []
    )
    print(markdown(pd.concat(policies)), end="\n\n")
    print(markdown(by_certainty(compared)))


if __name__ == "__main__":
    main(sys.argv[1:])
