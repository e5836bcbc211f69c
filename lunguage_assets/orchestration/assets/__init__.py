"""Dagster's assets, a module per group, and what they share (`steps`).

An asset reads its inputs, calls the method, and attaches metadata and checks. The
method itself is not here: it knows nothing of Dagster.
"""
