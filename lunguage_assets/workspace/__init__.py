"""The home folder of a corpus, and everything that lies in it.

What belongs here: registered batches, the landing folder, the store of tables, versions
of releases. What does not: what the tables hold (`tables/`), and Dagster
(`orchestration/`).
"""
