"""The sensor `alerts`: tells people of a run that failed (docs/dagster.md, "Alerts").

It posts to an incoming webhook in the form that Slack has.
A message names job, steps and run, and nothing else: an error or a partition may name
what belongs to patients.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

import dagster as dg
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.automation import sensor_status

WEBHOOK = "LUNGUAGE_ALERT_WEBHOOK"
"""The variable with the address, which is a secret."""


def alerts_sensor(environment: Mapping[str, str] = os.environ) -> dg.SensorDefinition:
    """Return the sensor; it runs from the start when a webhook is configured."""

    @dg.run_failure_sensor(
        description=f"Tells the webhook in ${WEBHOOK} of failed runs. Stopped from the "
        "start when it is not set.",
        default_status=sensor_status(runs=bool(environment.get(WEBHOOK))),
    )
    def alerts(context: dg.RunFailureSensorContext) -> None:
        steps = {event.step_key for event in context.get_step_failure_events()}
        run = context.dagster_run
        text = alert_text(run.job_name, run.run_id, sorted(filter(None, steps)))
        send_alert(text, environment)

    return alerts


def alert_text(job: str, run_id: str, steps: Sequence[str]) -> str:
    """Return one line about a failed run.

    Args:
        job: that failed.
        run_id: of the run.
        steps: at which it failed; none where it failed before its first step.
    """
    at = f" at {', '.join(steps)}" if steps else ""
    return (
        f"lunguage: a run of {job} failed{at}. Open /runs/{run_id} in the UI for the "
        "reason."
    )


def send_alert(text: str, environment: Mapping[str, str]) -> None:
    """Send a text to the webhook, if there is one.

    Raises:
        ConfigurationError: it was not taken. The message names variable and host, never
            the address.
    """
    address = environment.get(WEBHOOK)
    if not address:
        return
    parts = urlsplit(address)
    try:
        _require_encrypted(parts)
        _post(address, parts.scheme, text)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"an alert was not taken: ${WEBHOOK} ({parts.hostname or 'no host'}): "
            f"{type(error).__name__}. docs/dagster.md: Alerts."
        ) from None


def _require_encrypted(address: SplitResult) -> None:
    is_this_machine = address.hostname in ("localhost", "127.0.0.1", "::1")
    if address.scheme != "https" and not is_this_machine:
        raise ValueError("not https")


def _post(address: str, scheme: str, text: str) -> None:
    retry = Retry(
        3,
        backoff_factor=0.5,
        status_forcelist=(429, 502, 503, 504),
        allowed_methods=None,  # also of POST: the same message twice does no harm
    )
    with requests.Session() as session:
        session.mount(f"{scheme}://", HTTPAdapter(max_retries=retry))
        response = session.post(
            address, json={"text": text}, timeout=20, allow_redirects=False
        )
        response.raise_for_status()
