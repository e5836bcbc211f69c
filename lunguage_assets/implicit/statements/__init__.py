"""What the rows of a report say: of which finding, at which location, present or not.

What belongs here: locations, the list of labels and which findings mean them, and which
statement contradicts which. What does not: what is then done about it (`resolution/`),
and what a study is labelled (`labels/`).
"""
