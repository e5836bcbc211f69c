"""Implicit uncertainty: duplicates merged, diagnoses matched to expert pathways and expanded, contradictions
resolved (implicit.md).
"""
