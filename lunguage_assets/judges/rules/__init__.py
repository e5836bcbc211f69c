"""Offline judges: rules that read hedges, without a network.

What belongs here: how two judges of the author weigh the hedges of a masked finding.
What does not: which hedges govern it (`assertion/`), and their words (`resources/`).
"""
