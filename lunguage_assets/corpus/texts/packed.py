"""The one Parquet file in which a home stores raw reports of any layout."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.texts.raw import COLUMNS
from lunguage_assets.errors import damaged


def write_packed(reports: pd.DataFrame, path: Path) -> None:
    """Store reports in one file; reading it gives the same reports."""
    reports.to_parquet(path, compression="zstd", index=False)


def read_packed(path: Path) -> pd.DataFrame:
    """Read what `write_packed` wrote.

    Raises:
        InputError: the file is damaged.
    """
    try:
        # Not `pd.read_parquet`: its threads may abort a process that was forked.
        table = pq.ParquetFile(path).read([*COLUMNS], use_threads=False)
        # Columns that are not there are left out without a word.
        if table.column_names != [*COLUMNS]:
            raise pa.ArrowInvalid("other columns")
    except (pa.ArrowException, OSError) as error:
        raise damaged(
            path.name,
            "damaged data",
            error,
            "raw reports as a home stores them",
            "Register the delivery again, or restore the file.",
        ) from None
    reports: pd.DataFrame = table.to_pandas()
    return reports.astype(object)


def reports_digest(reports: pd.DataFrame) -> str:
    """Hash reports (sha256): the same however they are packed."""
    digest = hashlib.sha256()
    # The same text, packed or not, is the same delivery.
    files = reports["file"].map(lambda name: name.removesuffix(".gz"))
    for values in reports.assign(file=files).itertuples(index=False, name=None):
        # How Python writes them keeps one value apart from the next.
        digest.update(repr(values).encode())
    return digest.hexdigest()
