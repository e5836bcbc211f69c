"""The page where a person pastes a report (docs/read.md, "Privacy").

It is served by Starlette on the loopback address. Nothing is stored, logged, sent or
cached. Only pages of this server may post to it: a foreign page in the same browser is
refused by its headers (Host, Origin, Sec-Fetch-Site). What the page looks like is in
`page.py`.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from lunguage_assets.annotation.annotation import Annotation, read
from lunguage_assets.annotation.page import ReportForm, json_document, read_page
from lunguage_assets.annotation.shown import ShownReport, shown_reports
from lunguage_assets.errors import ConfigurationError, LunguageError

ADDRESS = "127.0.0.1"
_FIELDS = ("report", "views", "download", "example")
BODY_LIMIT = 64 << 10
"""Bytes of a posted form."""
BODY_SECONDS = 10.0
"""How long a posted form may be on its way: it is from this machine."""
REPORT_LIMIT = 20_000
"""Characters of a report, as the longest real ones have: it is read in some seconds."""

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    # Browsers heed frame-ancestors as a header only.
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With none at all a browser says no Origin of its own page either.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
EXAMPLE = (
    "EXAMINATION: Chest, PA and lateral.\n\nFINDINGS: Mildly enlarged heart. Probable "
    "atelectasis at the left base, though pneumonia cannot be excluded. Small right "
    "pleural effusion. No pneumothorax.\n\n"
    "IMPRESSION: Mild cardiomegaly, suspicious for early congestive heart failure."
)
"""An invented report, for those who have none at hand."""
DOWNLOADS: Mapping[str, tuple[str, Callable[[Annotation], str]]] = {
    "report.json": (
        "application/json",
        lambda annotation: json_document(annotation.frames),
    ),
    "labels.csv": (
        "text/csv",
        lambda annotation: annotation.labels.to_csv(index=False),
    ),
    "findings.csv": (
        "text/csv",
        lambda annotation: annotation.findings.to_csv(index=False),
    ),
}
"""Media type and content of the files of a report, by name."""
_READING = threading.Lock()
"""One report at a time: it is the processor that is waited for."""


def serving_socket(port: int) -> socket.socket:
    """Open a socket on the loopback address.

    Args:
        port: 0: a free one.

    Raises:
        ConfigurationError: the port is in use.
    """
    try:
        return socket.create_server((ADDRESS, port))
    except OSError:
        raise ConfigurationError(
            f"port {port} of {ADDRESS} is in use, or may not be used. Choose another "
            "one with --port."
        ) from None


def serve(opened: socket.socket, cues: Path | None = None) -> None:
    """Answer until the process is interrupted.

    Args:
        opened: as of `serving_socket`.
        cues: as of `annotation.read`.
    """
    config = uvicorn.Config(
        application(opened.getsockname()[1], cues),
        timeout_keep_alive=5,
        lifespan="off",
        # What was asked of the page stays between it and the person.
        access_log=False,
        log_level="critical",
        server_header=False,
    )
    with suppress(KeyboardInterrupt):  # the server has closed by then
        uvicorn.Server(config).run(sockets=[opened])


def application(port: int, cues: Path | None = None) -> Starlette:
    """Make what answers: the page, the page of a posted report, and files of it.

    Args:
        port: at which it is served.
        cues: as of `annotation.read`.
    """
    hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}

    async def page(request: Request) -> Response:
        headers = request.headers
        # A foreign name that was bound to the loopback address (DNS rebinding).
        if headers.get("host", "") not in hosts:
            return _refusal(421, "This server answers on its loopback address only.")
        if request.method != "POST":
            return _page([], ReportForm())
        origin = headers.get("origin")
        is_foreign = origin is not None and origin.removeprefix("http://") not in hosts
        # `none` is an address that a person typed.
        site = headers.get("sec-fetch-site", "none")
        if is_foreign or site not in ("same-origin", "none"):
            return _refusal(403, "Only this server's own page may post a report.")
        # The server reads no more than is announced; a browser announces every form.
        announced_bytes = int(headers.get("content-length", BODY_LIMIT + 1))
        if announced_bytes > BODY_LIMIT:
            return _refusal(413, f"A report has at most {BODY_LIMIT >> 10} kB.")
        # Who announces a form and never sends it would hold its place for good.
        try:
            body = await asyncio.wait_for(request.body(), BODY_SECONDS)
        except TimeoutError:
            return _refusal(408, "The report did not arrive in time. Post it again.")
        values = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        # A field may be posted twice, or not at all.
        form = {name: values.get(name, [""])[0] for name in _FIELDS}
        report = EXAMPLE if form["example"] else form["report"]
        return await run_in_threadpool(
            _answer, report, form["views"], form["download"], cues
        )

    return Starlette(routes=[Route("/", page, methods=["GET", "POST"])])


def _answer(report: str, views: str, download: str, cues: Path | None) -> Response:
    """Answer a posted report, with its page or with a file of it.

    An unexpected error tells its type alone, as its message may quote the report.
    """
    problem = ""
    status = 200
    if not report.strip():
        problem = "Paste a report first."
    if len(report) > REPORT_LIMIT:
        problem = (
            f"The report has {len(report):,} characters, and at most {REPORT_LIMIT:,} "
            "are read here. Paste one report alone, or use `lunguage read FILE`."
        )
    if problem:
        return _page([], ReportForm(report, views, problem), 422)
    reports: list[ShownReport] = []
    try:
        with _READING:
            annotation = read(report, views=views, cues=cues)
            if download in DOWNLOADS:
                media_type, content = DOWNLOADS[download]
                disposition = f'attachment; filename="{download}"'
                return Response(
                    content(annotation),
                    media_type=media_type,
                    headers={**HEADERS, "Content-Disposition": disposition},
                )
            reports = shown_reports(annotation.frames)
    except LunguageError as error:
        problem = str(error)
        status = 422
    except Exception as error:
        problem = (
            f"The report could not be read ({type(error).__name__}). Please report "
            "this, without the report."
        )
        status = 500
    form = ReportForm(report, views, problem, list(DOWNLOADS))
    return _page(reports, form, status)


def _page(
    reports: Sequence[ShownReport], form: ReportForm, status: int = 200
) -> Response:
    page = read_page(reports, form, POLICY)
    return HTMLResponse(page, status_code=status, headers=HEADERS)


def _refusal(status: int, reason: str) -> Response:
    return PlainTextResponse(
        reason + "\n", status_code=status, headers={**HEADERS, "Connection": "close"}
    )
