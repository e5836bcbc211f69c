"""`lunguage read`: one report, what it says, how surely, and why (docs/read.md).

The reading is `annotation.annotation`, the printing `annotation.page`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from lunguage_assets.cli.options import EXISTING_FILE, FILE

DEFAULT_PORT = 8642
CUES_OPTION = click.option(
    "--cues",
    type=EXISTING_FILE,
    help="Words of negation and doubt to add, such as the home's assertion.yaml "
    "(docs/adding.md).",
)


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--views",
    default="",
    help="Views of the images, such as 'PA and lateral'; default: as the text says.",
)
@CUES_OPTION
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
    """Read one report: what it says, how surely, and why.

    - is standard input. Offline rules read the text; nothing is stored or sent. Several
    files are several reports.
    """
    if serve:
        _serve(port, cues)
        return
    if not files:
        raise click.UsageError(
            "Name a file with a report, or - for standard input, or use --serve."
        )
    from rich.console import Console

    from lunguage_assets.annotation.annotation import annotation_of
    from lunguage_assets.annotation.given_reports import reports_of_files
    from lunguage_assets.annotation.page import json_document, print_report, read_page
    from lunguage_assets.annotation.shown import shown_reports
    from lunguage_assets.files import replace_text

    annotation = annotation_of(reports_of_files(files, views), cues)
    if as_json:
        click.echo(json_document(annotation.frames), nl=False)
        return
    reports = shown_reports(annotation.frames)
    if html is not None:
        replace_text(html, read_page(reports))
        click.echo(f"{html} holds report text; it is readable by you only (mode 0600)")
        return
    console = Console(highlight=False)
    for report in reports:
        print_report(report, console)


def _serve(port: int, cues: Path | None) -> None:
    """Serve the page into which reports are pasted, on this machine alone."""
    from lunguage_assets.annotation.serving import ADDRESS, server, serving_socket

    with serving_socket(port) as opened:
        address = f"http://{ADDRESS}:{opened.getsockname()[1]}"
        click.echo(f"{address}  (only on this machine; end with Ctrl-C)")
        # The server has closed when the interruption arrives here.
        with suppress(KeyboardInterrupt):
            server(cues).run(sockets=[opened])
