"""The page on the loopback address where a person pastes a report (docs/read.md, "Privacy").

Nothing is stored, logged or sent: a report is in the memory of this process, and the answer is not to be
cached. Only pages of this server may post to it: a foreign page in the same browser is refused by its headers
(Host, Origin, Sec-Fetch-Site, Sec-Fetch-Dest), so that it can neither ask, nor read, nor show this one in a
frame.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from lunguage_assets.annotation.annotation import read
from lunguage_assets.annotation.page import ReportForm, read_page
from lunguage_assets.annotation.shown import ShownReport, shown_reports
from lunguage_assets.errors import ConfigurationError, LunguageError

ADDRESS = "127.0.0.1"
BODY_LIMIT = 64 << 10
"""Bytes of a posted form; the longest real reports have some twenty thousand characters."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",  # browsers heed that one as a header only
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none at all a browser says no Origin of its own page either
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_READING = threading.Lock()
"""One report at a time: it is the processor that is waited for."""


def serving_socket(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 takes a free one.

    Raises:
        ConfigurationError: the port is in use, or may not be used.
    """
    try:
        return socket.create_server((ADDRESS, port))
    except OSError:
        raise ConfigurationError(
            f"port {port} of {ADDRESS} is in use, or may not be used. Choose another one with --port."
        ) from None


def serve(opened: socket.socket) -> None:
    """Answer until the process is interrupted."""
    config = uvicorn.Config(
        application(opened.getsockname()[1]),
        access_log=False,
        log_level="critical",
        server_header=False,
        lifespan="off",
        limit_concurrency=32,
        timeout_keep_alive=5,
    )
    with suppress(KeyboardInterrupt):  # the server has closed by then
        uvicorn.Server(config).run(sockets=[opened])


def application(port: int) -> Starlette:
    """The server's two answers: the empty page, and the page of a posted report."""
    hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}

    async def page(request: Request) -> Response:
        if refused := _refused(request, hosts):
            return _told(*refused)
        if request.method != "POST":
            return _page(ReportForm())
        body = bytearray()
        async for chunk in request.stream():  # no more than the limit is ever held
            body += chunk
            if len(body) > BODY_LIMIT:
                return _told(413, f"A report has at most {BODY_LIMIT >> 10} kB.")
        try:
            posted = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
        except ValueError:
            return _told(400, "The form has more fields than this page's.")
        form = ReportForm(posted.get("report", [""])[0], posted.get("views", [""])[0])
        return await run_in_threadpool(_answer, form)

    return Starlette(routes=[Route("/", page, methods=["GET", "POST"])])


def _refused(request: Request, hosts: set[str]) -> tuple[int, str] | None:
    """Status and words for a request that does not come from this server's own page."""
    headers = request.headers
    if headers.get("host", "") not in hosts:
        return 421, "This server answers on its loopback address only."
    if headers.get("sec-fetch-dest") in ("iframe", "frame", "object", "embed"):
        return 403, "No page may show this one in a frame."
    if request.method == "POST":
        foreign = "origin" in headers and headers["origin"].removeprefix("http://") not in hosts
        # `none` is an address that a person typed
        if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "Only this server's own page may post a report."
    return None


def _answer(form: ReportForm) -> Response:
    """What the report says; an error says its kind alone, as its message may quote the report."""
    try:
        if not form.report.strip():
            return _page(replace(form, problem="Paste a report first."), status=422)
        with _READING:
            return _page(form, shown_reports(read(form.report, views=form.views)))
    except LunguageError as error:
        return _page(replace(form, problem=str(error)), status=422)
    except Exception as error:
        kind = type(error).__name__
        problem = f"The report could not be read ({kind}). Please report this, without the report."
        return _page(replace(form, problem=problem), status=500)


def _page(form: ReportForm, reports: Sequence[ShownReport] = (), status: int = 200) -> Response:
    return HTMLResponse(read_page(reports, form, POLICY), status_code=status, headers=dict(HEADERS))


def _told(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status_code=status, headers={**HEADERS, "Connection": "close"})
