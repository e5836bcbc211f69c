"""Labels and the paper's tables as files of the release: Parquet, CSV, and pages that a person reads
first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.files import replace_file, replace_text, write_csv
from lunguage_assets.home.store import write_table
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.release.labels.label_file import load_label_list
from lunguage_assets.release.labels.labels import study_labels
from lunguage_assets.release.report.paper_tables import PaperTables, paper_tables
from lunguage_assets.release.report.published_tables import load_published_tables
from lunguage_assets.tables import TERMS
from lunguage_assets.tables.labels import LABELS
from lunguage_assets.tables.paper import CERTAINTY_TABLE, CONFLICT_TABLE, EXPANSION_TABLE

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
| `unmentioned` | nothing is known |

- p is the probability that the finding is present anywhere in the study. Rows of several places count together: one place is enough, and the denial
  of one place does not deny another. Of contradictory rows the report outranks what was generated, then the higher support decides.
- Past findings do not count as present (`past` says that there are some).
- Targets: `uncertain_as_one`, `uncertain_as_zero`, `uncertain_ignored` (empty where the report hedges: status tp or tn), `soft` (p itself).
- "no finding" is stated only by words such as "no acute cardiopulmonary process", and denied by whatever else is present.
- What counts as which label is listed in `resources/labels.yaml`.

## Counts

{counts}
"""

_TABLES_PAGE = """# The paper's tables on this corpus

{beside}

## Certainty by diagnosis

{certainty_text}

{certainty}

## Pathways: structure and use

{expansion_text}

{expansion}

## Conflicts before resolution

{conflicts_text}

{conflicts}

## Figures

{figures}
"""


def write_documents(
    tables: Mapping[str, pd.DataFrame], folder: Path, dictionary: PathwayDictionary | None = None
) -> PaperTables:
    """All files of this module for the tables of a release: labels, and the paper's tables, which are
    returned.

    Args:
        tables: `reports`, `pathway_matches`, `lunguage_plus_plus`, `resolution_log`, `conflicts` and
            `accounting`, by name.
        folder: where the release is.
        dictionary: the pathways that expanded the findings; None: the packaged ones.
    """
    labels = study_labels(
        tables["lunguage_plus_plus"], tables["pathway_matches"], tables["reports"], load_label_list()
    )
    write_labels(labels, folder)
    used = dictionary or load_dictionary(None, Vocabulary.from_terms(TERMS.frame()))
    counted = paper_tables(tables, used.statistics(), load_published_tables())
    write_paper_tables(counted, folder)
    return counted


def write_labels(labels: pd.DataFrame, folder: Path) -> None:
    """`labels.parquet`, `labels.csv` and the page `LABELS.md` that says what they are; each replaced as a
    whole.
    """
    write_table(LABELS, labels, folder / "labels.parquet")
    replace_file(
        folder / "labels.csv",
        lambda stream: labels.to_csv(stream, index=False, lineterminator="\n", chunksize=100_000),
    )
    counted = labels.groupby(["label", "source"], sort=False).size().unstack(fill_value=0)
    counted = counted.reindex(columns=list(LABELS.column("source").choices), fill_value=0).reset_index()
    page = _LABELS_PAGE.format(
        studies=labels["study_id"].nunique(), labels=labels["label"].nunique(), counts=markdown_table(counted)
    )
    replace_text(folder / "LABELS.md", page)


def write_paper_tables(tables: PaperTables, folder: Path, note: str = "") -> None:
    """`table_certainty.csv`, `table_expansion.csv`, `table_conflicts.csv`, `table_figures.csv`, and all of
    them, after a note, in `TABLES.md`.
    """
    for name in ("certainty", "expansion", "conflicts", "figures"):
        write_csv(getattr(tables, name), folder / f"table_{name}.csv")
    is_published = bool(tables.conflicts["published"].notna().any())
    beside = (
        "This corpus is the published one, so the published values stand beside."
        if is_published
        else "This corpus is not the published one, so no published values stand beside."
    )
    page = _TABLES_PAGE.format(
        beside=f"{beside} {note}".rstrip(),
        certainty_text=CERTAINTY_TABLE.description,
        certainty=markdown_table(tables.certainty),
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


def markdown_table(frame: pd.DataFrame, headings: Mapping[str, str] | None = None) -> str:
    """A frame as a Markdown table: numbers to the right, at most three decimals, missing values empty."""
    names = [str(name) for name in frame.columns]
    shown = [(headings or {}).get(name, name.replace("_", " ")) for name in names]
    numeric = [is_numeric(frame[name]) for name in names]
    lines = [_line(shown), _line(["---:" if right else "---" for right in numeric])]
    lines += [
        _line([_escaped(cell_text(value)) for value in values])
        for values in frame.itertuples(index=False, name=None)
    ]
    return "\n".join(lines)


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers only, among them counts of which only a bound is said ("<5")."""
    if pd.api.types.is_numeric_dtype(values):
        return not pd.api.types.is_bool_dtype(values)
    counts = [value for value in values.tolist() if value is not None] if values.dtype == object else []
    return bool(counts) and all(
        isinstance(value, int | float) or (isinstance(value, str) and value.startswith("<"))
        for value in counts
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def cell_text(value: Any) -> str:
    """A value as a reader of a table sees it: thousands apart, at most three decimals, nothing for a missing
    value.
    """
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
