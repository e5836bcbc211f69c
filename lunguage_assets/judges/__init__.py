"""Judges: who answers the two questions of the method (explicit.md sections 1 and 2).

Which words hedge this finding, and which of two sentences is surer of it? What belongs
here: rules and language models that answer, the judges file, and what asking costs.
What does not: what is made of the answers (`explicit/`).
"""
