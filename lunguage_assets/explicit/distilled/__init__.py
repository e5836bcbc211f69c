"""A small model that learns a panel's judgement from stored fits, and is then a judge.

What it learns from, its training and its test are in `learning.py`, the judge and its
file in `judge.py` (docs/distilled.md).
"""
