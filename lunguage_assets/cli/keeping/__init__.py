"""Commands that keep a home in order: its tables, ledger, vectors, configuration, and the UI on it."""
