"""Pictures of results, as PNG; the same data give the same bytes.

What belongs here: how a table is drawn. What does not: which table is made, and where a
picture is shown (`orchestration/`, `release/`).
"""
