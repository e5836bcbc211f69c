"""Words whose meaning depends on others of their sentence (method.md section 6).

What belongs here: when a unit means something else than its spelling alone. What does
not: what a cue reaches; that is read afterwards.
"""
