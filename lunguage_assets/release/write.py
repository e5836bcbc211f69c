"""Writes the release of a ranker as a version with an open and a restricted part.

The newest delivery of every study counts (`newest.py`). Rows of single studies are in
`restricted_files.py`, counts in `context.py` and `paper_tables.py`, the page in
`report.py`; how a version is sealed and named is in `workspace/versions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from duckdb import DuckDBPyConnection

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.intervals import READING_SD
from lunguage_assets.files import replace_text
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.context import (
    ANALYSES,
    Release,
    ReportContext,
    context_of,
)
from lunguage_assets.release.data_dictionary import data_dictionary
from lunguage_assets.release.growing_files import csv_text
from lunguage_assets.release.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.provenance import Origin, json_text, read_origin
from lunguage_assets.release.report import report_figures, report_page
from lunguage_assets.release.restricted_files import write_restricted
from lunguage_assets.tables import HEDGE_VOCABULARY
from lunguage_assets.wording import shown_phrase
from lunguage_assets.workspace.store import (
    paths_of_batch,
    stored_or_none,
    stored_table,
)
from lunguage_assets.workspace.versions import Written, publish

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
    "restricted/LABELS.md": "LABELS.md.j2",
}
"""Path in a version -> template of the text."""


def write_release_of(
    configuration: Configuration,
    ranker: str,
    complete: Sequence[str],
    connection: DuckDBPyConnection,
) -> Written:
    """Write the release of a ranker from the stored tables of its batches.

    Args:
        configuration: of the home.
        ranker: whose results are read.
        complete: the batches that have one.
        connection: to a database of its own.

    Raises:
        LunguageError: as of `write_bundle`.
    """
    home = configuration.home
    batches = {
        batch: paths_of_batch(home.tables, TABLES_PER_BATCH.values(), ranker, batch)
        for batch in complete
    }
    analyses = {
        name: frame
        for name in ANALYSES
        if (frame := stored_or_none(home, name, ranker)) is not None
    }
    vocabulary = stored_or_none(
        home, "hedge_vocabulary", configuration.judges.extractor
    )
    if vocabulary is None:
        vocabulary = HEDGE_VOCABULARY.frame()
    release = Release(
        ranker,
        stored_table(home, "reference_ranking", ranker),
        NewestStudies(connection, batches),
        tuple(it.key for it in home.registered() if it.key not in complete),
        configuration.processes,
    )
    return write_bundle(
        release,
        configuration.releases / ranker,
        read_origin(configuration),
        analyses,
        vocabulary.set_index("phrase")["n_examples"],
    )


def write_bundle(
    release: Release,
    folder: Path,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series,
) -> Written:
    """Write a release as a version, and let `LATEST` name it.

    A sealed version of the same files stands for it.

    Args:
        release: the ranking and the newest deliveries.
        folder: of the versions (`release/<ranker>`).
        origin: everything else that the release was made with.
        analyses: those of `ANALYSES` that there are.
        examples: how often each hedging phrase was extracted, by phrase.

    Raises:
        MethodError: the batches do not belong together; no version is made.
        InvalidTable: a study has other rows than were counted; no version is made.
        ConfigurationError: the sealed version of the same files has lost one.
    """
    release.require_sound()

    def build(version: Path) -> Mapping[str, Any]:
        write_restricted(release, version / "restricted")
        # Labels are counted from their file: those of an archive are too many to keep.
        labels = version / "restricted" / "labels.parquet"
        context = context_of(release, origin, analyses, examples, labels)
        _write_open(context, version / "open")
        _write_counts(context, version / context.part)
        texts = {
            "restricted/summary.json": json_text(context.summary),
            "open/provenance.json": json_text(context.provenance),
            "open/data_dictionary.md": data_dictionary(version),
            **_texts(context),
        }
        for path, text in texts.items():
            replace_text(version / path, text)
        return context.summary

    return publish(folder, build, origin.settings.release.keep)


def _write_open(context: ReportContext, folder: Path) -> None:
    """Write ranking, scale and knowledge: nothing that counts reports."""
    for name, frame in (("ranking", context.ranking), ("phrase_scale", context.scale)):
        if not context.origin.is_synthetic:
            # A phrase longer than a hedge may be a patient's sentence.
            frame = frame.assign(phrase=frame["phrase"].map(shown_phrase))
        replace_text(folder / f"{name}.csv", csv_text(frame))
    for name in ("pathways", "blacklist"):
        _, file = context.origin.files[name]
        replace_text(folder / f"{name}.yaml", file.read_text(encoding="utf-8"))


def _write_counts(context: ReportContext, folder: Path) -> None:
    """Write the paper's tables, the analyses, and the report with its figures."""
    frames = {f"table_{name}": frame for name, frame in context.tables.items()}
    frames |= context.analyses
    for name, frame in frames.items():
        replace_text(folder / f"{name}.csv", csv_text(frame))
    figures = report_figures(context)
    figure_folder = folder / "figures"
    figure_folder.mkdir(parents=True)
    for name, png in figures.items():
        (figure_folder / f"{name}.png").write_bytes(png)
    replace_text(folder / "report.html", report_page(context, figures))


def _texts(context: ReportContext) -> dict[str, str]:
    """Write the texts of a version by their paths in it.

    None names the version: the same content must give the same bytes.
    """
    values = {
        "context": context,
        "origin": context.origin,
        "provenance": context.provenance,
        "reading_sd": READING_SD,
    }
    return {
        path: page_template("release", template).render(values)
        for path, template in _TEMPLATES.items()
    }
