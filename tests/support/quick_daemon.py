"""Dagster's daemon with ticks of two seconds instead of thirty: a test waits for it.
Arguments as of `dagster-daemon`.
"""

from __future__ import annotations

import dagster._daemon.controller as controller
from dagster._daemon.cli import cli

if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 2
    cli()
