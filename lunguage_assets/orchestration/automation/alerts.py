"""The sensor `alerts`: tells people of a run that failed, by an incoming webhook (Slack's form).

A message names job, steps and run, and nothing else: an error or a partition may name what belongs to
patients. Who wants to know more opens the run in the UI.
"""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import dagster as dg
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from lunguage_assets.errors import ConfigurationError

WEBHOOK = "LUNGUAGE_ALERT_WEBHOOK"


def alerts_sensor(environment: Mapping[str, str] = os.environ) -> dg.SensorDefinition:
    """The sensor, running from the start when the webhook is configured."""
    running, stopped = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED

    @dg.run_failure_sensor(
        description=f"Tells the webhook in ${WEBHOOK} of failed runs. Stopped from the start when it is not "
        "set.",
        default_status=running if environment.get(WEBHOOK) else stopped,
    )
    def alerts(context: dg.RunFailureSensorContext) -> None:
        steps = sorted({event.step_key for event in context.get_step_failure_events() if event.step_key})
        tell(alert_text(context.dagster_run.job_name, context.dagster_run.run_id, steps), environment)

    return alerts


def alert_text(job: str, run_id: str, steps: Sequence[str]) -> str:
    """One line about a failed run."""
    at = f" at {', '.join(steps)}" if steps else ""
    return f"lunguage: a run of {job} failed{at}. Open /runs/{run_id} in the UI for the reason."


def tell(text: str, environment: Mapping[str, str]) -> None:
    """Send the text to the webhook, if there is one.

    Raises:
        ConfigurationError: an address that is none, or a service that did not take the text; names the
            variable and the host, never the address, which is a secret.
    """
    if not (address := environment.get(WEBHOOK)):
        return
    parts = urlsplit(address)
    try:
        if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("not https")
        with requests.Session() as session:
            again = Retry(3, backoff_factor=0.5, status_forcelist=(429, 502, 503, 504), allowed_methods=None)
            session.mount(f"{parts.scheme}://", HTTPAdapter(max_retries=again))
            session.post(address, json={"text": text}, timeout=20, allow_redirects=False).raise_for_status()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"an alert was not taken: ${WEBHOOK} ({parts.hostname or 'no host'}): {type(error).__name__}. "
            "docs/dagster.md: Alerts."
        ) from None
