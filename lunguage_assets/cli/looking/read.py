"""The `read` command: what a report says, how surely, and why; at once and without a home."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import FILE

DEFAULT_PORT = 8642


@click.command(short_help="Read one report: what it says, how surely, and why.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--views", default="", help="Views of the images, such as 'PA and lateral'; default: as the text says."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON (docs/read.md).")
@click.option("--html", type=FILE, help="Write a page that opens without a network, readable by you only.")
@click.option("--serve", is_flag=True, help="Open a page on this machine to paste reports into.")
@click.option(
    "--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="For --serve."
)
def read(
    files: tuple[str, ...], views: str, as_json: bool, html: Path | None, serve: bool, port: int
) -> None:
    """Read the report in FILE: what it states and implies, how surely, and why; - is standard input.

    Offline rules read the text; nothing is stored or sent. Several files are several reports.
    """
    if serve:
        if files or as_json or html is not None or views:
            raise click.UsageError(
                "--serve takes no files, views or formats: reports are pasted into its page."
            )
        _serve(port)
        return
    if not files:
        raise click.UsageError("Name a file with a report, or - for standard input, or use --serve.")
    if as_json and html is not None:
        raise click.UsageError("Use --json or --html, one at a time.")
    _show(files, views, as_json, html)


def _show(files: tuple[str, ...], views: str, as_json: bool, html: Path | None) -> None:
    from lunguage_assets.annotation.given import given_files

    given = given_files(files, views)
    from lunguage_assets.annotation.annotation import annotated

    annotation = annotated(given)
    if as_json:
        from lunguage_assets.annotation.showing.document import json_document

        click.echo(json_document(annotation), nl=False)
        return
    from lunguage_assets.annotation.showing.shown import shown_reports

    reports = shown_reports(annotation)
    if html is None:
        from rich.console import Console

        from lunguage_assets.annotation.showing.terminal import print_report

        console = Console(highlight=False)
        for report in reports:
            print_report(report, console)
        return
    from lunguage_assets.annotation.showing.page import read_page
    from lunguage_assets.files import write_private

    write_private(html, read_page(reports).encode("utf-8"))
    click.echo(f"{html} holds report text; it is readable by you only (mode 0600)")


def _serve(port: int) -> None:
    from lunguage_assets.annotation.showing.serving import ADDRESS, serve, serving_socket

    with serving_socket(port) as opened:
        click.echo(f"http://{ADDRESS}:{opened.getsockname()[1]}  (only on this machine; end with Ctrl-C)")
        serve(opened)
