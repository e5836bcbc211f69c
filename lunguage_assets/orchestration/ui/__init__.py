"""The door of Dagster's UI: who may ask, and how it is served."""
