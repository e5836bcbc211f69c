"""How far judges, ranking, fit and experts agree (explicit.md sections 3, 4 and 7)."""
