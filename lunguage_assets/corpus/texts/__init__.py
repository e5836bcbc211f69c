"""Raw reports: every layout in which hospitals and collections deliver them.

Here: one reader for each layout, and from bytes to a table of plain texts.
Not here: cutting a text into sections and sentences (`structuring/text`).
"""
