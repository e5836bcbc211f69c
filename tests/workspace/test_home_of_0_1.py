"""A home that version 0.1 left opens with the code of today, and nothing that was paid
for is asked again.

`tests/fixtures/make_home_of_0_1.py` made it and says what is in it.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from commands import CommandResult, lunguage
from loopback import LoopbackServer
from made_once import made_once

from lunguage_assets.explicit.distilled.scorer_files import stored_model
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.orchestration.runs.instance import dagster_instance
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "home_of_0_1.tar.xz"
RANKERS = ("panel", "one")


@dataclass
class Reopened:
    """A home of 0.1 after commands of today: their results, and how often they asked a
    model.
    """

    home: Path
    results: list[CommandResult] = field(default_factory=list)
    calls: int = 0

    def run(self, *arguments: str) -> CommandResult:
        """A command, while its models' server counts calls."""
        with LoopbackServer() as server:
            done = lunguage(
                self.home,
                *arguments,
                LUNGUAGE_JUDGES=str(self.home / "judges.toml"),
                LUNGUAGE_TESTER_URL=server.openai_url,
            )
            self.calls += len(server.calls)
        self.results.append(done)
        return done

    def table(self, name: str, *keys: str) -> pd.DataFrame:
        return read_table(
            TABLES[name], partition_path(Home(self.home).tables, name, *keys)
        )

    def summary(self, ranker: str) -> dict[str, object]:
        """What the newest release of a ranker says of itself."""
        release = self.home / "release" / ranker
        newest = (release / "LATEST").read_text().strip()
        found: dict[str, object] = json.loads(
            (release / newest / "restricted" / "summary.json").read_text()
        )
        return found


def unpacked(folder: Path) -> Path:
    """The home, in a folder."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    home = folder / "home"
    home.chmod(0o700)
    return home


@pytest.fixture
def unchanged(tmp_path: Path) -> Reopened:
    """The home as it was left."""
    return Reopened(unpacked(tmp_path))


def after_runs(folder: Path) -> Reopened:
    """The home in a folder, and what the runs of `run_on` gave."""
    kept = json.loads((folder / "results.json").read_text())
    return Reopened(
        folder / "home",
        [CommandResult(*done) for done in kept["results"]],
        kept["calls"],
    )


def run_on(home: Path, *rankers: str) -> None:
    """Run for each ranker, and put down beside the home what came of it."""
    reopened = Reopened(home)
    for ranker in rankers:
        reopened.run("run", "--ranker", ranker)
    outputs = [[done.returncode, done.stdout, done.stderr] for done in reopened.results]
    (home.parent / "results.json").write_text(
        json.dumps({"calls": reopened.calls, "results": outputs})
    )


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Reopened:
    """The home after a run for each ranker."""

    def make(folder: Path) -> None:
        run_on(unpacked(folder), *RANKERS)

    return after_runs(made_once(tmp_path_factory, "home_of_0_1", make))


@pytest.fixture(scope="module")
def recomputed(tmp_path_factory: pytest.TempPathFactory) -> Reopened:
    """The home after its tables were lost, and a run."""

    def make(folder: Path) -> None:
        home = unpacked(folder)
        shutil.rmtree(home / "tables")
        # Only a stored table says which row of a raw report an id of 0.1 was.
        corrections = home / "corrections.csv"
        kept = [
            row
            for row in corrections.read_text().splitlines()
            if not row.startswith("s5")
        ]
        corrections.write_text("\n".join(kept) + "\n")
        run_on(home, "panel")

    return after_runs(made_once(tmp_path_factory, "home_of_0_1_recomputed", make))


def attempts(home: Path) -> int:
    """How many attempts its ledger has."""
    ledger = Ledger.open_read_only(home / "ledger.sqlite")
    assert ledger is not None
    return int(ledger.statistics()["attempts"].sum())


def test_status_tells_its_batches(unchanged: Reopened) -> None:
    done = unchanged.run("status")
    assert done.returncode == 0, done.stderr
    assert "rows" in done.stdout
    assert "texts" in done.stdout


def test_runs_on_it_end_with_a_release(opened: Reopened) -> None:
    assert [(done.returncode, done.stderr) for done in opened.results] == [
        (0, ""),
        (0, ""),
    ]
    assert [opened.summary(ranker)["reports"] for ranker in RANKERS] == [46, 46]


def test_a_run_on_it_asks_no_judge(opened: Reopened) -> None:
    assert opened.calls == 0


def test_lost_tables_are_computed_again_from_its_ledger_alone(
    recomputed: Reopened,
) -> None:
    assert [(done.returncode, done.stderr) for done in recomputed.results] == [(0, "")]
    assert recomputed.calls == 0
    assert "ingest" in recomputed.results[0].stdout


def test_its_ledger_stays_as_it_was(recomputed: Reopened, unchanged: Reopened) -> None:
    assert attempts(recomputed.home) == attempts(unchanged.home)


def test_a_persons_corrections_hold_for_delivered_and_raw_reports(
    opened: Reopened,
) -> None:
    for batch in ("rows", "texts"):
        assert opened.table("hedge_phrases", "one", batch)["corrected"].sum() == 1


def test_dagster_still_has_its_runs(opened: Reopened) -> None:
    with dagster_instance(Home(opened.home)) as instance:
        jobs = {run.job_name for run in instance.get_runs()}
    assert {
        "ingest",
        "structure",
        "extract_hedges",
        "compare",
        "rank",
        "release",
    } <= jobs


def test_its_distilled_model_is_read(unchanged: Reopened) -> None:
    (folder,) = (unchanged.home / "distilled" / "panel").iterdir()
    head, errors = stored_model(folder)
    assert len(head.weights) == len(errors.known.T) == 64
