"""Runs: executed by the command line, and the instance that keeps them."""
