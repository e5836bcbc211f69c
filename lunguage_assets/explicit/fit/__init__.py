"""Tentative findings fitted into the reference scale, and their probabilities.

What belongs here: sections 5 and 6 of docs/method/explicit.md. The line that decides a
probability is in `probability.py`. What does not: the scale itself (`rating/`).
"""
