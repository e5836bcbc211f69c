"""Hedging phrases: extraction, a person's corrections, the vocabulary (explicit.md section 1)."""
