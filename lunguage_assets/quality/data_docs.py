"""Great Expectations' Data Docs of a home: one page per stored partition with the outcome of every rule, one
per suite, and an index.

Only counts go in: the results are cut down to a list of known numbers before great_expectations writes
anything, whatever the corpus. How its pages are made fit for a machine without network is in
`offline_pages.py`.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from upath import UPath

from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.home.store import PARTITIONED_BY, read_table
from lunguage_assets.quality.offline_pages import IndexRow, make_offline, write_index
from lunguage_assets.quality.remedies import COLUMNS, remedy
from lunguage_assets.quality.suites import load_suite
from lunguage_assets.quality.validation import file_context, frame_batch, suite_of
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table

MARK = ".lunguage-data-docs"
"""File that says that a folder holds nothing but Data Docs, which may be replaced."""

COUNTS = (
    "element_count",
    "unexpected_count",
    "unexpected_percent",
    "unexpected_percent_total",
    "unexpected_percent_nonmissing",
    "missing_count",
    "missing_percent",
)
"""All that is kept of a rule's result. Everything else may hold values of the table."""

_WITHHELD = {
    "raised_exception": True,
    "exception_message": "withheld: it may quote a value",
    "exception_traceback": None,
}
_NOTHING = {"raised_exception": False, "exception_message": None, "exception_traceback": None}


@dataclass(frozen=True)
class StoredPartition:
    """A table's partition as it lies in the store; `keys` as in its path."""

    table: Table
    keys: tuple[str, ...]
    path: UPath

    @property
    def label(self) -> str:
        return " x ".join(self.keys)

    @property
    def stored_at(self) -> datetime:
        """When the file was written; where the storage does not tell, the beginning of time."""
        try:
            return datetime.fromtimestamp(int(self.path.stat().st_mtime), UTC)
        except (OSError, AttributeError, NotImplementedError, TypeError, ValueError):
            return datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class DataDocs:
    """What was built: the page to open, how many partitions, and which have a rule that fails or cannot be
    read.
    """

    index: Path
    partitions: int
    failing: tuple[str, ...]
    unreadable: tuple[str, ...]


def stored_partitions(
    root: UPath | Path, tables: Sequence[str] = (), batches: Sequence[str] = ()
) -> list[StoredPartition]:
    """Every stored partition of the tables (all, unless some are named), in the order of the pipeline and of
    the keys.

    With `batches`, of tables that are partitioned by batch only these.
    """
    found = []
    for name in tables or TABLES:
        folder = UPath(root) / name
        paths = sorted(folder.rglob("*.parquet"), key=str) if folder.exists() else []
        for path in paths:
            if not path.name.startswith((".", "+")):
                keys = str(path)[len(str(folder)) :].strip("/").removesuffix(".parquet").split("/")
                batch = dict(zip(PARTITIONED_BY[name], keys, strict=False)).get("report_batch")
                if not batches or batch is None or batch in batches:
                    found.append(StoredPartition(TABLES[name], tuple(keys), path))
    return found


