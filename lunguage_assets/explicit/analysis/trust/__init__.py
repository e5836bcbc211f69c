"""How far ranking and fit can be trusted."""
