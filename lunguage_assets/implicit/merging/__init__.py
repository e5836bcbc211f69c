"""Merges duplicate findings (implicit.md section 2)."""
