"""Merge duplicate findings (implicit.md section 2)."""
