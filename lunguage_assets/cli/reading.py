"""The commands that read: `read` a report, `annotate` a table of them, `explain` a study; and `sample`, which
writes reports to read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    FILE,
    FOLDER,
    GIVEN_FILE,
    RANKER_OPTION,
    Chosen,
    chooses,
    number,
)
from lunguage_assets.errors import InputError, LunguageError

if TYPE_CHECKING:
    from lunguage_assets.sample import RawFormat

DEFAULT_PORT = 8642
_cues_option = click.option(
    "--cues",
    type=GIVEN_FILE,
    help="Words of negation and doubt to add, such as the home's assertion.yaml (docs/adding.md).",
)


@click.command(short_help="Read one report: what it says, how surely, and why.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--views",
    default="",
    help="Views of the images, such as 'PA and lateral'; default: as the text says.",
)
@_cues_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print everything as JSON (docs/read.md)."
)
@click.option(
    "--html",
    type=FILE,
    help="Write a page that opens without a network, readable by you only.",
)
@click.option(
    "--serve", is_flag=True, help="Open a page on this machine to paste reports into."
)
@click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="For --serve.",
)
def read(
    files: tuple[str, ...],
    views: str,
    cues: Path | None,
    as_json: bool,
    html: Path | None,
    serve: bool,
    port: int,
) -> None:
    """Read the report in FILE: what it states and implies, how surely, and why; - is standard input.

    Offline rules read the text; nothing is stored or sent. Several files are several reports.
    """
    if serve and (files or as_json or html is not None or views):
        raise click.UsageError(
            "--serve takes no files, views or formats: reports are pasted into its page."
        )
    if not serve and not files:
        raise click.UsageError(
            "Name a file with a report, or - for standard input, or use --serve."
        )
    if as_json and html is not None:
        raise click.UsageError("Use --json or --html, one at a time.")
    if serve:
        _serve(port, cues)
        return
    from rich.console import Console

    from lunguage_assets.annotation.annotation import annotate_files
    from lunguage_assets.annotation.page import json_document, print_report, read_page
    from lunguage_assets.annotation.shown import shown_reports
    from lunguage_assets.files import write_private

    annotation = annotate_files(files, views, cues)
    if as_json:
        click.echo(json_document(annotation), nl=False)
    elif html is not None:
        write_private(html, read_page(shown_reports(annotation)).encode("utf-8"))
        click.echo(f"{html} holds report text; it is readable by you only (mode 0600)")
    else:
        console = Console(highlight=False)
        for report in shown_reports(annotation):
            print_report(report, console)


@click.command(short_help="Label every report of a table, as CSV.")
@click.argument("file", type=GIVEN_FILE)
@click.option(
    "--text-column", default="report", show_default=True, help="Column of the reports."
)
@click.option(
    "--id-column",
    default="",
    help="Column of their ids; default: study_id, else the row's number.",
)
@click.option(
    "--views-column",
    default="",
    help="Column of their views; default: as the texts say.",
)
@_cues_option
@click.option(
    "--wide", is_flag=True, help="A row per report, with p of each label in a column."
)
def annotate(
    file: Path,
    text_column: str,
    id_column: str,
    views_column: str,
    cues: Path | None,
    wide: bool,
) -> None:
    """Label every report of FILE (CSV or Parquet) and print the labels: lunguage annotate reports.csv >
    labels.csv

    Offline rules read the texts; nothing is stored or sent. The columns are those of labels.csv of a release.
    """
    from lunguage_assets.annotation.annotation import annotate_table
    from lunguage_assets.structuring.text.languages import NOT_ENGLISH

    parts, broken = annotate_table(file, text_column, id_column, views_column, cues)
    foreign = 0
    for number_of_part, part in enumerate(parts):
        foreign += sum(NOT_ENGLISH in notes for notes in part.reports["notes"])
        labels = part.labels
        if wide:
            order = labels["study_id"].unique(), labels["label"].unique()
            labels = (
                labels.pivot(index="study_id", columns="label", values="p")
                .loc[order]
                .reset_index()
            )
        click.echo(labels.to_csv(index=False, header=number_of_part == 0), nl=False)
    if foreign:
        click.echo(
            f"{foreign} reports are not in English: nothing was read in them, and they have no labels",
            err=True,
        )
    if broken:
        rows = ", ".join(map(str, broken[:20])) + (" ..." if len(broken) > 20 else "")
        found = f"{len(broken)} rows that cannot be read ({rows})"
        raise InputError(
            file.name, found, "whole rows", "Correct them; the others are labelled."
        )


def _serve(port: int, cues: Path | None) -> None:
    from lunguage_assets.annotation.serving import ADDRESS, serve, serving_socket

    with serving_socket(port) as opened:
        click.echo(
            f"http://{ADDRESS}:{opened.getsockname()[1]}  (only on this machine; end with Ctrl-C)"
        )
        serve(opened, cues)


class TextKeptBack(LunguageError):
    """Report text of patients would leave the terminal of the person who asks."""


@click.command(short_help="Explain why each row of STUDY is, or is not, in the result.")
@click.argument("study")
@chooses(there=True)
@RANKER_OPTION
@click.option(
    "--finding",
    metavar="IDX",
    help="One row of STUDY: its idx in the result, or its finding id.",
)
def explain(study: str, chosen: Chosen, ranker: str, finding: str | None) -> None:
    """Explain why each row of STUDY is, or is not, in the result; a finding id (s50000001:0012) in the place
    of STUDY explains that row.

    Text of patients is shown on a terminal only: it goes into no file and no pipe.
    """
    from rich.console import Console

    from lunguage_assets.release.explain import explain_study
    from lunguage_assets.release.print_explanation import print_explanation
    from lunguage_assets.release.study_record import read_study, study_and_finding

    if chosen.data_class != "synthetic" and not sys.stdout.isatty():
        raise TextKeptBack(
            "the output is no terminal: this corpus holds text of patients, which `explain` shows only to "
            "the person who asks, not to a pipe, a file or a log. Run the command on a terminal."
        )
    batches = [batch.key for batch in chosen.home.registered()]
    if finding is None:
        study, finding = study_and_finding(study)
    explanation = explain_study(
        read_study(chosen.home.tables, ranker, batches, study), finding
    )
    print_explanation(explanation, Console(highlight=False))


@click.command(short_help="Write a synthetic corpus, as findings or as raw reports.")
@number("--reports", 800, "Number of reports (studies).")
@number("--seed", 0, least=0)
@click.option(
    "--out", required=True, type=FOLDER, help="Folder to write the files into."
)
@click.option(
    "--as-text",
    type=click.Choice(["table", "mimic", "text"]),
    help="Write raw reports: reports.csv, MIMIC-CXR's folders, or one .txt per report. The truth about them "
    "goes into the folder OUT-truth.",
)
def sample(reports: int, seed: int, out: Path, as_text: RawFormat | None) -> None:
    """Write a synthetic corpus in the published formats, or as raw reports with the truth about them."""
    from lunguage_assets.sample import write_raw_sample, write_sample

    truth = out.with_name(f"{out.name}-truth")
    if as_text is None:
        written = write_sample(out, reports=reports, seed=seed)
    else:
        written = write_raw_sample(out, truth, reports, seed, form=as_text)
    click.echo(
        f"{written}, in {out}"
        + (f"; what they say, in {truth}" if as_text is not None else "")
    )
