"""What is current: each table's recipe, what it was made of, and what a run has to make."""
