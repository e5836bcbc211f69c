"""A failed run is told to a webhook, without a word of what it was about."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.automation.alerts import WEBHOOK, alert_text, alerts_sensor, tell

SECRET = "the heart of somebody"


class Heard(HTTPServer):
    """A webhook on this machine, what it was told, and what it answers first."""

    def __init__(self) -> None:
        self.posted: list[dict[str, str]] = []
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

        super().__init__(("127.0.0.1", 0), Hook)
        self.environment = {WEBHOOK: f"http://127.0.0.1:{self.server_port}/services/key"}


@pytest.fixture
def heard() -> Iterator[Heard]:
    with Heard() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


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
    assert SECRET not in json.dumps(heard.posted)


def test_a_webhook_that_is_busy_is_asked_again(heard: Heard) -> None:
    heard.statuses[:] = [503, 429]
    tell("once", heard.environment)
    assert heard.posted == [{"text": "once"}]


@pytest.mark.parametrize("address", ["http://elsewhere.invalid/services/key", "hello-key"])
def test_what_cannot_be_told_is_an_error_that_keeps_the_address(address: str) -> None:
    with pytest.raises(ConfigurationError, match=WEBHOOK) as refused:
        tell("text", {WEBHOOK: address})
    assert "key" not in str(refused.value)
