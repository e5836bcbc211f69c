"""Fixtures of these tests."""

from finished_homes import finished  # noqa: F401
