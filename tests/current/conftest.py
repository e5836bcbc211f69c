"""The finished home, copied."""

from finished_homes import finished, small  # noqa: F401
