"""Reads how a mention is meant: denied, open, past, or not of the patient now.

What belongs here: cues and what they reach (`resources/assertion/`), the words that
a sentence is read with, and the steps from a sentence to its assertions. What does
not: which mentions make a row (`structuring/`), and how sure a hedge is (`judges/`).
"""
