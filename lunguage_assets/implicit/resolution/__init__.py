"""Resolve contradictions; accounts and guarantees."""
