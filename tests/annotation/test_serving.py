"""The page on the loopback address: what it answers to whom, and that it keeps
nothing.
"""

from __future__ import annotations

import html
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from raw_deliveries import SPOKEN
from read_reports import HEDGED

import lunguage_assets
from lunguage_assets.annotation import serving
from lunguage_assets.annotation.page import json_document
from lunguage_assets.errors import ConfigurationError


class Server:
    """The server in a thread of the test."""

    def __init__(self) -> None:
        self.socket = serving.serving_socket(0)
        self.port = self.socket.getsockname()[1]
        self.server = serving.server()
        self.server.capture_signals = nullcontext  # type: ignore[method-assign]
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True
        )

    def ask(
        self, method: str = "GET", query: str = "", **options: object
    ) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False  # no proxy
            return session.request(
                method, f"http://127.0.0.1:{self.port}/{query}", timeout=60, **options
            )

    def post(self, report: str, views: str = "", **headers: str) -> requests.Response:
        by_name = {name.replace("_", "-"): headers[name] for name in headers}
        form = {"report": report, "views": views}
        return self.ask("POST", data=form, headers=by_name)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    running.thread.start()
    while not running.server.started:
        running.thread.join(0.05)
    yield running
    running.server.should_exit = True
    running.thread.join(10)


def test_a_posted_report_is_shown_with_its_findings(server: Server) -> None:
    origin = f"http://127.0.0.1:{server.port}"
    answer = server.post(HEDGED, Sec_Fetch_Site="same-origin", Origin=origin)
    assert answer.status_code == 200
    assert "hedged by “may represent”" in answer.text
    assert "pathway pulmonary_edema_1" in answer.text


def test_an_example_is_read_and_what_was_read_can_be_taken_along(
    server: Server,
) -> None:
    page = server.ask("POST", data={"report": "", "example": "1"}).text
    assert page.index("<h2>Labels</h2>") < page.index("<h2>Findings</h2>")
    report = html.unescape(re.search(r'name="report" value="([^"]*)"', page)[1])
    files = {
        name: server.ask("POST", data={"report": report, "download": name})
        for name in serving.DOWNLOADS
    }
    annotation = lunguage_assets.read(serving.EXAMPLE)
    assert files["labels.csv"].text == annotation.labels.to_csv(index=False)
    assert files["findings.csv"].text == annotation.findings.to_csv(index=False)
    assert files["report.json"].text == json_document(annotation.frames)
    assert "attachment" in files["report.json"].headers["content-disposition"]
    assert {answer.headers["cache-control"] for answer in files.values()} == {
        "no-store"
    }


def test_no_answer_may_be_kept_framed_or_load_anything(server: Server) -> None:
    elsewhere = server.ask(headers={"Host": "elsewhere.example"})
    for answer in (server.ask(), server.post(HEDGED), server.post(""), elsewhere):
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_reports_come_by_post_and_leave_nothing_behind(
    server: Server,
) -> None:
    server.post(f"There is a {SPOKEN} effusion.")
    assert SPOKEN not in server.ask().text
    assert SPOKEN not in server.ask(query="?" + urlencode({"report": SPOKEN})).text
    assert server.ask("PUT", data=b"x").status_code == 405


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"Host": "rebound.example"}, 400),
        ({"Host": "rebound.example:80", "Origin": "http://rebound.example:80"}, 400),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
def test_a_foreign_page_can_neither_ask_nor_read(
    server: Server, headers: dict[str, str], refused: int
) -> None:
    answer = server.post(f"{SPOKEN} effusion", **headers)
    assert answer.status_code == refused
    assert SPOKEN not in answer.text


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"report=" + b"x" * serving.BODY_LIMIT, 413, "at most 64 kB"),
        # Of no announced length.
        (iter([b"report=", b"x" * serving.BODY_LIMIT]), 413, "at most 64 kB"),
        ({"report": "  "}, 200, "No finding is stated."),
        (
            {"report": "No edema. " * 3_000},
            422,
            "30,000 characters, and at most 20,000",
        ),
        ({"report": "No effusion.", "views": "sideways"}, 422, "expected views out of"),
    ],
)
def test_what_cannot_be_read_is_said(
    server: Server, body: Any, status: int, message: str
) -> None:
    answer = server.ask("POST", data=body)
    assert answer.status_code == status
    assert message in answer.text


def test_unfinished_requests_hold_nobody_up_and_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "BODY_SECONDS", 1.0)
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 9\r\n"
    unfinished = []
    for number in range(60):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        # Every other one does not even send all of its headers.
        connection.sendall((head + "\r\n" * (number % 2)).encode())
        unfinished.append(connection)
    assert server.post("No edema.").status_code == 200
    assert b"408" in unfinished[1].recv(100)
    for connection in unfinished:
        connection.close()


def test_an_unexpected_error_says_its_kind_alone_and_nothing_is_written(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(text: str, **options: object) -> None:
        raise ValueError(f"cannot read {text}")

    monkeypatch.setattr(serving, "read", fails)
    answer = server.post(f"a {SPOKEN}")
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    assert "cannot read" not in answer.text
    monkeypatch.undo()
    server.post(f"A {SPOKEN} effusion is possible.")
    output = capfd.readouterr()
    assert SPOKEN not in output.out + output.err + caplog.text


def test_a_port_in_use_is_one_line_with_a_remedy(server: Server) -> None:
    with pytest.raises(
        ConfigurationError, match=r"is in use, .* Choose another one with --port"
    ):
        serving.serving_socket(server.port)
