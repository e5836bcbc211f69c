"""Explicit uncertainty: from the hedging phrases of a report to a probability per tentative finding
(explicit.md).
"""
