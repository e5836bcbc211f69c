"""What is current: every table's recipe, what its file says that it was made of, and what a run has to make.

`recipes` declares what each table is made of, `reads` fingerprints settings, files and judges, `standing`
compares both with the stored files, `plan` lists the steps to what is wanted. Everybody who asks "is this
current?" asks here: the command line, Dagster's assets, checks and sensors, the release, the estimate.
"""
