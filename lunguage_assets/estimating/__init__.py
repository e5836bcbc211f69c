"""What a run would ask and spend, counted before anything is spent.

`estimate.estimate_run` asks `orchestration` which stages a run would make, counts the
questions of those that ask judges, and prices them as `judges.estimate` says. Nothing
is made or sent; `cli/estimate.py` prints it.
"""
