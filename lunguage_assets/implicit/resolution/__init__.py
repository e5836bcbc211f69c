"""Resolves contradictions; accounts and guarantees (implicit.md section 5)."""
