"""Expand diagnoses into sub-findings."""
