"""From a report's text to rows in the Lunguage structure: sections and sentences (`text`), rules (`rules`),
language models (`model`).

What a structurer is asked and answers is in `contract.py`; rows and their checks are in `rows.py`.
"""
