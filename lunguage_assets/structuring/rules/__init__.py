"""The offline structurer: deterministic rules over words, no model and no network."""
