"""Agreement of judges, ranking, fit and experts (explicit.md sections 3, 4 and 7)."""
