"""Labels and the paper's tables as files of the release: Parquet, CSV, and pages that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from lunguage_assets.documents import markdown_table
from lunguage_assets.files import replace_text, write_csv
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.release.growing import Append, growing_csv, growing_parquet
from lunguage_assets.release.labels.chexpert import chexpert_labels, chexpert_probabilities
from lunguage_assets.release.labels.labels import label_frame, what_is_said
from lunguage_assets.release.report.paper_tables import PaperTables
from lunguage_assets.tables.labels import LABELS
from lunguage_assets.tables.paper import CERTAINTY_TABLE, CONFLICT_TABLE, EXPANSION_TABLE, FIT_TABLE

_LABELS_PAGE = """# Study-level labels

**Unmentioned is not absent.** A label that a report says nothing about has source `unmentioned` and empty targets, never 0. Whoever fills the gaps
with 0 trains a classifier on what radiologists did not care to write down.

`labels.csv` and `labels.parquet` hold one row per study and label: {studies} studies, {labels} labels (the 14 diagnoses of the pathways, and the
names of CheXpert).

| source | meaning |
|---|---|
| `stated` | the report says that the finding is present, or may be |
| `implied` | a pathway of a stated diagnosis says so; p is a bound (`p_is_bound`) |
| `denied` | the report says that it is absent, or probably is; with `denied_at_place` only at one place |
| `contradictory` | the report says both; no target |
| `unmentioned` | nothing is known |

- p is the probability that the finding is present anywhere in the study. Rows of several places count together: one place is enough, and the denial
  of one place does not deny another. What the report says outranks what was generated. Where it says both, the label is `contradictory`.
- Past findings do not count as present (`past` says that there are some); what the report calls resolved is denied.
- Targets: `uncertain_as_one`, `uncertain_as_zero`, `uncertain_ignored` (empty where the report hedges: status tp or tn), `soft` (p itself). Implied
  labels are empty there; the same columns with the prefix `with_implied_` count them as present.
- "no finding" is stated only by words such as "no acute cardiopulmonary process", and denied by whatever else is present.
- What counts as which label is listed in `resources/labels.yaml`.

## In place of CheXpert's labels

`labels_chexpert.csv` has the columns and values of `mimic-cxr-2.0.0-chexpert.csv`, one row per study, so that code written for that file reads it
unchanged; `labels_probability.csv` has the same shape with p.

| cell | `labels_chexpert.csv`: what the report itself says |
|---|---|
| `1.0` | stated without doubt |
| `-1.0` | stated with doubt, in either direction ("may be", "is unlikely"), whatever p is; p is in the other file |
| `0.0` | denied without doubt, also at one place only (`denied_at_place`) |
| blank | not mentioned, mentioned as past, contradictory and left open, or only implied. **Not absent** |

- What is only implied by a pathway is blank, and never 1: a bound is no statement. Its p is in `labels_probability.csv`, where a blank means
  unmentioned. To train on implied labels, take `labels.csv` with source `implied`.
- Of contradictory statements the rules above decide; those that they leave undecided are blank.
- "No Finding" is as in the former file 1 or blank, and follows its definition: the study says something, nothing in another column but "Support Devices"
  is 1 or -1, and no other label is present. In `labels.csv` and `labels_probability.csv` it is only what the report says in so many words.

## Counts

{counts}
"""  # noqa: E501

_TABLES_PAGE = """# The paper's tables on this corpus

{beside}

## Certainty by diagnosis

{certainty_text}

{certainty}

## Fits

{fit_text}

{fit}

## Pathways: structure and use

{expansion_text}

{expansion}

## Conflicts before resolution

{conflicts_text}

{conflicts}

## Figures

{figures}
"""


@contextmanager
def writing_labels(folder: Path) -> Iterator[LabelFiles]:
    """`labels.parquet`, `labels.csv`, `labels_chexpert.csv` and `labels_probability.csv`, written some
    studies after others, and the page `LABELS.md`.
    """
    with (
        growing_csv(folder / "labels.csv") as csv,
        growing_parquet(LABELS, folder / "labels.parquet") as parquet,
        growing_csv(folder / "labels_chexpert.csv") as chexpert,
        growing_csv(folder / "labels_probability.csv") as probability,
    ):
        files = LabelFiles(csv, parquet, chexpert, probability)
        yield files
    replace_text(folder / "LABELS.md", files.page())


class LabelFiles:
    """The labels of some studies after those of others (`writing_labels`)."""

    TABLES = ("lunguage_plus_plus", "pathway_matches", "reports", "resolution_log")

    def __init__(self, csv: Append, parquet: Append, chexpert: Append, probability: Append) -> None:
        self._csv, self._parquet = csv, parquet
        self._chexpert, self._probability = chexpert, probability
        self._listed = load_label_list()
        self._studies = 0
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Write the labels of some studies, whole ones, whose tables are named in `TABLES`."""
        rows, matches, reports, log = (tables[name] for name in self.TABLES)
        said = what_is_said(rows, matches, self._listed, log)
        labels = label_frame(said, reports, self._listed)
        self._parquet(labels)
        self._csv(labels)
        self._chexpert(chexpert_labels(said, reports, self._listed))
        self._probability(chexpert_probabilities(labels))
        self._studies += labels["study_id"].nunique()
        self._counts.update(zip(labels["label"].tolist(), labels["source"].tolist(), strict=True))

    def page(self) -> str:
        """`LABELS.md`."""
        used = list(dict.fromkeys(label for label, _ in self._counts))  # in the order of the list
        sources = LABELS.column("source").choices
        counts = pd.DataFrame(
            {"label": used}
            | {source: [self._counts[label, str(source)] for label in used] for source in sources}
        )
        return _LABELS_PAGE.format(studies=self._studies, labels=len(used), counts=markdown_table(counts))


def write_paper_tables(tables: PaperTables, folder: Path, note: str = "") -> None:
    """`table_certainty.csv`, `table_fit.csv`, `table_expansion.csv`, `table_conflicts.csv`,
    `table_figures.csv`, and all of them, after a note, in `TABLES.md`.
    """
    for name in ("certainty", "fit", "expansion", "conflicts", "figures"):
        write_csv(getattr(tables, name), folder / f"table_{name}.csv")
    is_published = bool(tables.conflicts["published"].notna().any())
    beside = (
        "This corpus is the published one, so the published values stand beside."
        if is_published
        else "This corpus is not the published one, so no published values stand beside its counts."
    )
    page = _TABLES_PAGE.format(
        beside=f"{beside} {note}".rstrip(),
        certainty_text=CERTAINTY_TABLE.description,
        certainty=markdown_table(tables.certainty),
        fit_text=FIT_TABLE.description,
        fit=markdown_table(tables.fit),
        expansion_text=EXPANSION_TABLE.description,
        expansion=markdown_table(without_empty_published(tables.expansion)),
        conflicts_text=CONFLICT_TABLE.description,
        conflicts=markdown_table(without_empty_published(tables.conflicts)),
        figures=markdown_table(without_empty_published(tables.figures)),
    )
    replace_text(folder / "TABLES.md", page)


def without_empty_published(frame: pd.DataFrame) -> pd.DataFrame:
    """Without columns of published values that are all empty."""
    return frame.drop(
        columns=[name for name in frame.columns if name.startswith("published") and frame[name].isna().all()]
    )
