"""Asking a language model: rate, retries, budgets, and progress for people to see.

What belongs here: everything between a judge's questions and one call of a provider.
What does not: prompts and parsers (`model_judge.py`), how a service is spoken to
(`providers/`), and how answers are kept (`ledger/`).
"""
