"""`lunguage explain` and `lunguage compare-modes`: why each row is there, and what mode `paper` changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FILE, FOLDER, RANKER_OPTION, Chosen, chooses
from lunguage_assets.errors import ConfigurationError, LunguageError

if TYPE_CHECKING:
    import pandas as pd


class TextKeptBack(LunguageError):
    """Report text of patients would leave the terminal of the person who asks."""


@click.command(short_help="Explain why each row of STUDY is, or is not, in the result.")
@click.argument("study")
@chooses(there=True)
@RANKER_OPTION
@click.option(
    "--finding", metavar="IDX", help="One row: its idx in the result, or a finding id such as s50000001:12."
)
@click.option("--html", type=FILE, help="Write a page instead (synthetic text only).")
def explain(study: str, chosen: Chosen, ranker: str, finding: str | None, html: Path | None) -> None:
    """Explain why each row of STUDY is, or is not, in the result.

    Text of patients is shown on a terminal only: it goes into no file and no pipe.
    """
    place = chosen.home
    from rich.console import Console

    from lunguage_assets.release.explain.explain import explain_study
    from lunguage_assets.release.explain.showing import print_story
    from lunguage_assets.release.explain.study_record import read_study

    _keep_text_back(chosen, html)
    record = read_study(place.tables, ranker, [batch.key for batch in place.registered()], study)
    story = explain_study(record, finding)
    if html is None:
        print_story(story, Console(highlight=False))
        return
    from lunguage_assets.files import write_private
    from lunguage_assets.release.explain.showing import story_page

    write_private(html, story_page(story).encode("utf-8"))
    click.echo(f"{html} holds report text of study {story.study_id}; it is readable by you only (mode 0600)")


def _keep_text_back(chosen: Chosen, html: Path | None) -> None:
    """Raise unless the text is synthetic, or goes to the terminal of the person who asks."""
    if chosen.data_class == "synthetic":
        return
    if html is not None:
        raise TextKeptBack(
            "--html: this corpus holds text of patients, which `explain` shows on a terminal "
            "only and writes into no file. Leave --html out."
        )
    if not sys.stdout.isatty():
        raise TextKeptBack(
            "the output is no terminal: this corpus holds text of patients, which `explain` shows only to "
            "the person who asks, not to a pipe, a file or a log. Run the command on a terminal."
        )


@click.command("compare-modes", short_help="Count the rows in which mode paper differs.")
@chooses(there=True)
@RANKER_OPTION
@click.option("--out", type=FOLDER, help="Write every differing row to mode_differences.csv.")
def compare_modes(chosen: Chosen, ranker: str, out: Path | None) -> None:
    """Count the rows in which mode `paper` differs from the method, by cause; no judge is asked and nothing
    in the home changes.

    Both modes are made from the stored findings and probabilities of every batch, whichever mode the home is
    set to.
    """
    import pandas as pd

    from lunguage_assets.documents import markdown_table
    from lunguage_assets.files import write_csv
    from lunguage_assets.implicit.mode_comparison import causes
    from lunguage_assets.tables.paper import MODE_DIFFERENCES

    results = _differences_by_batch(chosen, ranker)
    differences = pd.concat([frame for frame, _, _ in results], ignore_index=True)
    if out is not None:
        write_csv(differences[[*MODE_DIFFERENCES.names, "report_batch"]], out / "mode_differences.csv")
    of_method, of_paper = sum(rows for _, rows, _ in results), sum(rows for _, _, rows in results)
    click.echo(f"{of_method} rows in mode method, {of_paper} in mode paper; {len(differences)} rows differ")
    if len(differences):
        click.echo(markdown_table(causes(differences)))
    if out is not None:
        click.echo(f"row by row in {out / 'mode_differences.csv'}")


def _differences_by_batch(chosen: Chosen, ranker: str) -> list[tuple[pd.DataFrame, int, int]]:
    """Of every batch with probabilities: its MODE_DIFFERENCES, and how many rows each mode has."""
    from lunguage_assets.corpus.vocabulary import Vocabulary
    from lunguage_assets.home.store import partition_path, read_table
    from lunguage_assets.implicit.encoders import make_embedder
    from lunguage_assets.implicit.merging.blacklist import load_blacklist
    from lunguage_assets.implicit.mode_comparison import both_modes
    from lunguage_assets.implicit.mode_comparison import compare_modes as compared
    from lunguage_assets.implicit.pathways.pathways import load_dictionary
    from lunguage_assets.tables import FINDINGS, FITTED_PROBABILITIES, TERMS

    place, settings = chosen.home, chosen.settings.implicit
    results = []
    for batch in place.registered():
        fitted = partition_path(place.tables, FITTED_PROBABILITIES.name, ranker, batch.key)
        if not fitted.exists():
            continue
        findings, terms = (
            read_table(table, partition_path(place.tables, table.name, batch.key))
            for table in (FINDINGS, TERMS)
        )
        vocabulary = Vocabulary.from_terms(terms)
        method, paper = both_modes(
            findings,
            read_table(FITTED_PROBABILITIES, fitted),
            make_embedder(settings, vocabulary, place.root),
            load_blacklist(place.blacklist_file),
            settings,
            load_dictionary(place.pathways_file, vocabulary),
            vocabulary,
        )
        results.append(
            (compared(method, paper).assign(report_batch=batch.key), len(method.rows), len(paper.rows))
        )
    if not results:
        raise ConfigurationError(
            f"{place.root} has no probabilities of ranker {ranker!r}. Run `lunguage run` with "
            "this ranker first."
        )
    return results
