"""Pools: what several runs at once must share. dagster.yaml says how many runs of a pool the queue starts at
a time.
"""

from __future__ import annotations

JUDGES_POOL = "judges"
"""Ops that ask judges. A budget holds, and a model in the process is loaded, by process: of the runs in the
queue one at a time asks, unless configured otherwise.
"""
