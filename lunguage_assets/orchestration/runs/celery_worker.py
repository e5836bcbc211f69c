"""What a Celery worker runs: `celery --app lunguage_assets.orchestration.runs.celery_worker worker`.

Broker and result backend are the one URL in `$LUNGUAGE_BROKER`; the instance is that of `$DAGSTER_HOME`.
"""

from __future__ import annotations

import importlib
import os

from celery.signals import worker_init
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.runs.celery_launcher import CELERY_SETTINGS

BROKER_VARIABLE = "LUNGUAGE_BROKER"


def _broker() -> str:
    url = os.environ.get(BROKER_VARIABLE, "")
    if not url:
        raise ConfigurationError(
            f"${BROKER_VARIABLE} is not set; expected the URL of Redis, such as "
            "redis://HOST:6379/0 (deploy/README.md)."
        )
    return url


app = make_app({"broker": _broker(), "backend": _broker(), "config_source": CELERY_SETTINGS})
execute_job = create_execute_job_task(app)
resume_job = create_resume_job_task(app)


@worker_init.connect
def load_definitions(**_: object) -> None:
    """Import the libraries once in the worker: its processes need not each do so again."""
    importlib.import_module("lunguage_assets.definitions")
