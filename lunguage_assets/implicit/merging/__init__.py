"""Duplicate findings of a study become one row (implicit.md section 2).

What belongs here: which findings are alike, what keeps them apart, which statements are
repeated, and the probability that a finding enters with. What does not: what
contradicts what (`statements/`), and what is done about it (`resolution/`).
"""
