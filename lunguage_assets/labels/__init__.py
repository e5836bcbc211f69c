"""The labels of a release held against outcomes and against labels that others made (docs/trust.md)."""
