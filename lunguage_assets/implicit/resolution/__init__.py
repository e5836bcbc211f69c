"""One row for each finding of a study: what is stated and what is implied, resolved.

What belongs here: the rules that decide between rows of one key (`rules.py`), the
conflicts and the log, and what must hold of the result. What does not: which statement
contradicts which (`statements/`), and labels (`labels/`).
"""
