"""Runs of the command line, and the Dagster instance that remembers them.

`runner` makes what is not current, one Dagster run a job and partition; `instance` has
the instance, its locks, and runs that a killed process left.
"""
