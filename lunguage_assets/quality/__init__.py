"""Data quality: studies that break a rule are set aside, expectations of people are looked at."""
