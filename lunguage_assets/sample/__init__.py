"""Invented reports, for demonstrations and tests: drawn, and written as files."""
