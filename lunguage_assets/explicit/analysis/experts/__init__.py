"""Human experts beside the ranking."""
