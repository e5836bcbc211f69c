"""Sections, sentences and views of a report, as radiologists write them."""
