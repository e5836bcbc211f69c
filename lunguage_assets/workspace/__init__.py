"""The home folder: batches, tables, where they lie."""
