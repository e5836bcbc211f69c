"""Paid answers, and what calls have cost: kept before they are used.

What belongs here: attempts, calls in flight, the money of a day, bills, and the locks
of models, in SQLite or PostgreSQL. What does not: when to ask, and how often
(`asking/`).
"""
