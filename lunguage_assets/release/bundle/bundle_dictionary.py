"""The data dictionary of a release: the files that it has, with their columns, from the schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from lunguage_assets.quality.dictionary import table_section
from lunguage_assets.release.bundle.material import ANALYSES
from lunguage_assets.tables import (
    ACCOUNTING,
    ATTRIBUTES,
    CONFLICTS,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
    PUBLISHED_COLUMNS,
    REFERENCE_RANKING,
    REJECTED,
    RELEASE,
    RESOLUTION_LOG,
    SET_ASIDE,
)
from lunguage_assets.tables.analyses import PHRASE_SCALE
from lunguage_assets.tables.labels import CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, LABELS
from lunguage_assets.tables.paper import (
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_TABLE,
)
from lunguage_assets.tables.released import STUDIES
from lunguage_assets.tables.schema import Column, Table

_BATCH = RELEASE.column("report_batch")
_WRITTEN: Mapping[str, Column] = {
    "report": Column("report", "string", "Full report text", restricted=True),
    "DxTP": replace(LUNGUAGE_PLUS_PLUS.column("currency"), name="DxTP"),
    "evidence": Column(
        "evidence",
        "string",
        "Rows of the study that support this one, 'name, idxN', comma-separated; or bare names",
    ),
    "associate": Column(
        "associate",
        "string",
        "Rows of the study that this one goes with, 'name, idxN', comma-separated; or bare names",
    ),
}
_INTERNAL = {published: internal for internal, published in ATTRIBUTES.items()}

PUBLISHED = Table(
    "lunguage_plus_plus_csv",
    "Lunguage++ in exactly the thirty published columns. The Parquet of the same name has "
    "the same rows with their provenance.",
    tuple(
        _WRITTEN[name]
        if name in _WRITTEN
        else replace(LUNGUAGE_PLUS_PLUS.column(_INTERNAL.get(name, name)), name=name)
        for name in PUBLISHED_COLUMNS
    ),
    ("study_id", "idx"),
)


def _over_batches(table: Table) -> Table:
    return replace(table, columns=(*table.columns, _BATCH))


RESTRICTED_TABLES: Mapping[str, Table] = {
    "Lunguage_plus_plus.csv": PUBLISHED,
    "Lunguage_plus_plus.parquet": RELEASE,
    "resolution_log.csv": _over_batches(RESOLUTION_LOG),
    "conflicts.csv": _over_batches(CONFLICTS),
    "pathway_matches.csv": _over_batches(PATHWAY_MATCHES),
    "accounting.csv": _over_batches(ACCOUNTING),
    "set_aside.csv": _over_batches(SET_ASIDE),
    "rejected.csv": _over_batches(REJECTED),
    "labels.csv": LABELS,
    "labels.parquet": LABELS,
    "labels_chexpert.csv": CHEXPERT_LABELS,
    "labels_probability.csv": CHEXPERT_PROBABILITIES,
    "studies.csv": STUDIES,
    "studies.parquet": STUDIES,
}
OPEN_TABLES: Mapping[str, Table] = {
    "ranking.csv": REFERENCE_RANKING,
    f"{PHRASE_SCALE.name}.csv": PHRASE_SCALE,
    "table_certainty.csv": CERTAINTY_TABLE,
    "table_fit.csv": FIT_TABLE,
    "table_expansion.csv": EXPANSION_TABLE,
    "table_conflicts.csv": CONFLICT_TABLE,
    "table_figures.csv": CORPUS_FIGURES,
    **{f"{name}.csv": table for name, table in ANALYSES.items()},
}

_HEAD = """# Data dictionary of this release

Absent text is the empty string; "may be empty" means null. In CSV, lists are joined by '; '. Columns marked
*report text* hold patient text in a credentialed corpus. **A finding that a report does not mention is not
thereby absent.**
"""


def bundle_dictionary(open_files: Collection[str], restricted_files: Collection[str]) -> str:
    """The page for the files that a release has; a table that is there in several files is described once."""
    entries = [("restricted", file, table) for file, table in RESTRICTED_TABLES.items()]
    entries += [(part, file, table) for file, table in OPEN_TABLES.items() for part in ("open", "restricted")]
    present = {"restricted": restricted_files, "open": open_files}
    described: dict[str, tuple[Table, list[str]]] = {}
    for part, file, table in entries:
        if file in present[part]:
            described.setdefault(table.name, (table, []))[1].append(f"`{part}/{file}`")
    sections = (table_section(table, " and ".join(files), "") for table, files in described.values())
    return "\n".join([_HEAD, *sections])
