"""The page on the loopback address where a person pastes a report (docs/read.md, "Privacy").

Nothing is stored, logged or sent: a report is in the memory of this process, and the answer is not to be
cached. Only pages of this server may post to it: a foreign page in the same browser is refused by its headers
(Host, Origin, Sec-Fetch-Site, Sec-Fetch-Dest), so that it can neither ask, nor read, nor show this one in a
frame.
"""

from __future__ import annotations

import errno
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
from lunguage_assets.annotation.showing.page import ReportForm, read_page
from lunguage_assets.annotation.showing.shown import ShownReport, shown_reports
from lunguage_assets.errors import ConfigurationError, LunguageError

ADDRESS = "127.0.0.1"
BODY_LIMIT = 64 << 10
"""Bytes of a posted form; the longest real reports have some twenty thousand characters."""

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_META_POLICY = POLICY.removesuffix("; frame-ancestors 'none'")  # browsers heed that one as a header only
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none at all a browser says no Origin of its own page either
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_OWN_SITES = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of this server's own page, and of an address that a person typed."""
_FRAMES = frozenset({"iframe", "frame", "object", "embed"})
"""Values of Sec-Fetch-Dest of what a page shows inside itself."""


def serving_socket(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 takes a free one.

    Raises:
        ConfigurationError: the port is in use, or may not be used.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((ADDRESS, port))
    except OSError as error:
        opened.close()
        found = "is in use" if error.errno == errno.EADDRINUSE else "may not be used"
        raise ConfigurationError(
            f"port {port} of {ADDRESS} {found}. Choose another one with --port."
        ) from None
    return opened


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
    reading = threading.Lock()  # one report at a time: it is the processor that is waited for

    def answered(form: ReportForm) -> Response:
        with reading:
            return _answer(form)

    async def page(request: Request) -> Response:
        refused = _refused(request, hosts)
        if refused is not None:
            return refused
        if request.method != "POST":
            return _page(ReportForm())
        body = await _body(request)
        if body is None:
            return _told(413, f"A report has at most {BODY_LIMIT >> 10} kB.")
        try:
            posted = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
        except ValueError:
            return _told(400, "The form has more fields than this page's.")
        form = ReportForm(posted.get("report", [""])[0], posted.get("views", [""])[0])
        return await run_in_threadpool(answered, form)

    return Starlette(routes=[Route("/", page, methods=["GET", "POST"])])


def _refused(request: Request, hosts: set[str]) -> Response | None:
    """An answer to a request that does not come from this server's own page."""
    if request.headers.get("host", "") not in hosts:
        return _told(421, "This server answers on its loopback address only.")
    if request.headers.get("sec-fetch-dest") in _FRAMES:
        return _told(403, "No page may show this one in a frame.")
    site = request.headers.get("sec-fetch-site", "none")
    if request.method == "POST":
        origin = request.headers.get("origin")
        foreign = origin is not None and origin.removeprefix("http://") not in hosts
        if foreign or site not in _OWN_SITES:
            return _told(403, "Only this server's own page may post a report.")
    return None


async def _body(request: Request) -> bytes | None:
    """The body, or None when it is longer than it may be; no more than that is ever held."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            return None
    return bytes(body)


def _answer(form: ReportForm) -> Response:
    """What the report says; an error says its kind alone, as its message may quote the report."""
    try:
        if not form.report.strip():
            return _page(replace(form, problem="Paste a report first."), status=422)
        return _page(form, shown_reports(read(form.report, views=form.views)))
    except LunguageError as error:
        return _page(replace(form, problem=str(error)), status=422)
    except Exception as error:
        kind = type(error).__name__
        problem = f"The report could not be read ({kind}). Please report this, without the report."
        return _page(replace(form, problem=problem), status=500)


def _page(form: ReportForm, reports: Sequence[ShownReport] = (), status: int = 200) -> Response:
    return HTMLResponse(read_page(reports, form, _META_POLICY), status_code=status, headers=dict(HEADERS))


def _told(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status_code=status, headers={**HEADERS, "Connection": "close"})
