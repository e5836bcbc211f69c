"""How far judges, ranking, fit and experts agree.

What belongs here: the measurements of sections 3, 4 and 7 of docs/method/explicit.md.
What does not: anything that a probability depends on, and pictures (`pictures/`).
"""
