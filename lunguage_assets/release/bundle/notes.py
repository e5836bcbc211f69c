"""Texts of a version of a release: README, which is also a card of Hugging Face, licence,
what each part may be used for (the words are in `resources/release/`), and the data dictionary of its files,
from the schemas.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import yaml

from lunguage_assets.data_files import page_template
from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.quality.dictionary import table_section
from lunguage_assets.release.bundle.context import ANALYSES, ReportContext
from lunguage_assets.release.bundle.provenance import Origin
from lunguage_assets.tables import ATTRIBUTES, LUNGUAGE_PLUS_PLUS, PUBLISHED_COLUMNS, RELEASE, TABLES, paper
from lunguage_assets.tables.analyses import PHRASE_SCALE
from lunguage_assets.tables.labels import CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, LABELS
from lunguage_assets.tables.released import STUDIES
from lunguage_assets.tables.schema import Column, Table

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
}
_CONFIGURATIONS: Mapping[str, str] = {
    "findings": "Lunguage_plus_plus.parquet",
    "labels": "labels.parquet",
    "studies": "studies.parquet",
}
"""Name of a data set -> its file in the restricted part, all of one format, since Hugging Face's loader takes
one for all.
"""


def notes(context: ReportContext) -> dict[str, str]:
    """The texts of a version by their paths in it; none names the version."""
    provenance = context.provenance
    apart = float(context.ranking["reading_sd"].iloc[0])  # how wide the intervals of p are
    values = {
        "origin": context.origin,
        "part": context.part,
        "card": card_header(context.origin),
        "software": " ".join(provenance["software"][key] for key in ("name", "version")),
        "batches": [key for key, batch in provenance["batches"].items() if batch["included"]],
        "ranker": provenance["ranker"],
        "members": provenance["members"],
        "is_rule_based": not context.language_models,
        "structurer": provenance["structurer"],
        "apart": apart,
        "is_measured": context.has_own_ruler and len(provenance["members"]) > 1,
        "is_most": apart >= BETA - 0.05,
    }
    return {path: page_template("release", template).render(values) for path, template in _TEMPLATES.items()}


def card_header(origin: Origin) -> str:
    """The YAML block with which Hugging Face's cards begin: `datasets.load_dataset(FOLDER)` reads it."""
    licence = (
        {"license": "mit"}
        if origin.is_synthetic
        else {"license": "other", "license_name": "agreement-of-the-corpus", "license_link": "LICENSE"}
    )
    values = {
        "pretty_name": f"Lunguage++ of {origin.corpus.name}",
        **licence,
        "language": ["en"],
        "task_categories": ["text-classification", "tabular-classification"],
        "tags": ["radiology", "chest x-ray", "clinical uncertainty", "medical"],
        "configs": [
            {"config_name": name, "data_files": f"restricted/{file}"}
            | ({"default": True} if name == "findings" else {})
            for name, file in _CONFIGURATIONS.items()
        ],
    }
    return f"---\n{yaml.safe_dump(values, sort_keys=False, allow_unicode=True)}---\n\n"


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
