"""Judges: who answers the two questions of the method (which words hedge this finding; which of two sentences
is more certain).
"""
