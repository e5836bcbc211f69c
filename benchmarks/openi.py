"""Labels against what people coded, as the tables of docs/trust.md: `python
benchmarks/openi.py indiana_reports.csv [--errors FILE]`.

Takes the reports of the open chest X-ray collection of Indiana University as the web
has them (columns `uid, MeSH, Problems, image, indication, comparison, findings,
impression`), reads them with `lunguage_assets.annotate`, and compares with the terms
that people coded. Reports without codes ("no indexing") are left out. A diagnosis
counts as present when the report states it without doubt or p is at least 0.5; what a
pathway implies does not count, because people coded what the report says. Nothing is
written but counts of errors by kind: never text, never a report's id.

`F1` over all diagnoses is macro (mean of the diagnoses) and micro (all decisions
together), with 95% intervals from resampled reports. AUROC and Brier score use p, and 0
for what is not mentioned. Published F1, in `openi_published.csv`: table 18 of Wang et
al., ChestX-ray8 (arXiv 1705.02315v5), whose "our method" became NegBio; it counts a
hedged mention as absent, as the policy U-Zeros does here.

An answer of -1 (hedged, in either direction) becomes a decision by a policy; each is
named. Hedged statements are sorted by p into fifths: the share that people coded should
rise with p.

With `--implied` the signs that pathways imply, and the report does not state, are
ranked by their bound (implicit.md section 4), against whether people coded the sign:
AUROC with its 95% interval from resampled reports, and Brier score. Views are taken to
be PA and lateral.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS = (
    "uid",
    "MeSH",
    "Problems",
    "indication",
    "comparison",
    "findings",
    "impression",
)
READ = ("indication", "comparison", "findings", "impression")
NOT_CODED = "no indexing"
FIFTHS = 5
PUBLISHED = Path(__file__).with_name("openi_published.csv")

Reader = Callable[[pd.DataFrame], pd.DataFrame]
"""From `study_id, report` to labels: `study_id, label, source, status, p, p_source,
past`, a row per both.
"""


@dataclass(frozen=True)
class Diagnosis:
    """A label of resources/labels.yaml and what people coded for it.

    Args:
        label: name of the label.
        coded: terms that people coded, before the first '/', lower case.
        near: terms, up to any '/', with which people code what others would call the
            diagnosis.
        words: beginnings of words that name it, to tell a finding that was overlooked
            from one that has no word in the report.
    """

    label: str
    coded: tuple[str, ...]
    near: tuple[str, ...] = ()
    words: str = ""


_FILLED = ("airspace disease", "infiltrate", "opacity")
DIAGNOSES = (
    Diagnosis(
        "atelectasis",
        ("pulmonary atelectasis",),
        ("volume loss", "opacity"),
        r"\b(atelecta|collapse)",
    ),
    Diagnosis(
        "cardiomegaly",
        ("cardiomegaly",),
        ("cardiac shadow", "heart"),
        r"\b(cardiomegal|(enlarge|prominen)\w*[^.]{0,40}(heart|cardi)|(heart|cardi)[^.]{0,40}(enlarge|prominen))",
    ),
    Diagnosis(
        "pleural effusion",
        ("pleural effusion", "hydropneumothorax"),
        ("costophrenic angle", "thickening"),
        r"\b(effusion|pleural fluid|hydropneumo)",
    ),
    Diagnosis(
        "pulmonary edema",
        ("pulmonary edema",),
        ("pulmonary congestion", "heart failure"),
        r"\b(o?edema)",
    ),
    Diagnosis(
        "consolidation", ("consolidation",), (*_FILLED, "pneumonia"), r"\bconsolidat"
    ),
    Diagnosis(
        "pneumonia",
        ("pneumonia",),
        (*_FILLED, "consolidation"),
        r"\b(pneumonia|bronchopneumonia)",
    ),
    Diagnosis(
        "pneumothorax",
        ("pneumothorax", "hydropneumothorax"),
        (),
        r"\b(hydro)?pneumothora",
    ),
    Diagnosis(
        "emphysema",
        ("emphysema", "pulmonary emphysema", "bullous emphysema"),
        (
            "lung, hyperlucent",
            "lung/hyperdistention",
            "pulmonary disease, chronic obstructive",
        ),
        r"\bemphysem",
    ),
    Diagnosis("fracture", ("fractures, bone",), ("deformity",), r"\bfracture"),
    Diagnosis(
        "copd",
        ("pulmonary disease, chronic obstructive",),
        ("lung/hyperdistention", "emphysema", "pulmonary emphysema"),
        r"\b(copd|chronic obstructive|obstructive (pulmonary|lung|airway))",
    ),
)
"""People's codes to labels. Subcutaneous emphysema is none of the lung; "Cardiac
Shadow/enlarged" is near cardiomegaly and not the same code, so it counts as not coded.
"""


def read_collection(file: Path) -> pd.DataFrame:
    """The coded reports: `study_id`, `report`, `body` (findings and impression),
    `codes` (a set per report).

    Raises:
        SystemExit: the file has not the columns of the collection.
    """
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise SystemExit(
            f"{file}: columns {missing} are missing; expected {', '.join(COLUMNS)}"
        )
    codes = [
        frozenset(
            term.strip().lower()
            for cell in cells
            for term in cell.split(";")
            if term.strip()
        )
        for cells in zip(frame["MeSH"], frame["Problems"], strict=True)
    ]
    report = [
        "\n\n".join(
            f"{name.upper()}: {cell}"
            for name, cell in zip(READ, cells, strict=True)
            if cell.strip()
        )
        for cells in zip(*(frame[name] for name in READ), strict=True)
    ]
    body = frame["findings"] + "\n" + frame["impression"]
    reports_read = pd.DataFrame(
        {"study_id": frame["uid"], "report": report, "body": body, "codes": codes}
    )
    return reports_read[
        [
            NOT_CODED not in codes_of_report and bool(codes_of_report)
            for codes_of_report in codes
        ]
    ].reset_index(drop=True)


def is_coded(codes: frozenset[str], terms: Sequence[str]) -> bool:
    """Whether one of the terms was coded, with any qualifiers behind it."""
    return any(
        code == term or code.startswith(f"{term}/") for code in codes for term in terms
    )


@dataclass(frozen=True)
class Compared:
    """What people coded and what was read; arrays have the shape (reports,
    diagnoses).
    """

    coded: NDArray[np.bool_]
    present: NDArray[np.bool_]
    p: NDArray[np.float64]
    hedged: NDArray[np.bool_]
    kinds: NDArray[np.object_]
    """What was read, in words."""

    @property
    def scores(self) -> pd.DataFrame:
        """Per diagnosis: reports coded, precision, recall, F1, AUROC, Brier score, and
        F1 with hedges as absent beside the published tools, which do the same.
        """
        published = pd.read_csv(PUBLISHED).pivot(
            index="label", columns="tool", values="f1"
        )
        rows = []
        for number, diagnosis in enumerate(DIAGNOSES):
            coded = self.coded[:, number]
            present = self.present[:, number]
            p = self.p[:, number]
            hit = float((coded & present).sum())
            rows.append(
                {
                    "diagnosis": diagnosis.label,
                    "n": int(coded.sum()),
                    "read": int(present.sum()),
                    "precision": _ratio(hit, present.sum()),
                    "recall": _ratio(hit, coded.sum()),
                    "F1": _f1(coded, present),
                    "AUROC": auroc(p, coded),
                    "Brier": float(((p - coded) ** 2).mean()),
                    "F1 U-Zeros": _f1(coded, present & ~self.hedged[:, number]),
                }
            )
        scores = pd.DataFrame(rows).sort_values("n", ascending=False, kind="stable")
        return scores.join(published / 100, on="diagnosis")

    def by_policy(self) -> pd.DataFrame:
        """What a policy makes of hedges: F1 (mean of the diagnoses, all decisions
        together) and Brier score, of all cells and of the hedged ones.
        """
        predictions = {
            "U-Zeros": (0.0, "-1 is 0"),
            "U-Ones": (1.0, "-1 is 1"),
            "U-Ignore": (np.nan, "cells of -1 are left out"),
            "p of 0.5 or more": (self.p >= 0.5, "-1 is 1 where p is at least 0.5"),
            "p": (self.p, "-1 is p itself"),
        }
        rows = []
        for policy, (of_hedged, meaning) in predictions.items():
            predicted = np.where(self.hedged, of_hedged, self.present).astype(float)
            is_asked = ~np.isnan(predicted)
            is_predicted = predicted >= 0.5
            of_labels = [
                _f1(self.coded[asked, number], is_predicted[asked, number])
                for number, asked in enumerate(is_asked.T)
            ]
            distance = (predicted - self.coded) ** 2
            hedged = distance[self.hedged & is_asked]
            rows.append(
                {
                    "policy": policy,
                    "meaning": meaning,
                    "macro F1": float(np.nanmean(of_labels)),
                    "micro F1": _f1(self.coded[is_asked], is_predicted[is_asked]),
                    "Brier": float(distance[is_asked].mean()),
                    "Brier of the hedged": hedged.mean() if len(hedged) else np.nan,
                }
            )
        return pd.DataFrame(rows)

    def by_certainty(self) -> pd.DataFrame:
        """What people coded of each class of certainty, by diagnosis: cells, share
        coded, and the Brier score of the hedged cells as p, as 0 and as 1.
        """
        denied = np.char.startswith(self.kinds.astype(str), "denied") & ~self.hedged
        classes = {
            "stated": self.present & ~self.hedged,
            "hedged": self.hedged,
            "denied": denied,
        }
        numbers = {one.label: [number] for number, one in enumerate(DIAGNOSES)}
        rows = []
        for label, columns in {**numbers, "all": range(len(DIAGNOSES))}.items():
            row: dict[str, object] = {"diagnosis": label}
            coded = self.coded[:, columns]
            for name, cells in classes.items():
                coded_of_class = coded[cells[:, columns]]
                row[name] = len(coded_of_class)
                row[f"{name}, coded"] = _ratio(
                    coded_of_class.sum(), len(coded_of_class)
                )
            hedged = self.hedged[:, columns]
            share = coded[hedged].mean() if hedged.any() else np.nan
            distance = (self.p[:, columns] - coded)[hedged] ** 2
            row["Brier of p"] = distance.mean() if hedged.any() else np.nan
            row["Brier of 0"] = share
            row["Brier of 1"] = 1 - share
            rows.append(row)
        return pd.DataFrame(rows)

    def f1(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Macro and micro F1, shape (samples, 2), with reports weighted as in `weights`
        (samples, reports).

        A diagnosis that a sample has not is left out of its mean.
        """
        hit = weights @ (self.coded & self.present)
        there = weights @ self.coded.astype(float) + weights @ self.present.astype(
            float
        )
        with np.errstate(invalid="ignore"):
            macro = np.nanmean(2 * hit / there, axis=1)
            micro = 2 * hit.sum(axis=1) / there.sum(axis=1)
        return np.stack([macro, micro], axis=1)

    def intervals(self, resamples: int, seed: int = 0) -> NDArray[np.float64]:
        """95% intervals of macro and micro F1 over resampled reports, shape (2, 2):
        lower, upper.
        """
        size = len(self.coded)
        weights = np.random.default_rng(seed).multinomial(
            size, np.full(size, 1 / size), size=resamples
        )
        return np.quantile(self.f1(weights.astype(float)), (0.025, 0.975), axis=0)

    def fifths(self) -> pd.DataFrame:
        """Hedged statements by fifth of p: how many, mean p, share that people
        coded.
        """
        p = self.p[self.hedged]
        coded = self.coded[self.hedged]
        order = np.argsort(p, kind="stable")
        rows = [
            {
                "fifth": number + 1,
                "n": len(part),
                "p from": p[part].min(),
                "p to": p[part].max(),
                "mean p": p[part].mean(),
                "coded": coded[part].mean(),
            }
            for number, part in enumerate(np.array_split(order, FIFTHS))
            if len(part)
        ]
        return pd.DataFrame(
            rows, columns=["fifth", "n", "p from", "p to", "mean p", "coded"]
        )

    def errors(self) -> pd.DataFrame:
        """Decisions that differ from people's, by diagnosis and kind: counts alone."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for row, number in zip(*np.nonzero(self.coded != self.present), strict=True):
            what = "missed" if self.coded[row, number] else "not coded"
            counts[DIAGNOSES[number].label, what, str(self.kinds[row, number])] += 1
        rows = [
            (*kind, count)
            for kind, count in sorted(
                counts.items(), key=lambda one: (one[0][:2], -one[1])
            )
        ]
        return pd.DataFrame(rows, columns=["diagnosis", "error", "kind", "n"])


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _f1(coded: NDArray[np.bool_], present: NDArray[np.bool_]) -> float:
    return _ratio(2.0 * (coded & present).sum(), coded.sum() + present.sum())


def auroc(score: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Chance that a true one scores above a false one, ties half; nan when there are
    only such or such.
    """
    positives = int(truth.sum())
    negatives = int((~truth).sum())
    if not positives or not negatives:
        return float("nan")
    ranks = pd.Series(score).rank().to_numpy()
    return float(
        (ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    )


def compare(collection: pd.DataFrame, labels: pd.DataFrame) -> Compared:
    """What was read (`Reader`) against the codes of `read_collection`."""
    shape = len(collection), len(DIAGNOSES)
    coded, present, hedged = (np.zeros(shape, dtype=bool) for _ in range(3))
    p = np.zeros(shape)
    kinds = np.full(shape, "", dtype=object)
    by_label: Mapping[str, pd.DataFrame] = {
        str(label): rows.set_index("study_id")
        for label, rows in labels.groupby("label")
    }
    for number, diagnosis in enumerate(DIAGNOSES):
        label_rows = by_label[diagnosis.label].loc[collection["study_id"].tolist()]
        is_said = label_rows["source"].isin(["stated", "denied"]).to_numpy(dtype=bool)
        status = label_rows["status"].fillna("").to_numpy(dtype=object)
        coded[:, number] = [
            is_coded(codes, diagnosis.coded) for codes in collection["codes"]
        ]
        p[:, number] = np.where(
            is_said, label_rows["p"].fillna(0.0).to_numpy(dtype=float), 0.0
        )
        present[:, number] = is_said & ((p[:, number] >= 0.5) | (status == "dp"))
        restricted = (label_rows["p_source"] == "qualifier").to_numpy(dtype=bool)
        hedged[:, number] = is_said & np.isin(status, ("tp", "tn")) & ~restricted
        kinds[:, number] = [
            _kind(diagnosis, *values)
            for values in zip(
                label_rows["source"],
                status,
                label_rows["past"],
                present[:, number],
                collection["codes"],
                collection["body"],
                strict=True,
            )
        ]
    return Compared(coded, present, p, hedged, kinds)


def _kind(
    diagnosis: Diagnosis,
    source: str,
    status: str,
    past: bool,
    present: bool,
    codes: frozenset[str],
    body: str,
) -> str:
    """What was read of a diagnosis, as a kind of error if people coded otherwise."""
    doubt = "with doubt" if status[:1] == "t" else "without doubt"
    if present:
        if is_coded(codes, diagnosis.near):
            return f"stated {doubt}, a near term coded"
        return f"stated {doubt}, {'coded normal' if is_coded(codes, ('normal',)) else 'other terms coded'}"
    if source == "implied":
        return "implied only"
    if source in ("stated", "denied"):
        return f"{source} {doubt}"
    if past:
        return "past only"
    named = re.search(diagnosis.words, body, re.IGNORECASE)
    return (
        "unmentioned, but its word is there"
        if named
        else "unmentioned, and no word for it"
    )


def by_annotate(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels by the public functions of the package. People code a fracture however old
    it is, so one that is labelled as healed counts as a fracture here.
    """
    from lunguage_assets import annotate

    annotation = annotate(frame[["study_id", "report"]])
    fractures = annotation.findings[
        (annotation.findings["name"] == "fracture")
        & (annotation.findings["status"] != "dn")
    ]
    surest = (
        fractures.rename(columns={"prob": "p"})
        .sort_values("p")
        .drop_duplicates("study_id", keep="last")
        .set_index("study_id")
    )
    labels = annotation.labels.set_index("study_id")
    healed = labels.index[
        (labels["label"] == "benign or healed") & (labels["source"] == "stated")
    ]
    fracture = (labels["label"] == "fracture") & (labels["source"] == "unmentioned")
    fracture &= labels.index.isin(surest.index.intersection(healed))
    surest_rows = surest.loc[labels.index[fracture]]
    labels.loc[fracture, "source"] = "stated"
    for name in ("status", "p", "p_source"):
        labels.loc[fracture, name] = surest_rows[name].to_numpy()
    return labels.reset_index()


def markdown(frame: pd.DataFrame) -> str:
    """A table of a page; shares with two decimals, Brier scores with three."""
    cells = frame.astype(object)
    for name in frame.select_dtypes("float"):
        decimals = 3 if str(name).startswith("Brier") else 2
        cells[name] = [
            "" if np.isnan(value) else f"{value:.{decimals}f}" for value in frame[name]
        ]
    lines = [list(frame.columns), ["---"] * frame.shape[1], *cells.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def report(compared: Compared, resamples: int) -> str:
    """All figures as text."""
    macro, micro = compared.f1(np.ones((1, len(compared.coded))))[0]
    (low_macro, low_micro), (high_macro, high_micro) = compared.intervals(resamples)
    scores = compared.scores
    beside = scores.dropna(subset="NegBio")[["MetaMap", "NegBio", "F1 U-Zeros", "F1"]]
    means = ", ".join(f"{name} {mean:.2f}" for name, mean in beside.mean().items())
    hedged = compared.hedged
    p = compared.p[hedged]
    coded = compared.coded[hedged]
    distance = (compared.p - compared.coded) ** 2
    return "\n\n".join(
        [
            f"{len(compared.coded)} coded reports",
            markdown(scores),
            f"macro F1 {macro:.3f} ({low_macro:.3f} to {high_macro:.3f}), "
            f"micro F1 {micro:.3f} ({low_micro:.3f} to {high_micro:.3f}); of all "
            f"decisions AUROC {auroc(compared.p.ravel(), compared.coded.ravel()):.3f}, "
            f"Brier {distance.mean():.4f}",
            f"mean F1 of the {len(beside)} with a published one: {means}",
            markdown(compared.by_policy()),
            markdown(compared.by_certainty()),
            f"{len(p)} hedged statements by p; of all AUROC {auroc(p, coded):.3f}",
            markdown(compared.fifths()),
        ]
    )


_SIGNS = {
    "opacity": _FILLED, "consolidation": ("consolidation",), "pleural effusion": ("pleural effusion",),
    "cardiomegaly": ("cardiomegaly",), "pulmonary edema": ("pulmonary edema",), "nodule": ("nodule",),
    "emphysema": ("emphysema", "pulmonary emphysema"), "hyperinflation": ("lung/hyperdistention",),
    "deformity": ("deformity",), "blunting": ("costophrenic angle",), "volume loss": ("volume loss",),
    "lucency": ("lucency", "lung, hyperlucent"), "thickening": ("thickening",),
}  # fmt: skip
"""Signs that people code by a term of their own, which is not that of the diagnosis
that implies them.
"""


def implied_signs(collection: pd.DataFrame) -> pd.DataFrame:
    """Implied signs that have a code: report, name, bound, whether people coded it."""
    from lunguage_assets.annotation.given_reports import GivenReport
    from lunguage_assets.annotation.method import bundled_method

    studies = {
        f"s{number:08d}": text for number, text in enumerate(collection["report"])
    }
    findings = {
        study: GivenReport(study, text, "", "pa, lateral")
        for study, text in studies.items()
    }
    conclusion = bundled_method().conclude(bundled_method().read(findings))
    rows = conclusion["lunguage_plus_plus"]
    signs = rows[
        (rows["source"] == "expansion")
        & rows["status"].str.endswith("p")
        & rows["name"].isin(_SIGNS)
    ]
    codes = dict(zip(studies, collection["codes"], strict=True))
    coded = [
        is_coded(codes[study], _SIGNS[name])
        for study, name in zip(signs["study_id"], signs["name"], strict=True)
    ]
    return signs[["study_id", "name", "prob"]].assign(coded=coded)


def implied_report(signs: pd.DataFrame, resamples: int) -> str:
    """AUROC of the bound, all signs together with its interval, and by name."""

    def auroc_of_bound(rows: pd.DataFrame) -> float:
        return auroc(rows["prob"].to_numpy(), rows["coded"].to_numpy(dtype=bool))

    generator = np.random.default_rng(0)
    signs_by_study = [rows for _, rows in signs.groupby("study_id")]
    resampled = []
    for _ in range(resamples):
        drawn = generator.integers(len(signs_by_study), size=len(signs_by_study))
        rows = pd.concat([signs_by_study[number] for number in drawn])
        resampled.append(auroc_of_bound(rows))
    low, high = np.nanquantile(resampled, (0.025, 0.975))
    brier = ((signs["prob"] - signs["coded"]) ** 2).mean()
    by_name = [
        (str(name), len(rows), int(rows["coded"].sum()), auroc_of_bound(rows))
        for name, rows in signs.groupby("name")
    ]
    columns = ["sign", "n", "coded", "bound"]
    table = pd.DataFrame(by_name, columns=columns).round(3)
    return "\n".join(
        [
            f"{len(signs)} implied signs, {int(signs['coded'].sum())} of them coded",
            f"bound: AUROC {auroc_of_bound(signs):.3f} ({low:.3f} to {high:.3f})",
            f"Brier score of the bound: {brier:.3f}",
            table.to_string(index=False),
        ]
    )


def main(arguments: Sequence[str], reader: Reader = by_annotate) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("file", type=Path, help="indiana_reports.csv")
    options.add_argument(
        "--errors", type=Path, default=None, help="counts of errors by kind, as CSV"
    )
    options.add_argument("--resamples", type=int, default=2000)
    options.add_argument(
        "--implied", action="store_true", help="rank implied signs instead"
    )
    chosen = options.parse_args(arguments)
    collection = read_collection(chosen.file)
    if chosen.implied:
        print(implied_report(implied_signs(collection), chosen.resamples))
        return
    compared = compare(collection, reader(collection))
    print(report(compared, chosen.resamples))
    if chosen.errors is not None:
        compared.errors().to_csv(chosen.errors, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
