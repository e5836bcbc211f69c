"""Dagster wiring only: partitions, assets, checks, jobs, resources, I/O manager. No method lives here."""
