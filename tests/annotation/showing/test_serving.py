"""The page on the loopback address: what it answers to whom, and that it keeps nothing."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
import uvicorn
from raw_deliveries import SPOKEN
from read_reports import HEDGED

from lunguage_assets.annotation.showing import serving
from lunguage_assets.errors import ConfigurationError

TYPE = {"Content-Type": "application/x-www-form-urlencoded"}
Answer = tuple[int, dict[str, str], str]


class Server:
    """The server in a thread of the test."""

    def __init__(self) -> None:
        self.socket = serving.serving_socket(0)
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(
            serving.application(self.port), access_log=False, log_level="critical", lifespan="off"
        )
        self.server = uvicorn.Server(config)
        self.server.capture_signals = lambda: __import__("contextlib").nullcontext()  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def ask(self, method: str = "GET", body: str | bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(
            method, "/", body, {name.replace("_", "-"): value for name, value in headers.items()} | TYPE
        )
        answer = connection.getresponse()
        said = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        connection.close()
        return said

    def post(self, report: str, views: str = "", **headers: str) -> Answer:
        return self.ask("POST", urlencode({"report": report, "views": views}), **headers)


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
    status, _, page = server.post(
        HEDGED, Sec_Fetch_Site="same-origin", Origin=f"http://127.0.0.1:{server.port}"
    )
    assert status == 200
    assert "hedged by “may represent”" in page
    assert "pathway pulmonary_edema_1" in page


def test_no_answer_may_be_kept_framed_or_load_anything(server: Server) -> None:
    for _, headers, _ in (
        server.ask(),
        server.post(HEDGED),
        server.post(""),
        server.ask(Host="elsewhere.example"),
    ):
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none';")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_nothing_of_a_report_is_left_for_the_next_who_asks(server: Server) -> None:
    server.post(f"There is a {SPOKEN} effusion.")
    assert SPOKEN not in server.ask()[2]


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"Host": "rebound.example"}, 421),
        ({"Host": "rebound.example:80", "Origin": "http://rebound.example:80"}, 421),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "http://["}, 403),
        *(({"Sec_Fetch_Dest": inside}, 403) for inside in ("iframe", "frame", "object", "embed")),
    ],
)
def test_a_foreign_page_can_neither_ask_nor_read(
    server: Server, headers: dict[str, str], refused: int
) -> None:
    status, _, said = server.post(f"{SPOKEN} effusion", **headers)
    assert status == refused
    assert SPOKEN not in said


def test_reports_come_by_post_only(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/?" + urlencode({"report": SPOKEN}))
    assert SPOKEN not in connection.getresponse().read().decode()
    connection.close()
    assert server.ask("PUT", b"x")[0] == 405


def test_more_than_a_report_can_be_is_refused(server: Server) -> None:
    assert server.ask("POST", b"report=" + b"x" * serving.BODY_LIMIT)[0] == 413


def test_a_form_of_more_fields_than_the_page_has_is_a_bad_request(server: Server) -> None:
    assert server.ask("POST", "&".join(f"field{number}=x" for number in range(9)))[0] == 400


def test_what_cannot_be_read_is_said_on_the_page(server: Server) -> None:
    assert server.post("  ")[0] == 422
    status, _, page = server.post("No effusion.", views="sideways")
    assert status == 422
    assert "expected views out of" in page


def test_an_unexpected_error_says_its_kind_alone_and_nothing_is_written(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(text: str, *, views: str) -> None:
        raise ValueError(f"cannot read {text}")

    monkeypatch.setattr(serving, "read", fails)
    status, _, page = server.post(f"a {SPOKEN}")
    assert status == 500
    assert "ValueError" in page
    assert "cannot read" not in page
    monkeypatch.undo()
    server.post(f"A {SPOKEN} effusion is possible.")
    written = capfd.readouterr()
    assert SPOKEN not in written.out + written.err + caplog.text


def test_a_port_in_use_is_one_line_with_a_remedy(server: Server) -> None:
    with pytest.raises(ConfigurationError, match=r"is in use\. Choose another one with --port"):
        serving.serving_socket(server.port)
