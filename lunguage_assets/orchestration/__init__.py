"""Everything that knows Dagster: assets, checks, jobs, sensors and runs.

The method and its tables do not belong here: they are free of Dagster. An entry is
`build.build_defs`.
"""
