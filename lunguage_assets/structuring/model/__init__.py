"""Structuring by a language model, through the engine that asks the judges."""
