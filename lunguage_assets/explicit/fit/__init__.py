"""Tentative findings placed in the ranking, and their probabilities (explicit.md sections 5 and 6)."""
