"""Dagster's assets, a module for each part of the method.

An asset gets its inputs as parameters, calls the method, and returns frames with
metadata and checks (`outputs.py`). The method itself is not here: it knows nothing of
Dagster.
"""
