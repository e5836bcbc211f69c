"""Implicit uncertainty: from the findings of a report to what they imply, one row each.

What belongs here: duplicates (`merging`), expert pathways (`pathways`), what they
imply (`expansion`), contradictions (`resolution`), and what rows say (`statements`).
What does not: how sure a hedge is (`explicit/`), and what a study is labelled
(`labels/`).
"""
