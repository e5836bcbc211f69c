"""Sentence encoders, which measure the similarity of two phrases (implicit.md section 2)."""
