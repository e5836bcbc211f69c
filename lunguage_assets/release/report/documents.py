"""Files of the release: CSV and Parquet that are written a part at a time, into a folder that nobody reads
yet; and the files of labels.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from pandas.api.types import is_list_like

from lunguage_assets.data_files import page_template
from lunguage_assets.documents import markdown_table
from lunguage_assets.files import replace_text
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.release.labels.chexpert import chexpert_labels, chexpert_probabilities
from lunguage_assets.release.labels.labels import label_frame, what_is_said
from lunguage_assets.tables.labels import LABELS
from lunguage_assets.tables.schema import Table

Append = Callable[[pd.DataFrame], None]
"""Writes further rows of the same columns."""


@contextmanager
def growing_csv(path: Path) -> Iterator[Append]:
    """UTF-8, comma, LF, with one header; lists are joined by '; '."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:

        def append(frame: pd.DataFrame) -> None:
            flat(frame).to_csv(stream, index=False, header=stream.tell() == 0, lineterminator="\n")

        yield append
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def growing_parquet(table: Table, path: Path) -> Iterator[Append]:
    """One row group, or some, for every part, which is validated first (`Table.to_arrow`)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        with pq.ParquetWriter(stream, table.arrow, compression="zstd") as writer:
            yield lambda frame: writer.write_table(table.to_arrow(frame))
        stream.flush()
        os.fsync(stream.fileno())


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Lists joined by '; ', for a CSV; counts of which only a bound is said stay."""
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    joined = {name: ["; ".join(v) if is_list_like(v) else v for v in frame[name]] for name in mixed}
    return frame.assign(**joined)


LABEL_TABLES = ("lunguage_plus_plus", "pathway_matches", "reports", "resolution_log")


def write_labels(parts: Iterable[Mapping[str, pd.DataFrame]], folder: Path) -> None:
    """`labels.parquet`, `labels.csv`, `labels_chexpert.csv`, `labels_probability.csv` and `LABELS.md`.

    Args:
        parts: the tables `LABEL_TABLES` of some studies, whole ones, after those of others.
        folder: where the files come to be.
    """
    listed, counts, studies = load_label_list(), Counter[tuple[str, str]](), 0
    with (
        growing_csv(folder / "labels.csv") as csv,
        growing_parquet(LABELS, folder / "labels.parquet") as parquet,
        growing_csv(folder / "labels_chexpert.csv") as chexpert,
        growing_csv(folder / "labels_probability.csv") as probability,
    ):
        for tables in parts:
            rows, matches, reports, log = (tables[name] for name in LABEL_TABLES)
            said = what_is_said(rows, matches, listed, log)
            labels = label_frame(said, reports, listed)
            parquet(labels)
            csv(labels)
            chexpert(chexpert_labels(said, reports, listed))
            probability(chexpert_probabilities(labels))
            studies += labels["study_id"].nunique()
            counts.update(zip(labels["label"].tolist(), labels["source"].tolist(), strict=True))
    used = list(dict.fromkeys(label for label, _ in counts))  # in the order of the list
    sources = map(str, LABELS.column("source").choices)
    table = pd.DataFrame(
        {"label": used} | {source: [counts[label, source] for label in used] for source in sources}
    )
    template = page_template("release", "LABELS.md.j2")
    page = template.render(studies=studies, labels=len(used), counts=markdown_table(table))
    replace_text(folder / "LABELS.md", page)
