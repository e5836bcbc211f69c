"""The published files of a synthetic corpus: findings, vocabulary, image metadata."""
