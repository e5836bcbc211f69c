"""From a plan to a study's sentences: noun phrases, hedged and plain statements, history, the whole study."""
