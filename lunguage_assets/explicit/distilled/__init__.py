"""A small model that learns a panel's judgement from stored fits, and scores by it.

What it learns from is in `panel_scores.py`, its training and its test in `learning.py`,
its file in `scorer.py`, the scores of a batch in `scoring.py` (docs/distilled.md).
"""
