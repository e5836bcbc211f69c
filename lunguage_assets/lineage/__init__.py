"""Where every table comes from, and whether it is still current.

What belongs here: recipes, fingerprints of inputs, staleness, the plan of a run. What
does not: making tables (`orchestration/`), and their records in files (`workspace/`).
"""
