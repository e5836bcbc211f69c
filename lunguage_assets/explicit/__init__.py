"""Explicit uncertainty: from hedging phrases to a probability per tentative finding (explicit.md)."""
