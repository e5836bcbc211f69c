"""Expands diagnoses into sub-findings (implicit.md section 4)."""
