"""Implicit uncertainty: merging, expert pathways, expansion, resolution (implicit.md)."""
