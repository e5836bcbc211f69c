"""Asset checks: what a person should know of a table, made by the asset before the table is stored."""
