"""Varied prose of a synthetic corpus, whose rows quote the text, and the layouts of raw reports."""
