"""Runs: executed by the command line, backfilled, queued, and which process does what."""
