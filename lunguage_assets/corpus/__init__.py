"""Deliveries: which files there are, what their rows say, and what is rejected.

Here: finding and reading the files of every known layout, ids, canonical names, views.
Not here: reading sentences (`structuring`), where batches are kept (`workspace`).
"""
