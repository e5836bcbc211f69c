"""Data quality of tables: rules that rows must hold, and expectations of people.

What belongs here: what breaks a rule, and which studies are set aside for it. What does
not: the rules of a table's schema (`tables/`), and Dagster's checks (`orchestration/`).
"""
