"""Releases that several tests read; none changes them."""

from small_release import invented, of_patients, patients, unreported, version  # noqa: F401
