"""A failed run is told to a webhook and by mail, without a word of what it was about."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.automation.alerts import MAIL, WEBHOOK, alert_text, alerts_sensor, tell

SECRET = "the heart of somebody"


class Heard:
    """A webhook and a mail server on this machine, and what they were told."""

    def __init__(self) -> None:
        self.posted: list[dict[str, str]] = []
        self.mailed: list[str] = []
        self.statuses: list[int] = []
        heard = self

        class Hook(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = heard.statuses.pop(0) if heard.statuses else 200
                if status == 200:
                    heard.posted.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Post(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 here\r\n")
                while line := self.rfile.readline().decode().strip():
                    if line.upper() == "DATA":
                        self.wfile.write(b"354 go on\r\n")
                        lines = []
                        while (text := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                            lines.append(text)
                        heard.mailed.append("\n".join(lines))
                    self.wfile.write(b"250 good\r\n" if line.upper() != "QUIT" else b"221 bye\r\n")

        self.hook, self.post = (
            HTTPServer(("127.0.0.1", 0), Hook),
            socketserver.TCPServer(("127.0.0.1", 0), Post),
        )
        for server in (self.hook, self.post):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        return {
            WEBHOOK: f"http://127.0.0.1:{self.hook.server_port}/services/key",
            MAIL: f"smtp://127.0.0.1:{self.post.server_address[1]}?from=us@here.example&to=a@b.example",
        }


@pytest.fixture
def heard() -> Iterator[Heard]:
    servers = Heard()
    yield servers
    for server in (servers.hook, servers.post):
        server.shutdown()
        server.server_close()


def test_a_failed_run_is_told_with_job_step_and_run_only(heard: Heard) -> None:
    @dg.op
    def break_off() -> None:
        raise ValueError(SECRET)

    @dg.job(tags={"patient": SECRET})
    def reading() -> None:
        break_off()

    with dg.DagsterInstance.ephemeral() as instance:
        done = reading.execute_in_process(instance=instance, raise_on_error=False)
        event = next(event for event in done.all_events if event.event_type_value == "PIPELINE_FAILURE")
        context = dg.build_run_status_sensor_context(
            "alerts", event, instance, done.dagster_run
        ).for_run_failure()
        alerts_sensor(heard.environment)(context)
    assert [said["text"] for said in heard.posted] == [alert_text("reading", done.run_id, ["break_off"])]
    (mailed,) = heard.mailed
    mail = message_from_string(mailed, policy=policy.default)
    assert mail["Subject"] == "lunguage: a run of reading failed at break_off"
    assert mail.get_content().strip() == heard.posted[0]["text"]
    assert SECRET not in mailed + json.dumps(heard.posted)


def test_a_webhook_that_is_busy_is_asked_again(heard: Heard) -> None:
    heard.statuses[:] = [503, 429]
    tell("once", {WEBHOOK: heard.environment[WEBHOOK]})
    assert heard.posted == [{"text": "once"}]


@pytest.mark.parametrize(
    "environment",
    [
        {WEBHOOK: "http://elsewhere.invalid/services/key"},
        {WEBHOOK: "hello"},
        {MAIL: "smtp://127.0.0.1:1?from=us@here.example&to=a@b.example"},
        {MAIL: "smtps://user:key@elsewhere.invalid"},
    ],
    ids=["plain http", "no address", "no server", "nobody to send to"],
)
def test_what_cannot_be_told_is_an_error_that_keeps_the_address(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        tell("text", environment)
    (name,) = environment
    assert name in str(refused.value)
    assert "key" not in str(refused.value)


def test_one_way_that_fails_does_not_keep_the_text_from_the_other(heard: Heard) -> None:
    with pytest.raises(ConfigurationError):
        tell("text", {**heard.environment, WEBHOOK: "http://elsewhere.invalid/"})
    assert len(heard.mailed) == 1
