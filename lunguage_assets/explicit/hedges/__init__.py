"""Hedging phrases: extraction, a person's review, the vocabulary.

What belongs here: section 1 of docs/method/explicit.md. What does not: how a judge
finds the words (`judges/`), and how certain they are (`rating/`).
"""
