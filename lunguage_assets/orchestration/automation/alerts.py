"""The sensor `alerts`: tells people of a run that failed, by an incoming webhook (Slack's form) and by mail.

A message names job, steps and run, and nothing else: an error or a partition may name what belongs to
patients. Who wants to know more opens the run in the UI.
"""

import os
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import dagster as dg
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from lunguage_assets.errors import ConfigurationError

WEBHOOK = "LUNGUAGE_ALERT_WEBHOOK"
MAIL = "LUNGUAGE_ALERT_MAIL"
NAMES_OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_SECONDS = 20.0


def alerts_sensor(environment: Mapping[str, str] = os.environ) -> dg.SensorDefinition:
    """The sensor, running from the start when webhook or mail is configured."""
    configured = any(environment.get(name) for name in (WEBHOOK, MAIL))

    @dg.run_failure_sensor(
        description=f"Tells of failed runs: to the webhook in ${WEBHOOK}, by the mail server in ${MAIL}. "
        "Stopped from the start when neither is set.",
        default_status=dg.DefaultSensorStatus.RUNNING if configured else dg.DefaultSensorStatus.STOPPED,
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
    """Send the text to everything that is configured; one that fails does not keep it from the other.

    Raises:
        ConfigurationError: an address that is none, or a service that did not take the text; names the
            variable and the host, never the address, which is a secret.
    """
    problems = []
    for name, send in ((WEBHOOK, _post), (MAIL, _mail)):
        if address := environment.get(name):
            parts = urlsplit(address)
            try:
                send(address, parts, text)
            except (OSError, ValueError, smtplib.SMTPException) as error:
                problems.append(f"${name} ({parts.hostname or 'no host'}): {type(error).__name__}")
    if problems:
        raise ConfigurationError(f"an alert was not taken: {'; '.join(problems)}. docs/dagster.md: Alerts.")


def _post(address: str, parts: SplitResult, text: str) -> None:
    if parts.scheme != "https" and parts.hostname not in NAMES_OF_THIS_MACHINE:
        raise ValueError("not https")
    with requests.Session() as session:
        again = Retry(3, backoff_factor=0.5, status_forcelist=(429, 502, 503, 504), allowed_methods=None)
        session.mount(f"{parts.scheme}://", HTTPAdapter(max_retries=again))
        session.post(address, json={"text": text}, timeout=_SECONDS, allow_redirects=False).raise_for_status()


def _mail(address: str, parts: SplitResult, text: str) -> None:
    """`smtps://user:password@host:465?from=a@b&to=c@d`; `smtp://` must change to TLS before it is used."""
    named = parse_qs(parts.query, strict_parsing=True)
    if not parts.hostname or not {"from", "to"} <= set(named):
        raise ValueError("incomplete")
    message = EmailMessage()
    message["From"], message["To"] = named["from"][0], ", ".join(named["to"])
    message["Subject"] = text.partition(". ")[0]
    message.set_content(text)
    secure, encrypted = ssl.create_default_context(), parts.scheme == "smtps"
    if encrypted:
        server = smtplib.SMTP_SSL(parts.hostname, parts.port or 465, timeout=_SECONDS, context=secure)
    else:
        server = smtplib.SMTP(parts.hostname, parts.port or 587, timeout=_SECONDS)
    with server:
        if not encrypted and parts.hostname not in NAMES_OF_THIS_MACHINE:
            server.starttls(context=secure)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)
