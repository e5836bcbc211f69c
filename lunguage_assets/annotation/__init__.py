"""The method in memory, for one report or a frame of them.

Here: `read` and `annotate`, their page, scores of texts against references.
Not here: homes, batches, Dagster; and nothing of the method itself is decided here.
"""
