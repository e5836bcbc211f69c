"""The page where a person pastes a report (docs/read.md, "Privacy").

It is served on the loopback address.

Nothing is stored, logged, sent or cached. Only pages of this server may post to it: a
foreign page in the same browser is refused by its headers (Host, Origin,
Sec-Fetch-Site).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
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
from lunguage_assets.annotation.shown import shown_reports
from lunguage_assets.errors import ConfigurationError, LunguageError

ADDRESS = "127.0.0.1"
_FIELDS = ("report", "views", "download", "example")
BODY_LIMIT = 64 << 10
"""Bytes of a posted form.

The longest real reports have some twenty thousand characters.
"""

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
"""An invented report, for who has none at hand."""
DOWNLOADS: Mapping[str, tuple[str, Callable[[Annotation], str]]] = {
    "report.json": ("application/json", json_document),
    "labels.csv": ("text/csv", lambda found: found.labels.to_csv(index=False)),
    "findings.csv": ("text/csv", lambda found: found.findings.to_csv(index=False)),
}
_READING = threading.Lock()
"""One report at a time: it is the processor that is waited for."""


def serving_socket(port: int) -> socket.socket:
    """A socket on the loopback address.

    Port 0: a free one. Raises `ConfigurationError`: it is in use.
    """
    try:
        return socket.create_server((ADDRESS, port))
    except OSError:
        raise ConfigurationError(
            f"port {port} of {ADDRESS} is in use, or may not be used. Choose another "
            "one with --port."
        ) from None


def serve(opened: socket.socket, cues: Path | None = None) -> None:
    """Answer until the process is interrupted; `cues` as of `annotation.read`."""
    app = application(opened.getsockname()[1], cues)
    quiet = {
        "access_log": False,
        "log_level": "critical",
        "server_header": False,
        "lifespan": "off",
    }
    config = uvicorn.Config(app, limit_concurrency=32, timeout_keep_alive=5, **quiet)  # type: ignore[arg-type]
    with suppress(KeyboardInterrupt):  # the server has closed by then
        uvicorn.Server(config).run(sockets=[opened])


def application(port: int, cues: Path | None = None) -> Starlette:
    """The server's answers.

    The empty page, the page of a posted report, and files of it; `cues` as of
    `annotation.read`.
    """
    hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}

    async def page(request: Request) -> Response:
        headers = request.headers
        if headers.get("host", "") not in hosts:
            return _refusal(421, "This server answers on its loopback address only.")
        if request.method != "POST":
            return HTMLResponse(read_page([], ReportForm(), POLICY), headers=HEADERS)
        foreign = (
            "origin" in headers
            and headers["origin"].removeprefix("http://") not in hosts
        )
        # `none` is an address that a person typed
        if foreign or headers.get("sec-fetch-site", "none") not in (
            "same-origin",
            "none",
        ):
            return _refusal(403, "Only this server's own page may post a report.")
        # the server reads no more than is announced; a browser announces every form
        if not int(headers.get("content-length", BODY_LIMIT + 1)) <= BODY_LIMIT:
            return _refusal(413, f"A report has at most {BODY_LIMIT >> 10} kB.")
        posted = parse_qs(
            (await request.body()).decode("utf-8", "replace"), keep_blank_values=True
        )
        report, views, download, example = (
            posted.get(name, [""])[0] for name in _FIELDS
        )
        return await run_in_threadpool(
            _answer, EXAMPLE if example else report, views, download, cues
        )

    return Starlette(routes=[Route("/", page, methods=["GET", "POST"])])


def _answer(report: str, views: str, download: str, cues: Path | None) -> Response:
    """What the report says.

    An unexpected error says its kind alone, as its message may quote the report.
    """
    problem, status, shown = "", 200, []
    try:
        if report.strip():
            with _READING:
                found = read(report, views=views, cues=cues)
                if download in DOWNLOADS:
                    kind, content = DOWNLOADS[download]
                    named = {
                        "Content-Disposition": f'attachment; filename="{download}"'
                    }
                    return Response(
                        content(found), media_type=kind, headers={**HEADERS, **named}
                    )
                shown = shown_reports(found)
        else:
            problem, status = "Paste a report first.", 422
    except LunguageError as error:
        problem, status = str(error), 422
    except Exception as error:
        kind = type(error).__name__
        problem = (
            f"The report could not be read ({kind}). Please report this, without the "
            "report."
        )
        status = 500
    page = read_page(shown, ReportForm(report, views, problem, list(DOWNLOADS)), POLICY)
    return HTMLResponse(page, status_code=status, headers=HEADERS)


def _refusal(status: int, words: str) -> Response:
    return PlainTextResponse(
        words + "\n", status_code=status, headers={**HEADERS, "Connection": "close"}
    )
