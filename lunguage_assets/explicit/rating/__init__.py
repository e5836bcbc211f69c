"""The reference scale: comparisons of phrases, and the ranking made of them.

What belongs here: sections 2 and 3 of docs/method/explicit.md. What does not: where a
sentence is on the scale (`fit/`), and how far judges agree (`analysis/`).
"""
