"""Runs: planning and executing them from the command line, backfills, the queue's launchers, and which
process does what.
"""
