"""What a person sees of annotated reports: on a terminal, as a page, as one JSON document."""
