"""From a report's text to rows in the Lunguage structure: sections and sentences (`text`), rules (`rules`),
language models (`model`).
"""
