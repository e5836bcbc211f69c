"""Releases that several tests read; none changes them."""

from releases import invented, of_patients, patients, unreported, version  # noqa: F401
