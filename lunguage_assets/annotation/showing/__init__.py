"""Annotated reports as a person sees them: on a terminal, as a page, as one JSON document."""
