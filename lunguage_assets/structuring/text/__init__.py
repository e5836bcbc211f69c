"""A report's text as every structurer gets it: languages, sections, sentences, views.

Begin with `report.py` (docs/reports.md). What a sentence states is no matter of this
folder.
"""
