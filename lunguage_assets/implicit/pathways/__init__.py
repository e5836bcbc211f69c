"""The experts' pathways: which diagnosis implies which findings, and when.

What belongs here: the file, and the dictionary that is read from it. What does not: the
pathway of a finding, and what follows from it (`expansion/`).
"""
