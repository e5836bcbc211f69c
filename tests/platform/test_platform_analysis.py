"""`lunguage analyse`: how far judges, ranking and fit can be trusted, as tables of the home, without asking
anybody.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import duckdb

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.build import build_defs

Lunguage = Callable[..., subprocess.CompletedProcess[str]]


def fill_in(responses: Path) -> None:
    """Six experts who choose the first phrase, but one who leaves every other pair out."""
    with responses.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    experts = [name for name in rows[0] if name.startswith("expert")]
    for number, row in enumerate(rows):
        row.update({name: "" if name == experts[0] and number % 2 else row["phrase_1"] for name in experts})
    with responses.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_agreement_robustness_validation_and_the_survey_become_tables(
    lunguage: Lunguage, finished_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    made = lunguage(home, "survey", "make", "--pairs", "12", "--out", tmp_path / "survey")
    assert made.returncode == 0, made.stderr
    responses = next(path for path in (tmp_path / "survey").glob("*.csv") if "response" in path.name)
    fill_in(responses)
    taken = lunguage(home, "survey", "import", "--responses", responses)
    assert taken.returncode == 0, taken.stderr
    done = lunguage(home, "analyse")
    assert done.returncode == 0, done.stderr
    assert "pairwise agreement" in done.stdout
    assert "experts (all) with the ranking" in done.stdout
    with duckdb.connect(str(home / "lunguage.duckdb"), read_only=True) as connection:
        sizes = {
            table: connection.sql(f"SELECT count(*) FROM {table} WHERE ranker = 'panel'").fetchall()[0][0]
            for table in (
                "judge_agreement",
                "ranking_correlations",
                "ranking_robustness",
                "fit_validation",
                "expert_agreement",
            )
        }
    assert all(sizes.values()), sizes
    assert not (home / "ledger.sqlite").exists()


def test_without_a_ranking_there_is_nothing_to_analyse_and_the_message_says_what_to_do(
    lunguage: Lunguage, quick_home: Path
) -> None:
    done = lunguage(quick_home, "analyse")
    assert done.returncode == 1
    assert "Run `lunguage run` first" in done.stderr


def test_a_warning_is_shown_and_does_not_fail_the_run(
    lunguage: Lunguage, finished_home: Path, sixty_reports: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    done = lunguage(home, "run", "--data", sixty_reports, "--batch", "first")
    assert done.returncode == 0
    assert "warns" in done.stdout
    assert "hedge_phrases: pairs_reviewed (lexicon x first)" in done.stdout


def test_every_diagnosis_of_the_pathway_file_is_drawn_in_the_ui(quick_home: Path) -> None:
    home = Home(quick_home)
    with dg.DagsterInstance.ephemeral() as instance:
        result = build_defs(home).resolve_job_def("draw_pathways").execute_in_process(instance=instance)
    (made,) = result.get_asset_materialization_events()
    metadata = made.step_materialization_data.materialization.metadata
    drawn = [name for name, value in metadata.items() if "data:image/png;base64," in str(value.value)]
    assert len(drawn) == 14
    assert "| congestive heart failure |" in str(metadata["structure"].value)
