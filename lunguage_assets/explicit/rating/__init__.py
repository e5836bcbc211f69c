"""The reference scale: comparisons of phrases and their ranking (explicit.md sections 2 and 3)."""
