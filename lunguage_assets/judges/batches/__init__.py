"""Batch endpoints of the providers."""
