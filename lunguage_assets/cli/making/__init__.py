"""Commands that make things: batches, tables, releases, an invented corpus."""
