"""The page where a person pastes a report (docs/read.md, "Privacy").

It is served by Starlette on the loopback address. Nothing is stored, logged, sent or
cached. Only pages of this server may post to it: a foreign page in the same browser is
refused by its headers (Host, Origin, Sec-Fetch-Site). What the page looks like is in
`page.py`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lunguage_assets.annotation.annotation import Annotation, read
from lunguage_assets.annotation.page import ReportForm, json_document, read_page
from lunguage_assets.annotation.shown import shown_reports
from lunguage_assets.errors import ConfigurationError, LunguageError

ADDRESS = "127.0.0.1"
BODY_LIMIT = 64 << 10
"""Bytes of a posted form."""
BODY_SECONDS = 10.0
"""How long a posted form may be on its way: it is from this machine."""
REPORT_LIMIT = 20_000
"""Characters of a report, as the longest real ones have: it is read in some seconds."""

HEADERS = {
    "Cache-Control": "no-store",
    # Who was answered holds no connection, whatever of the request was left unread.
    "Connection": "close",
    # The page has its policy, too; browsers heed frame-ancestors as a header only.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
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
DOWNLOADS: Mapping[str, Callable[[Annotation], str]] = {
    "report.json": lambda annotation: json_document(annotation.frames),
    "labels.csv": lambda annotation: annotation.labels.to_csv(index=False),
    "findings.csv": lambda annotation: annotation.findings.to_csv(index=False),
}
"""Content of the files of a report, by name."""


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


def server(cues: Path | None = None) -> uvicorn.Server:
    """Make the server of the page: it ends when the process is interrupted.

    Args:
        cues: as of `annotation.read`.
    """
    config = uvicorn.Config(
        application(cues),
        headers=list(HEADERS.items()),
        lifespan="off",
        # What was asked of the page stays between it and the person.
        access_log=False,
        log_level="critical",
        server_header=False,
    )
    return uvicorn.Server(config)


def application(cues: Path | None = None) -> Starlette:
    """Make what answers: the page, the page of a posted report, and files of it."""

    async def page(request: Request) -> Response:
        if request.method != "POST":
            return HTMLResponse(read_page([], ReportForm()))
        headers = request.headers
        own_origin = f"http://{headers['host']}"
        # `none` is an address that a person typed.
        site = headers.get("sec-fetch-site", "none")
        is_own = headers.get("origin", own_origin) == own_origin
        if not is_own or site not in ("same-origin", "none"):
            raise HTTPException(403, "Only this server's own page may post a report.")
        # The server reads no more than is announced; a browser announces every form.
        announced_bytes = int(headers.get("content-length", BODY_LIMIT + 1))
        if announced_bytes > BODY_LIMIT:
            raise HTTPException(413, f"A report has at most {BODY_LIMIT >> 10} kB.")
        # Who announces a form and never sends it would hold its place for good.
        try:
            body = await asyncio.wait_for(request.body(), BODY_SECONDS)
        except TimeoutError:
            reason = "The report did not arrive in time. Post it again."
            raise HTTPException(408, reason) from None
        form = dict(parse_qsl(body.decode("utf-8", "replace")))
        # One report at a time: it is the processor that is waited for.
        return _answer(form, cues)

    # A foreign name may be bound to the loopback address (DNS rebinding).
    own_hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[ADDRESS, "localhost"])
    routes = [Route("/", page, methods=["GET", "POST"])]
    return Starlette(routes=routes, middleware=[own_hosts])


def _answer(posted: Mapping[str, str], cues: Path | None) -> Response:
    """Answer a posted report, with its page or with a file of it.

    An unexpected error tells its type alone, as its message may quote the report.
    """
    report = posted.get("report", "")
    if "example" in posted:
        report = EXAMPLE
    form = ReportForm(report, posted.get("views", ""), downloads=tuple(DOWNLOADS))
    try:
        if len(report) > REPORT_LIMIT:
            raise LunguageError(
                f"The report has {len(report):,} characters, and at most "
                f"{REPORT_LIMIT:,} are read here. Paste one report alone, or use "
                "`lunguage read FILE`."
            )
        annotation = read(report, views=form.views, cues=cues)
    except LunguageError as error:
        return HTMLResponse(read_page([], form._replace(problem=str(error))), 422)
    except Exception as error:
        problem = (
            f"The report could not be read ({type(error).__name__}). Please report "
            "this, without the report."
        )
        return HTMLResponse(read_page([], form._replace(problem=problem)), 500)
    name = posted.get("download", "")
    if name in DOWNLOADS:
        attachment = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(DOWNLOADS[name](annotation), headers=attachment)
    return HTMLResponse(read_page(shown_reports(annotation.frames), form))
