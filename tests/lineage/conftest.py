"""The finished home."""

from finished_homes import finished  # noqa: F401
