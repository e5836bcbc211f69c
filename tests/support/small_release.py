"""A release made from a small delivery by the domain functions alone: no Dagster, no
process, seconds.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pandas as pd
from stored_tables import store_table

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import Intake, take_in
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.hedges import hedge_phrases
from lunguage_assets.explicit.open_judges import offline_judge
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
from lunguage_assets.implicit.pathways.pathways import (
    DiagnosisStatistics,
    load_dictionary,
)
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.release.context import Release
from lunguage_assets.release.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.paper_tables import paper_tables as counted_tables
from lunguage_assets.release.provenance import Origin, read_origin
from lunguage_assets.release.write import write_bundle
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.tables import SET_ASIDE
from lunguage_assets.workspace.home import Home

WORD = "Quokkalantern"
"""Planted into every sentence and report of a delivery that counts as patients'."""
SETTINGS = "[explicit]\nreference_scale = 'published'\npatience = 2\npanel_steps = 1\nstep_limit = 4\n"

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Made:
    """A home with its batches, the tables of each, and the ranking: what a release is
    made from.
    """

    home: Home
    ranking: pd.DataFrame
    batches: dict[str, Tables]
    examples: pd.Series

    def release(self, *keys: str) -> Release:
        """The release of these batches, by default of all."""
        chosen = keys or tuple(self.batches)
        return opened(
            self.ranking,
            {key: stored_at(self.home.root / "tables", key) for key in chosen},
        )

    def origin(self) -> Origin:
        """Of rule-based judges."""
        return read_origin(
            self.home, load_settings(self.home.settings_file), load_judges()
        )


def stored(folder: Path, batches: dict[str, Tables]) -> dict[str, dict[str, Path]]:
    """Write batches, given oldest first, and say where they are."""
    for key, tables in batches.items():
        for name, path in stored_at(folder, key).items():
            store_table(TABLES_PER_BATCH[name], tables[name], path)
    return {key: stored_at(folder, key) for key in batches}


def stored_at(folder: Path, key: str) -> dict[str, Path]:
    return {name: folder / key / f"{name}.parquet" for name in TABLES_PER_BATCH}


def opened(ranking: pd.DataFrame, batches: dict[str, dict[str, Path]]) -> Release:
    """The release of stored batches, given oldest first."""
    return Release("panel", ranking, NewestStudies(duckdb.connect(), batches))


def make(
    folder: Path, batches: dict[str, tuple[int, int]], *, credentialed: bool = False
) -> Made:
    """A home with batches of sample reports, each by (reports, seed). Credentialed ones
    say `WORD` in every sentence and report.
    """
    home = Home(folder / "home")
    home.create()
    home.settings_file.write_text(SETTINGS)
    settings = load_settings(home.settings_file)
    judges = load_judges()
    panel = [offline_judge(key, judges.judges[key]) for key in judges.members("panel")]
    intakes = {}
    hedges = {}
    for key, (reports, seed) in batches.items():
        write_sample(folder / key, reports=reports, seed=seed)
        if credentialed:
            plant(folder / key)
        home.register(folder / key, key)
        intakes[key] = take_in(find_delivery(folder / key), settings.corpus)
        hedges[key] = hedge_phrases(intakes[key].findings, panel[0])
    vocabulary = hedge_vocabulary(
        pd.concat(hedges.values(), ignore_index=True), settings.explicit
    )
    matches = {
        judge.key: comparison_matches(vocabulary, judge, settings.explicit)
        for judge in panel
    }
    ranking = reference_ranking(
        vocabulary, matches, settings.explicit, [judge.identity for judge in panel]
    )
    tables = {}
    for key, intake in intakes.items():
        fitted = fit_pairs(
            intake.findings,
            hedges[key],
            vocabulary,
            ranking,
            panel,
            published_anchors(),
            settings.explicit,
        ).probabilities
        tables[key] = resolved(intake, fitted, ranking, settings)
    stored(home.root / "tables", tables)
    return Made(home, ranking, tables, vocabulary.set_index("phrase")["n_examples"])


def resolved(
    intake: Intake,
    fitted: pd.DataFrame,
    ranking: pd.DataFrame,
    settings: Settings,
    pathways: Path | None = None,
) -> Tables:
    """What the release needs of a batch, from its findings and probabilities."""
    vocabulary = Vocabulary.from_terms(intake.terms)
    labels = load_label_list(load_dictionary(pathways, vocabulary))
    merged = deduplicate(
        intake.findings,
        fitted,
        LexicalEmbedder(vocabulary),
        load_blacklist(),
        settings.implicit,
        load_label_list(),
    )
    expanded = expand(merged, labels)
    result = resolve(
        merged,
        *expanded,
        labels,
        ranking_version=str(ranking["ranking_version"].iloc[0]),
    )
    tables = {
        "reports": intake.reports,
        "rejected": intake.rejected,
        "fitted_probabilities": fitted,
        "pathway_matches": expanded.matches,
        "lunguage_plus_plus": result.rows,
        "resolution_log": result.log,
        "conflicts": result.conflicts,
        "set_aside": SET_ASIDE.frame(),
    }
    counted = {
        **tables,
        "deduplicated_findings": merged,
        "expansions": expanded.expansions,
    }
    return {**tables, "accounting": account(counted)}


def plant(delivery: Path) -> None:
    """Make a delivery undeclared, which counts as patients', with the word in every
    sentence and report, and in a row that is rejected.
    """
    (delivery / "corpus.toml").unlink()
    with (delivery / "Lunguage.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["sent"] = f"{row['sent'].rstrip('.')} near the {WORD}."
        row["report"] = f"{row['report']}\nSeen near the {WORD}."
    rows.append(rows[0] | {"dx_status": f"near the {WORD}"})
    with (delivery / "Lunguage.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class InMemory(NewestStudies):
    """Frames by name, as the release reads stored tables."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self._connection = duckdb.connect()
        for name, frame in tables.items():
            table = TABLES_PER_BATCH[name]
            self._connection.register(name, table.to_arrow(frame[table.names]))


def paper_tables(
    tables: Mapping[str, pd.DataFrame], statistics: Sequence[DiagnosisStatistics]
) -> SimpleNamespace:
    """The paper's tables of a corpus in memory."""
    return SimpleNamespace(**counted_tables(InMemory(tables), statistics))


def write_release(
    made: Made, folder: Path, *batches: str, **analyses: pd.DataFrame
) -> Path:
    """The folder of the version that is written of these batches, by default all."""
    return write_bundle(
        made.release(*batches), folder, made.origin(), analyses, made.examples
    ).folder
