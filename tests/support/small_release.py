"""A release made from a small delivery by the domain functions alone: no Dagster, no
process, seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pandas as pd
import pytest
from planted import plant
from stored_tables import store_table

from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.release import write
from lunguage_assets.release.context import Release
from lunguage_assets.release.newest import TABLES_PER_BATCH, NewestStudies
from lunguage_assets.release.paper_tables import paper_tables as counted_tables
from lunguage_assets.release.provenance import Origin, read_origin
from lunguage_assets.release.write import Written, write_bundle
from lunguage_assets.sample.files import write_sample
from lunguage_assets.settings import load_settings
from lunguage_assets.tables import SET_ASIDE
from lunguage_assets.workspace.home import Home

SETTINGS = "[explicit]\nreference_scale = 'published'\n"

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
        folder = self.home.root / "tables"
        paths = {key: stored_at(folder, key) for key in keys or self.batches}
        return opened(self.ranking, paths)

    def origin(self) -> Origin:
        """Of rule-based judges."""
        return read_origin(Configuration(self.home))

    def write(
        self,
        folder: Path,
        release: Release | None = None,
        origin: Origin | None = None,
        analyses: Mapping[str, pd.DataFrame] | None = None,
    ) -> Written:
        """Write a release, by default that of all batches."""
        return write_bundle(
            release or self.release(),
            folder,
            origin or self.origin(),
            analyses or {},
            self.examples,
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


def make(folder: Path, *, credentialed: bool = False) -> Made:
    """A home with two batches of sample reports; some studies of the second were in the
    first. Credentialed ones have words that are planted into all of them.
    """
    home = Home(folder / "home")
    home.create()
    home.settings_file.write_text(SETTINGS)
    settings = load_settings(home.settings_file)
    method = bundled_method()
    tables = {}
    for key, reports, seed in (("first", 12, 3), ("second", 6, 4)):
        write_sample(folder / key, reports=reports, seed=seed)
        if credentialed:
            plant(folder / key)
        home.register(folder / key, key)
        intake = take_in(find_delivery(folder / key), settings.corpus)
        concluded = method.conclude(vars(intake))
        tables[key] = {**concluded, "set_aside": SET_ASIDE.frame()}
    stored(home.root / "tables", tables)
    hedges = pd.concat([of_batch["hedge_phrases"] for of_batch in tables.values()])
    vocabulary = hedge_vocabulary(hedges, settings.explicit).set_index("phrase")
    return Made(home, method.ranking, tables, vocabulary["n_examples"])


class InMemory(NewestStudies):
    """Frames by name, as the release reads stored tables."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self._connection = duckdb.connect()
        for name in tables.keys() & TABLES_PER_BATCH.keys():
            table = TABLES_PER_BATCH[name]
            self._connection.register(name, table.to_arrow(tables[name][table.names]))


def paper_tables(
    tables: Mapping[str, pd.DataFrame], statistics: Sequence[DiagnosisStatistics]
) -> SimpleNamespace:
    """The paper's tables of a corpus in memory."""
    return SimpleNamespace(**counted_tables(InMemory(tables), statistics))


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("invented"))


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """As `invented`, but undeclared, so that the reports count as patients'."""
    return make(tmp_path_factory.mktemp("patients"), credentialed=True)


@pytest.fixture(scope="session")
def version(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of both batches, with its report."""
    return invented.write(tmp_path_factory.mktemp("release") / "panel").folder


@pytest.fixture(scope="session")
def of_patients(patients: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of patients' reports with its report."""
    return patients.write(tmp_path_factory.mktemp("release") / "panel").folder


@pytest.fixture
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures, for tests that do not look at them."""
    monkeypatch.setattr(write, "report_figures", lambda _: {})
