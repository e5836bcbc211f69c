"""A small model that learns a panel's judgement from stored answers, and scores by it.

Here is all of it: its training, its evaluation, its files and its scores
(docs/distilled.md). What a scorer is for a judge is in `judges/scoring.py`.
"""
