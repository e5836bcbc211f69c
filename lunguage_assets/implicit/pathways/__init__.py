"""Expert pathways, and which finding matches which."""
