"""What a diagnosis implies: its pathway, and the sub-findings that follow from it.

What belongs here: which pathway a finding matches, which sub-findings are generated,
with what probability, and what keeps one out. What does not: the dictionary of pathways
(`pathways/`), and what is done where rows of one finding meet (`resolution/`).
"""
