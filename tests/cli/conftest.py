"""Finished homes."""

from finished_homes import finished, five, ran, small  # noqa: F401
