"""Settings of the workers of `celery --app dagster_celery.app worker`: a file of this
name on PYTHONPATH.
"""

import os

broker_url = result_backend = os.environ["LUNGUAGE_BROKER"]
accept_content = ["json"]
broker_connection_retry_on_startup = True
result_expires = 30 * 24 * 3600
# A run leaves the queue when it starts, and waits there, not with a busy worker, until
# then. Redis would hand a run that is acknowledged at its end to a second worker after
# an hour, also while the first is alive.
task_acks_late = False
worker_disable_prefetch = True
worker_prefetch_multiplier = 1
worker_max_tasks_per_child = 50
