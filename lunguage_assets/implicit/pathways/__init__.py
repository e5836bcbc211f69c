"""Expert pathways, and the matching of findings to them (implicit.md section 3)."""
