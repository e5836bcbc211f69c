"""Runs of the command line: `runner` makes what is not current, one Dagster run a job
and partition; `instance` is the Dagster instance that remembers them.
"""
