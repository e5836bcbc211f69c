"""Offline judges: rules, no network."""