def build_data_docs(
    root: UPath | Path,
    out: Path,
    tables: Sequence[str] = (),
    batches: Sequence[str] = (),
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> DataDocs:
    """Build the site of everything that is stored aside, then put it in the place of an earlier one.

    Args:
        root: folder or place of the tables.
        out: folder of the site; it must be empty, not there, or hold an earlier site.
        tables: names of tables, all by default.
        batches: keys of batches, all by default; tables that have no batches are there in any case.
        progress: told before each partition: how many are done, of how many, which is next.

    Raises:
        ConfigurationError: `out` holds something else, a table is not known, or nothing of a batch is stored.
    """
    _require_place(out, tables)
    partitions = stored_partitions(root, tables, batches)
    for batch in batches:
        if not any(batch in partition.keys for partition in partitions):
            raise ConfigurationError(
                f"no table of batch {batch!r} is stored. Name another one, or none for all."
            )
    with tempfile.TemporaryDirectory(prefix="lunguage-docs-") as project:
        context = file_context(Path(project))
        rows = list(_validated(context, partitions, progress))
        progress(len(partitions), len(partitions), "pages")
        context.build_data_docs()
        (site,) = Path(project).rglob("data_docs/local_site")
        if missing := [row.label for row in rows if row.page and not (site / row.page).exists()]:
            raise RuntimeError(f"great_expectations wrote no page for {', '.join(missing)}")
        make_offline(site)
        write_index(site, rows)
        (site / MARK).write_text(
            "Written by `lunguage docs`, and replaced as a whole by it.\n", encoding="utf-8"
        )
        _publish(site, out)
    return DataDocs(
        out / "index.html",
        len(partitions),
        tuple(row.label for row in rows if row.failing),
        tuple(row.label for row in rows if row.unreadable),
    )


def _validated(
    context: Any, partitions: Sequence[StoredPartition], progress: Callable[[int, int, str], None]
) -> Iterator[IndexRow]:
    """Run every suite, store what may be told of the results in the context, and say what the index has to
    show.
    """
    suites: dict[str, Any] = {}
    for number, partition in enumerate(partitions):
        name, label = partition.table.name, f"{partition.table.name} ({partition.label})"
        progress(number, len(partitions), label)
        if name not in suites:
            suites[name] = suite_of(load_suite(name), remedy)
            context.suites.add(suites[name])
        try:
            frame = read_table(partition.table, partition.path)
        except InvalidTable as error:
            yield IndexRow(name, partition.label, partition.stored_at, unreadable=str(error))
            continue
        outcome = frame_batch(frame).validate(
            suites[name], result_format={"result_format": "SUMMARY", "partial_unexpected_count": 0}
        )
        failing = _keep_counts(outcome, partition.table)
        page = _store(context, outcome, partition)
        yield IndexRow(
            name, partition.label, partition.stored_at, len(frame), len(outcome.results), failing, page
        )


def _keep_counts(outcome: Any, table: Table) -> int:
    """Cut every result down to its counts, in place; returns how many rules fail."""
    for result in outcome.results:
        counts: dict[str, Any] = {
            name: result.result[name] for name in COUNTS if isinstance(result.result.get(name), int | float)
        }
        observed = result.result.get("observed_value")
        if result.expectation_config.type == COLUMNS:
            counts["observed_value"] = table.names  # reading has asserted that the file has these columns
        elif isinstance(observed, int):
            counts["observed_value"] = observed
        result.result = counts
        result.exception_info = dict(
            _WITHHELD if (result.exception_info or {}).get("raised_exception") else _NOTHING
        )
    return sum(not result.success for result in outcome.results)


def _store(context: Any, outcome: Any, partition: StoredPartition) -> str:
    """Put a result where the site is built from; returns the path of its page in the site."""
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    name, run = partition.table.name, "+".join(partition.keys)  # '+' occurs in no partition key
    outcome.meta = {
        "great_expectations_version": outcome.meta["great_expectations_version"],
        "run_id": {"run_name": run, "run_time": partition.stored_at.isoformat()},
        "batch_kwargs": {"data_asset_name": f"{name} ({partition.label})"},
    }
    identifier = ValidationResultIdentifier(
        expectation_suite_identifier=ExpectationSuiteIdentifier(name=name),
        run_id=RunIdentifier(run_name=run, run_time=partition.stored_at),
        batch_identifier=run,
    )
    context.validation_results_store.set(identifier, outcome)
    return "/".join(["validations", *identifier.to_tuple()]) + ".html"


def _require_place(out: Path, tables: Sequence[str]) -> None:
    unknown = [name for name in tables if name not in TABLES]
    if unknown:
        raise ConfigurationError(f"table {unknown[0]!r} is not known; expected one of {', '.join(TABLES)}.")
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).exists())):
        raise ConfigurationError(
            f"{out} holds something else than Data Docs. Name an empty folder, or one that is not "
            "there, with --out."
        )


def _publish(site: Path, out: Path) -> None:
    """Copy the site beside its place, then swap: who has the old one open keeps whole pages until then."""
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.{uuid.uuid4().hex}.tmp")
    try:
        shutil.copytree(site, aside)
        if out.exists():
            shutil.rmtree(out)
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
