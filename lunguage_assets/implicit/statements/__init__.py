"""What a row says of a label, at which place, and whether it speaks against another row."""
