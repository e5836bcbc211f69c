"""The data dictionary of a release: the files that it has, with their columns, from the schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from lunguage_assets.quality.dictionary import table_section
from lunguage_assets.release.bundle.material import ANALYSES
from lunguage_assets.tables import ATTRIBUTES, LUNGUAGE_PLUS_PLUS, PUBLISHED_COLUMNS, RELEASE, TABLES, paper
from lunguage_assets.tables.analyses import PHRASE_SCALE
from lunguage_assets.tables.labels import CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, LABELS
from lunguage_assets.tables.released import STUDIES
from lunguage_assets.tables.schema import Column, Table

_BATCH = RELEASE.column("report_batch")
_REFERENCES = "Rows of the study that {}, 'name, idxN', comma-separated; or bare names"
_WRITTEN: Mapping[str, Column] = {
    "report": Column("report", "string", "Full report text", restricted=True),
    "DxTP": replace(LUNGUAGE_PLUS_PLUS.column("currency"), name="DxTP"),
    "evidence": Column("evidence", "string", _REFERENCES.format("support this one")),
    "associate": Column("associate", "string", _REFERENCES.format("this one goes with")),
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


_STORED = ("resolution_log", "conflicts", "pathway_matches", "accounting", "set_aside", "rejected")
_RESTRICTED: Mapping[str, Table] = {
    "Lunguage_plus_plus.csv": PUBLISHED,
    "Lunguage_plus_plus.parquet": RELEASE,
    **{f"{name}.csv": replace(TABLES[name], columns=(*TABLES[name].columns, _BATCH)) for name in _STORED},
    "labels.csv": LABELS,
    "labels.parquet": LABELS,
    "labels_chexpert.csv": CHEXPERT_LABELS,
    "labels_probability.csv": CHEXPERT_PROBABILITIES,
    "studies.csv": STUDIES,
    "studies.parquet": STUDIES,
}
_OPEN: Mapping[str, Table] = {
    "ranking.csv": TABLES["reference_ranking"],
    "phrase_scale.csv": PHRASE_SCALE,
    "table_certainty.csv": paper.CERTAINTY_TABLE,
    "table_fit.csv": paper.FIT_TABLE,
    "table_expansion.csv": paper.EXPANSION_TABLE,
    "table_conflicts.csv": paper.CONFLICT_TABLE,
    "table_figures.csv": paper.CORPUS_FIGURES,
    **{f"{name}.csv": table for name, table in ANALYSES.items()},
}

_HEAD = """# Data dictionary of this release

Absent text is the empty string; "may be empty" means null. In CSV, lists are joined by '; '. Columns marked
*report text* hold patient text in a credentialed corpus. **A finding that a report does not mention is not
thereby absent.**
"""


def bundle_dictionary(open_files: Collection[str], restricted_files: Collection[str]) -> str:
    """The page for the files that a release has; a table that is there in several files is described once."""
    entries = [("restricted", file, table) for file, table in _RESTRICTED.items()]
    entries += [(part, file, table) for file, table in _OPEN.items() for part in ("open", "restricted")]
    present = {"restricted": restricted_files, "open": open_files}
    described: dict[str, tuple[Table, list[str]]] = {}
    for part, file, table in entries:
        if file in present[part]:
            described.setdefault(table.name, (table, []))[1].append(f"`{part}/{file}`")
    sections = (table_section(table, " and ".join(files), "") for table, files in described.values())
    return "\n".join([_HEAD, *sections])
